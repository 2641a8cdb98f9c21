// Whose an address is.
#pragma once

#include <cstdint>

namespace memtrace::kernel {

// On both machines that memtrace knows, the kernel has the upper half of the addresses.
constexpr bool IsKernelAddress(uint64_t address) { return address >> 63 != 0; }

}  // namespace memtrace::kernel
