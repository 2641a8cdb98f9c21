// MapStore: the one door to the contents of maps, wherever they lie.
//
// Hash maps are read, cleared and zeroed in batches (one element per system call only on a kernel
// that cannot), keyless maps in mapped memory. What bytes mean is not known here (runtime/events
// folds and decodes).
//
// A swapped map has two copies. Events write to the current one; Swap() makes the other one current
// and returns when no program can still write to the copy set aside, whose contents are then exact.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/base/file.h"
#include "compiler/base/result.h"
#include "compiler/plan/plan.h"
#include "runtime/bpf/hash_batch.h"
#include "runtime/bpf/object.h"
#include "runtime/bpf/state.h"
#include "runtime/events/decode.h"

namespace memtrace::bpf {

enum class Copy : uint8_t {
  kCurrent,
  kAside,  // of a swapped map, after Swap()
};

// As events::DecodeMap takes it: values of a keyless map are whole slots, each with its u64
// presence in front.
struct Snapshot {
  std::vector<events::RawEntry> entries;  // in no order; empty: never written, or cleared
  uint32_t value_stride = 0;  // bytes from one CPU's value to the next in RawEntry::value
};

class MapStore {
 public:
  // All must outlive the MapStore.
  MapStore(const plan::Plan& plan, const Loaded& loaded, State& state);

  // Maps are named by their index in Plan::maps.
  Result<Snapshot> Read(plan::Index map, Copy copy);
  // All keys go. On the current copy updates that run at the same moment may be lost; on the other
  // none can.
  Result<Done> Clear(plan::Index map, Copy copy);
  // Values become 0, keys stay (a swapped map keeps them in both copies).
  Result<Done> Zero(plan::Index map, Copy copy);

  // Exchanges the copies of `maps` together.
  Result<Done> Swap(std::span<const plan::Index> maps);

  // Frames of an entry of the stack table; empty when there is none.
  std::vector<uint64_t> StackFrames(uint64_t hash);

 private:
  HashShape ShapeOf(const plan::Map& map, uint32_t copy) const;
  uint32_t CopyIndex(const plan::Map& map, Copy copy) const;
  uint32_t WindowOffset(const plan::Map& map) const;
  Snapshot ReadState(const plan::Map& map, uint32_t copy);
  void EraseState(const plan::Map& map, uint32_t copy, bool keep_presence);
  Result<Done> WaitForPrograms();

  const plan::Plan& plan_;
  const Loaded& loaded_;
  State& state_;
  uint32_t possible_cpus_;
  int stack_fd_;
  // A map of maps that holds one map: updating it waits for all programs that run (see
  // WaitForPrograms).
  UniqueFd outer_, inner_;
};

}  // namespace memtrace::bpf
