#include "compiler/kernel/syscalls.h"

#include <algorithm>
#include <iterator>

namespace memtrace::kernel {
namespace {

struct Row {
  uint32_t number;
  std::string_view name;
};

// Ascending by number.
constexpr Row kRows[] = {
#define MT_SYSCALL(number, name) {number, #name},
#if defined(__x86_64__)
#include "compiler/kernel/syscalls_x86_64.def"
#elif defined(__aarch64__)
#include "compiler/kernel/syscalls_arm64.def"
#else
#error "a table of system calls is missing for this architecture"
#endif
#undef MT_SYSCALL
};

constexpr bool IsAscending() {
  for (size_t i = 1; i < std::size(kRows); ++i) {
    if (kRows[i - 1].number >= kRows[i].number) return false;
  }
  return true;
}
static_assert(IsAscending(), "SyscallName() searches by number");

}  // namespace

std::optional<uint32_t> SyscallNumber(std::string_view tracefs_name) {
  for (const Row& row : kRows) {
    if (row.name == tracefs_name) return row.number;
  }
  return std::nullopt;
}

std::string_view SyscallName(uint32_t number) {
  const Row* row = std::lower_bound(std::begin(kRows), std::end(kRows), number,
                                    [](const Row& r, uint32_t n) { return r.number < n; });
  return row != std::end(kRows) && row->number == number ? row->name : std::string_view();
}

uint32_t SyscallCount() { return std::rbegin(kRows)->number + 1; }

}  // namespace memtrace::kernel
