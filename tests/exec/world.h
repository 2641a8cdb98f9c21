// World: what the fake helpers of the exec lane answer with.
//
// Plain data that a case sets (case.h) and the helpers (helpers.cc) read. Only the clock and the
// random numbers move on their own.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/exec/memory.h"

namespace memtrace::exec {

struct World {
  uint64_t pid = 100, tid = 100, uid = 1000, gid = 1000;
  std::string comm = "test";
  uint64_t cpu = 0, numa_node = 0;
  uint64_t cgroup = 1;
  uint64_t task = 0;  // address of the task_struct
  // The one mapping, and the address of its vm_area_struct; `vma_error` is returned instead when
  // it is not 0.
  uint64_t vma = 0, vma_begin = 0, vma_end = 0;
  int64_t vma_error = 0;
  uint64_t jiffies = 0;
  uint64_t cookie = 0;  // of the attachment through which the event at hand comes
  // All clocks: `time` ns, and `step` more at every reading.
  std::atomic<uint64_t> time = 1'000'000'000;
  uint64_t step = 0;
  std::atomic<uint64_t> random = 1;  // counts up
  // Innermost frame first. `stack_error` is returned instead when it is not 0.
  std::vector<uint64_t> kernel_stack, user_stack;
  int64_t stack_error = 0;

  Memory memory;

  // Sets what a case calls `name`. False: there is no such thing, or `value` is no number.
  bool Set(std::string_view name, std::string_view value);
};

// A number as cases write it: decimal, 0x…, with a sign. False: it is none.
bool ParseNumber(std::string_view text, uint64_t& number);

}  // namespace memtrace::exec
