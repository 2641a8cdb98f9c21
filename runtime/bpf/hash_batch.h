// Batched access to one hash map of the kernel. Used by MapStore only.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compiler/base/result.h"

namespace memtrace::bpf {

struct HashShape {
  int fd = -1;
  uint32_t key_size = 0;
  uint32_t value_size = 0;  // as the system call returns it: per-CPU values in a row
  uint32_t max_entries = 0;
};

// `keys` and `values` hold the same number of elements in a row and are valid during the call.
using BatchVisitor =
    std::function<void(std::span<const std::byte> keys, std::span<const std::byte> values)>;

enum class Take : uint8_t { kKeep, kDelete };

// Visits every element; with kDelete each is gone once visited. An element that programs add
// meanwhile may be missed, one that stays is visited exactly once.
Result<Done> VisitAll(const HashShape& shape, Take take, const BatchVisitor& visit);

// Writes `keys.size() / key_size` elements.
Result<Done> UpdateAll(const HashShape& shape, std::span<const std::byte> keys,
                       std::span<const std::byte> values);

}  // namespace memtrace::bpf
