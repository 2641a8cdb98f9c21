// Turns a tree of `.test` files into gtest tests and compares what they print.
//
// A lane's main() registers its folder with a function that runs one case, and then calls
// RUN_ALL_TESTS(). The suite of a case is its file's path without `.test`, its name the case's
// sentence: --gtest_filter='parser/numbers.*'.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "tests/support/text_case.h"

namespace memtrace::test {

// How running a case went. Exactly one of the three is meant: a skip, a failure to run it at all,
// or what was observed, which is then compared.
struct RunResult {
  Observed observed;
  std::string skip;     // the reason
  std::string failure;  // what went wrong
};

using RunFunction = std::function<RunResult(const TextCase&)>;

// Removes `--update` from the arguments, and says whether it was there.
bool TakeUpdateFlag(int& argc, char** argv);

// Registers every case below `folder`. With `update`, a case that differs has its file rewritten
// instead of failing; `git diff` is where a human then looks. A file that cannot be parsed becomes
// a failing test.
void RegisterTextCases(const std::string& folder, std::span<const std::string_view> more_sections,
                       bool update, const RunFunction& run);

// Runs memtrace as a program, the way the golden lane does: in an empty working directory with the
// case's files in it, with `--sysroot` set to the case's fixture root. The root's path is replaced
// by $SYSROOT and the directory's by $TMP in what was printed.
RunResult RunMemtrace(const TextCase& text_case);

}  // namespace memtrace::test
