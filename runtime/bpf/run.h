// Runs a program once, and reads what the kernel counts about programs.
#pragma once

#include <cstdint>

#include "compiler/base/file.h"
#include "compiler/base/result.h"

namespace memtrace::bpf {

// Runs a raw tracepoint program on this CPU, in this task, with zeroed arguments; returns when it
// has ended.
Result<Done> RunOnce(int program_fd);

struct ProgramCounters {
  uint64_t runs = 0;  // both stay 0 while run-time statistics are off
  uint64_t run_time_ns = 0;
  uint64_t missed = 0;  // not run because a program already ran on that CPU (Linux 5.12)
};
Result<ProgramCounters> ReadCounters(int program_fd);

// The kernel measures run times while the result is open. Costs about 30 ns per event.
Result<UniqueFd> EnableRunTimeStatistics();

}  // namespace memtrace::bpf
