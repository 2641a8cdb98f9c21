// Session: one run of a compiled script, from loading to the line about losses.
//
// Knows only the Plan and the object, not the compiler. One thread does everything: it waits for
// the ring, timers and signals, handles records in their order, and runs interval programs itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/plan/plan.h"
#include "runtime/output/sink.h"
#include "runtime/session/scope.h"
#include "runtime/symbols/symbolizer.h"

namespace memtrace::session {

struct Options {
  bool dry_run = false;  // load, attach nothing, run nothing
  bool quiet = false;
  bool verbose = false;
  bool strict = false;  // status 3 when something was lost
  bool statistics = false;
  bool exit_status = false;  // pass on the status of `command`
  std::optional<std::string> command;
  ScopeOptions scope;
  uint64_t duration_ns = 0;  // 0: no limit
  uint64_t max_events = 0;   // 0: no limit
  std::vector<uint32_t> online_cpus;
  bool raw_numbers = false;  // printf() prints units unscaled, as `sink` does
  int output_fd = 1;         // what `sink` writes to: a closed pipe ends the session
};

// Returns the exit status. An Error means that nothing was traced, or that tracing could not go on.
// Changes the process's signal mask and oom_score_adj: one session per process.
Result<int> Run(const plan::Plan& plan, std::string_view object, output::Sink& sink,
                symbols::Symbolizer& symbolizer, const Options& options);

}  // namespace memtrace::session
