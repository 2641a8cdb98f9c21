#include "compiler/plan/plan.h"

#include <algorithm>

#include "bpf-headers/memtrace/record.h"

namespace memtrace::plan {

// What the kernel adds to each element of a hash map: the element's header, and the pointer to the
// per-CPU part (struct htab_elem in kernel/bpf/hashtab.c).
constexpr uint64_t kElementOverhead = 56;
// One bucket of a hash map; there are as many as elements, rounded up to a power of two.
constexpr uint64_t kBucketSize = 16;

static uint64_t RoundUp8(uint64_t size) { return (size + 7) & ~uint64_t{7}; }

static uint64_t BucketMemory(uint64_t entries) {
  uint64_t buckets = 1;
  while (buckets < entries) buckets *= 2;
  return buckets * kBucketSize;
}

static uint64_t HashMemory(uint64_t entries, uint64_t key_size, uint64_t value_size) {
  uint64_t element = kElementOverhead + RoundUp8(key_size) + RoundUp8(value_size);
  return entries * element + BucketMemory(entries);
}

uint64_t PlannedMemory(const Plan& plan) {
  uint64_t bytes = plan.state_size;
  for (const Map& map : plan.maps) {
    uint64_t value_size = RoundUp8(map.value_size);
    if (map.storage == Storage::kPerCpuHash) value_size *= plan.cpu_slots;
    bytes += map.symbols.size() * HashMemory(map.max_entries, map.key_size, value_size);
  }
  auto has_stack = [](const Type& type) {
    return type.kind == TypeKind::kKernelStack || type.kind == TypeKind::kUserStack;
  };
  if (std::any_of(plan.types.begin(), plan.types.end(), has_stack)) {
    bytes += HashMemory(plan.config.max_stacks, sizeof(mt_u64), sizeof(mt_stack_entry));
  }
  if (!plan.actions.empty()) bytes += plan.config.ring_size;
  return bytes;
}

}  // namespace memtrace::plan
