// The load lane: the verifier accepts the programs of all cases of the exec lane.
//
// Each is compiled for the kernel that runs and loaded by memtrace itself; nothing is attached. A case
// whose types only the fixture's kernel has is skipped.
#include <cctype>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "compiler/base/file.h"
#include "tests/support/exec_case.h"
#include "tests/support/subprocess.h"
#include "tests/support/tracer.h"

namespace memtrace::test {
namespace {

struct LoadCase {
  std::string name;   // of the test
  std::string where;  // file and line
  TextCase text_case;
};

void PrintTo(const LoadCase& load_case, std::ostream* out) { *out << load_case.where; }

// gtest takes letters, digits and underscores.
std::string TestName(std::string name) {
  for (char& c : name) {
    if (!isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

std::vector<LoadCase> AllCases() {
  std::filesystem::path folder = MT_SOURCE_DIR "/tests/exec/cases";
  std::set<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".test") paths.insert(entry.path());
  }
  std::vector<LoadCase> cases;
  for (const std::filesystem::path& path : paths) {
    auto text = ReadFile(path);
    if (!text.ok()) continue;
    for (TextCase& one : ParseTextCases(text.value(), kExecSections).cases) {
      std::string suite = path.lexically_relative(folder).replace_extension().string();
      cases.push_back({.name = TestName(suite + "__" + one.sentence),
                       .where = path.string() + ":" + std::to_string(one.line),
                       .text_case = std::move(one)});
    }
  }
  return cases;
}

class ExecCase : public testing::TestWithParam<LoadCase> {};

TEST_P(ExecCase, IsAcceptedByTheVerifier) {
  if (geteuid() != 0) GTEST_SKIP() << "loading programs needs root";
  if (access("/sys/kernel/btf/vmlinux", R_OK) != 0) GTEST_SKIP() << "the kernel has no BTF";
  const TextCase& text_case = GetParam().text_case;
  if (const Section* only = text_case.Find("fixture-only")) {
    GTEST_SKIP() << "only the fixture's kernel has " << only->value;
  }
  if (const Section* needs = text_case.Find("needs")) {
    ASSERT_EQ(needs->value, "kprobes") << GetParam().where;
    if (!HasKprobes()) GTEST_SKIP() << "this kernel has no kprobes";
  }
  const Section* program = text_case.Find("program");
  ASSERT_NE(program, nullptr) << GetParam().where;

  ExecArguments arguments = ExecArgumentsOf(text_case);
  Command command;
  command.words = {MT_BUILD_DIR "/memtrace", "--dry-run"};
  command.words.insert(command.words.end(), arguments.options.begin(), arguments.options.end());
  command.words.insert(command.words.end(), {"-e", program->body, "--"});
  command.words.insert(command.words.end(), arguments.positional.begin(),
                       arguments.positional.end());
  Finished finished = test::Run(command);
  EXPECT_EQ(finished.failure, "");
  EXPECT_EQ(finished.exit_status, 0) << GetParam().where << "\n" << finished.err;
}

INSTANTIATE_TEST_SUITE_P(Load, ExecCase, testing::ValuesIn(AllCases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace memtrace::test
