// Links of probes on programs and libraries: uprobes of perf, and uprobe.multi. Private to this
// folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "compiler/base/file.h"
#include "compiler/base/result.h"
#include "compiler/plan/plan.h"

namespace memtrace::attach {

// One place of a kUprobe or kUretprobe probe. `process`: only there; 0: wherever the file is
// mapped.
Result<UniqueFd> OpenUprobe(const plan::Probe& probe, const plan::Function& function,
                            uint32_t perf_type, pid_t process, uint32_t cpu, int program_fd);

// All of `functions` in the file `path` by one link.
Result<UniqueFd> OpenUprobeMulti(const std::string& path,
                                 const std::vector<plan::Function>& functions, bool is_return,
                                 pid_t process, int program_fd);

}  // namespace memtrace::attach
