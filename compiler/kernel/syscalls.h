// System call names as tracefs spells them, and their numbers.
//
// tracefs names the kernel's function (newstat, sendfile64, umount), unistd.h the ABI (stat,
// sendfile, umount2). One table per architecture maps the tracefs spelling to the number; a unit
// test on a live kernel compares it with the events that exist. A name without a number (a call of
// a newer kernel) is traced by its own classic tracepoint.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace memtrace::kernel {

// The number of the 64-bit entry of the machine memtrace was built for; empty when not known.
std::optional<uint32_t> SyscallNumber(std::string_view tracefs_name);
// The reverse; empty view when not known.
std::string_view SyscallName(uint32_t number);
// Highest known number + 1.
uint32_t SyscallCount();

}  // namespace memtrace::kernel
