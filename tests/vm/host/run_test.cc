// What goes into a virtual machine and what comes back. Each test boots one, so there are few.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/subprocess.h"

namespace memtrace::test {
namespace {

using Words = std::vector<std::string>;

Finished RunVm(const Words& arguments) {
  Command command;
  command.words = {"/usr/bin/env", "MT_BUILD_DIR=" MT_BUILD_DIR};
  for (const char* name : {"XDG_CACHE_HOME", "TMPDIR", "MT_VM_ACCEL"}) {
    if (const char* value = getenv(name))
      command.words.push_back(name + ("=" + std::string(value)));
  }
  command.words.push_back(MT_SOURCE_DIR "/tests/vm/run");
  command.words.insert(command.words.end(), arguments.begin(), arguments.end());
  command.timeout = std::chrono::seconds(240);
  return Run(command);
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class VmTest : public testing::Test {
 protected:
  void SetUp() override {
    char made[] = "/tmp/vm_test.XXXXXX";
    ASSERT_NE(mkdtemp(made), nullptr);
    directory_ = made;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string directory_;
};

TEST_F(VmTest, EverythingComesBackAsItWas) {
  std::ofstream(directory_ + "/in") << "added\n";
  Finished finished = RunVm(
      {"6.1", "--file", directory_ + "/in:/data/in", "--results", directory_, "--", "sh", "-c",
       "for word; do printf '<%s>' \"$word\"; done; printf 'no newline' >&2; "
       "cp /data/in /results/out; sleep 1000 & exit 7",
       "sh", "a  b", "it's", "say \"hi\"", "$HOME *\\", "two\nlines", "", "-x"});
  EXPECT_EQ(finished.failure, "");
  EXPECT_EQ(finished.out, "<a  b><it's><say \"hi\"><$HOME *\\><two\nlines><><-x>");
  EXPECT_EQ(finished.err, "no newline");
  EXPECT_EQ(finished.exit_status, 7);
  EXPECT_EQ(ReadFile(directory_ + "/out"), "added\n");
}

TEST_F(VmTest, ACommandThatTakesTooLongIsEnded) {
  Finished finished = RunVm({"6.1", "--timeout", "2", "--results", directory_, "--", "sh", "-c",
                             "echo before | tee /results/out; sleep 1000; echo after"});
  EXPECT_EQ(finished.exit_status, 124);
  EXPECT_EQ(finished.out, "before\n");
  EXPECT_NE(finished.err.find("vm: the command did not end in 2 s"), std::string::npos)
      << finished.err;
  EXPECT_EQ(ReadFile(directory_ + "/out"), "before\n");
}

TEST_F(VmTest, APanicIsToldWithTheKernelsLastWords) {
  std::string console = directory_ + "/console";
  Finished finished = RunVm(
      {"6.1", "--console", console, "--", "sh", "-c", "echo c >/proc/sysrq-trigger; sleep 100"});
  EXPECT_EQ(finished.exit_status, 125);
  EXPECT_NE(finished.err.find("vm: the kernel panicked: Kernel panic - not syncing: "
                              "sysrq triggered crash"),
            std::string::npos)
      << finished.err;
  EXPECT_NE(ReadFile(console).find("Kernel panic"), std::string::npos);
}

TEST_F(VmTest, MistakesInItsArguments) {
  struct {
    Words arguments;
    std::string message;
  } cases[] = {
      {{"--memory", "much"}, "vm: --memory takes a number, not \"much\"\n"},
      {{"--timeout"}, "vm: --timeout takes a value\n"},
      {{"--colour", "red"}, "vm: no option is called --colour\n"},
      {{"6.1", "memtrace"}, "vm: \"memtrace\" is no option; a command follows --\n"},
      {{"--file", "/no/such/file", "--", "true"}, "vm: no file /no/such/file\n"},
      {{"--module", "no_such", "--", "true"}, "vm: no module no_such\n"},
  };
  for (const auto& [arguments, message] : cases) {
    Finished finished = RunVm(arguments);
    EXPECT_EQ(finished.exit_status, 125);
    EXPECT_EQ(finished.err, message);
    EXPECT_EQ(finished.out, "");
  }
}

}  // namespace
}  // namespace memtrace::test
