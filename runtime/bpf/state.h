// State: the reader's view of mt_state, the one global array that programs write to directly.
//
// Mapped memory: reads and writes are plain (word by word atomic) accesses, no system call. What
// lies where is in the Plan; this class knows the loss counters and window indices, MapStore the
// keyless maps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "compiler/base/result.h"
#include "compiler/plan/plan.h"
#include "runtime/bpf/object.h"

namespace memtrace::bpf {

class State {
 public:
  // `plan` must outlive the result. A plan without state gives an empty State.
  static Result<State> Open(const plan::Plan& plan, const Loaded& loaded);
  State(State&& other) noexcept : plan_(other.plan_), bytes_(std::exchange(other.bytes_, {})) {}
  State& operator=(State&&) = delete;
  ~State();

  std::span<std::byte> bytes() { return bytes_; }
  uint64_t Word(uint32_t offset) const;  // a u64
  void SetWord(uint32_t offset, uint64_t value);

  // A bit of the set that begins at `offset`. Programs may change others of it at the same time.
  bool Bit(uint32_t offset, uint32_t bit) const;
  void SetBit(uint32_t offset, uint32_t bit);

  uint64_t Lost(plan::Index site) const;  // of Plan::loss_sites

  // The copy (0 or 1) of swapped maps that events write to now. `offset` is Map::window_offset
  // resolved.
  uint32_t Window(uint32_t offset) const;
  // Events that begin from now on write to the other copy; those that run may still write to this
  // one.
  void FlipWindow(uint32_t offset);

 private:
  State(const plan::Plan& plan, std::span<std::byte> bytes) : plan_(&plan), bytes_(bytes) {}
  const plan::Plan* plan_;
  std::span<std::byte> bytes_;
};

}  // namespace memtrace::bpf
