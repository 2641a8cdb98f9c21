// The part of bpf(2) that links a program to many places of one file (uprobe.multi), as of Linux
// 89ae89f53d20 ("bpf: Add multi uprobe link") in v6.6, which the headers of older systems lack.
#pragma once

#include <cstdint>

namespace memtrace::kernel {

inline constexpr uint32_t kTraceUprobeMulti = 48;  // BPF_TRACE_UPROBE_MULTI of bpf_attach_type
inline constexpr uint32_t kUprobeMultiReturn = 1;  // BPF_F_UPROBE_MULTI_RETURN

// union bpf_attr of BPF_LINK_CREATE with this attach type. Pointers are numbers.
struct UprobeMultiLink {
  uint32_t program_fd = 0;
  uint32_t target_fd = 0;
  uint32_t attach_type = kTraceUprobeMulti;
  uint32_t link_flags = 0;
  uint64_t path = 0;
  uint64_t offsets = 0;     // u64 each, in the file
  uint64_t semaphores = 0;  // u64 each, in the file; 0: there are none
  uint64_t cookies = 0;     // u64 each
  uint32_t count = 0;
  uint32_t flags = 0;
  uint32_t process = 0;  // 0: all
  uint32_t padding = 0;
};

}  // namespace memtrace::kernel
