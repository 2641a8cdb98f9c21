// Session: one case of the exec lane from its text to what a user would have seen.
//
// The program is compiled for the fixture's kernel, begin runs, then what `events` says, then end;
// maps print at exit and losses go to stderr, as in the product.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/diag/source.h"
#include "compiler/kernel/kernel.h"
#include "compiler/plan/plan.h"
#include "compiler/sema/check.h"
#include "tests/exec/machine.h"
#include "tests/support/text_case_runner.h"

namespace memtrace::exec {

test::RunResult RunCase(const test::TextCase& text_case);

// A program compiled for the fixture's kernel and ready to run; for tests in C++.
struct Prepared {
  types::TypeTable types;
  std::unique_ptr<kernel::Kernel> kernel;
  plan::Plan plan;
  std::unique_ptr<World> world;
  std::unique_ptr<Machine> machine;  // null when `diagnostics` holds errors
  std::string diagnostics;
};
// `script` and what it may be told on the command line. The error is one of the machine.
Result<std::unique_ptr<Prepared>> Prepare(const std::string& script,
                                          const sema::CheckOptions& options);

// The program of a case, and the options its `args` say.
struct CaseProgram {
  std::string script;
  sema::CheckOptions options;
  bool raw_numbers = false;
};
Result<CaseProgram> ProgramOf(const test::TextCase& text_case);

}  // namespace memtrace::exec
