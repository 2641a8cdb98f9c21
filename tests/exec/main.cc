// The exec lane: every case below tests/exec/cases is compiled, run on the host and compared.

#include <gtest/gtest.h>

#include "tests/exec/session.h"
#include "tests/support/exec_case.h"

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  bool update = memtrace::test::TakeUpdateFlag(argc, argv);
  memtrace::test::RegisterTextCases(MT_SOURCE_DIR "/tests/exec/cases",
                                    memtrace::test::kExecSections, update, memtrace::exec::RunCase);
  return RUN_ALL_TESTS();
}
