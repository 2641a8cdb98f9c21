// Check: from the tree to the typed program.
//
// Two walks: the first expands probes (probes/ rows, asking the Kernel what exists) and infers the
// types of maps and variables over all clauses until nothing changes; the second builds typed
// nodes. Every mistake goes to Diagnostics once, however many probes a clause has.
#pragma once

#include <string>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/kernel/kernel.h"
#include "compiler/sema/typed.h"
#include "compiler/syntax/ast.h"

namespace memtrace::sema {

// --config name=value. `span` is where a diagnostic about it points.
struct ConfigOption {
  std::string name;
  std::string value;
  diag::Span span = {};
};

struct CheckOptions {
  std::vector<std::string> positional;  // $1, $2, …
  std::vector<ConfigOption> config;     // wins over the script's
  bool allow_unsafe = false;
  uint32_t process = 0;  // of -p: names of programs are looked up as it sees them; 0: none
  // Serve tracepoints by their classic perf event even where a raw one would do (--config
  // attach=classic).
  bool classic_only = false;
  // Whom scoped programs see.
  plan::ProcessScope processes = plan::ProcessScope::kAll;
  plan::CgroupHierarchy cgroup = plan::CgroupHierarchy::kNone;
  // No program sees memtrace itself; otherwise only those that print do not.
  bool exclude_self = false;
};

TypedProgram Check(const syntax::Ast& ast, const diag::SourceMap& sources, kernel::Kernel& kernel,
                   const CheckOptions& options, diag::Diagnostics& diagnostics);

// Plan of a checked program. `sources` gives line numbers.
plan::Plan BuildPlan(const TypedProgram& program, const diag::SourceMap& sources);

}  // namespace memtrace::sema
