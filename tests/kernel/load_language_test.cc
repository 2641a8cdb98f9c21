// Every accepted program loads: the verifier of this kernel takes what each construct of the
// language becomes. The programs are the lines of load/language.txt; a rejection of one belongs in
// there.

#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/subprocess.h"

namespace memtrace::test {
namespace {

std::vector<std::string> Programs() {
  std::ifstream file(MT_SOURCE_DIR "/tests/kernel/load/language.txt");
  std::vector<std::string> programs;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) programs.push_back(line);
  }
  return programs;
}

class Language : public testing::TestWithParam<std::string> {};

TEST_P(Language, IsAccepted) {
  Finished finished =
      test::Run({.words = {MT_BUILD_DIR "/memtrace", "--dry-run", "-e", GetParam()}});
  EXPECT_EQ(finished.failure, "");
  EXPECT_EQ(finished.exit_status, 0) << GetParam() << "\n" << finished.err;
}

INSTANTIATE_TEST_SUITE_P(Load, Language, testing::ValuesIn(Programs()));

}  // namespace
}  // namespace memtrace::test
