// Links of probes on kernel functions by their registers: kprobes of perf, and kprobe.multi.
// Private to this folder.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/base/file.h"
#include "compiler/base/result.h"
#include "compiler/plan/plan.h"

namespace memtrace::attach {

// One function of a kKprobe or kKretprobe probe.
Result<UniqueFd> OpenKprobe(const plan::Probe& probe, const plan::Function& function,
                            uint32_t perf_type, uint32_t cpu, int program_fd);

// All of `functions` by one link.
Result<UniqueFd> OpenKprobeMulti(const std::vector<plan::Function>& functions, bool is_return,
                                 int program_fd);

// Calls that the kernel itself did not get to the link's program; 0 where it does not tell.
uint64_t MissedByLink(int link_fd);

}  // namespace memtrace::attach
