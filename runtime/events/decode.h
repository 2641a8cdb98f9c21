// From bytes to Values: records of the ring, keys and values of maps.
//
// What bytes mean is in the Plan; what needs the machine (a stack's frames, a user's name, a
// cgroup's path, the offset between boot time and wall clock) is asked through Resolver, so that
// tests decode without a kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/plan/plan.h"
#include "runtime/events/value.h"

namespace memtrace::events {

using Bytes = std::span<const std::byte>;

class Resolver {
 public:
  virtual ~Resolver() = default;
  // Frames of an entry of the stack table; empty when the entry is gone.
  virtual std::vector<uint64_t> StackFrames(uint64_t hash) = 0;
  virtual std::string UserName(uint32_t uid) = 0;
  virtual std::string GroupName(uint32_t gid) = 0;
  virtual std::string CgroupPath(uint64_t id) = 0;
  // Of a cgroup in the hierarchy of the memory controller.
  virtual std::string MemcgPath(uint64_t id) = 0;
  // The machine's, over one, five and fifteen minutes: "0.52 0.58 0.59".
  virtual std::string LoadAverage() = 0;
  // Wall clock in ns for a time of the boot clock.
  virtual uint64_t WallClock(uint64_t boot_ns) = 0;
};

// A value of `type` at the start of `bytes` (which may be longer). Short data is a bug of ours.
Value Decode(const plan::Plan& plan, plan::Index type, Bytes bytes, Resolver& resolver);

// One element of a map as it was read: `value` holds one value, or one per possible CPU in a row
// (each `value_stride` bytes apart) for per-CPU storage.
struct RawEntry {
  std::string key;  // map.key_size bytes; empty for a keyless map
  std::string value;
};

// Folds, sorts (sort.h), cuts to the `top` largest (0: all) and decodes what is left. `div` divides
// integers, all of stats() but its count, and the counts of buckets; 0: nothing is divided. A
// keyless map that nothing was written to has no row.
MapTable DecodeMap(const plan::Plan& plan, const plan::Map& map,
                   const std::vector<RawEntry>& entries, uint32_t value_stride, int64_t top,
                   int64_t div, Resolver& resolver);

}  // namespace memtrace::events
