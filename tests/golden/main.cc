// The golden lane: every case below tests/golden runs memtrace itself and compares its output.

#include <gtest/gtest.h>

#include "tests/support/text_case_runner.h"

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  bool update = memtrace::test::TakeUpdateFlag(argc, argv);
  memtrace::test::RegisterTextCases(MT_SOURCE_DIR "/tests/golden", {}, update,
                                    memtrace::test::RunMemtrace);
  return RUN_ALL_TESTS();
}
