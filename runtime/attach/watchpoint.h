// Watchpoints: what perf is asked for, and which threads have to be asked. Private to this folder.
#pragma once

#include <vector>

#include <linux/perf_event.h>
#include <sys/types.h>

#include "compiler/base/result.h"
#include "compiler/plan/plan.h"

namespace memtrace::attach {

perf_event_attr WatchpointAttributes(const plan::Probe& probe);

// What an error of perf_event_open means for a watchpoint.
Error RefusedWatchpoint(int error_number);

// The threads of a process now; kNotFound: there is none.
Result<std::vector<pid_t>> ThreadsOf(pid_t process);

// The same of the process and of all that it forked, as far as their parents live.
Result<std::vector<pid_t>> TreeOf(pid_t process);

}  // namespace memtrace::attach
