// Where the calling convention puts things, as byte offsets in the kernel's struct pt_regs: what a
// program of a kprobe or uprobe sees as its context.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::kernel {

#if defined(__x86_64__)
// arch/x86/include/asm/ptrace.h: di, si, dx, cx, r8, r9; ax; sp.
inline constexpr uint32_t kArgumentRegisters[] = {112, 104, 96, 88, 72, 64};
inline constexpr uint32_t kResultRegister = 80;
inline constexpr uint32_t kStackPointer = 152;
// Behind the return address.
inline constexpr uint32_t kFirstStackArgument = 8;
#elif defined(__aarch64__)
// arch/arm64/include/asm/ptrace.h: x0 to x7; x0; sp.
inline constexpr uint32_t kArgumentRegisters[] = {0, 8, 16, 24, 32, 40, 48, 56};
inline constexpr uint32_t kResultRegister = 0;
inline constexpr uint32_t kStackPointer = 248;
inline constexpr uint32_t kFirstStackArgument = 0;
#else
#error "which registers hold the arguments of a function on this architecture?"
#endif

inline constexpr uint32_t kArgumentRegisterCount =
    sizeof(kArgumentRegisters) / sizeof(kArgumentRegisters[0]);

}  // namespace memtrace::kernel
