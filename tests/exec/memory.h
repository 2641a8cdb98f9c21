// Memory: what programs can reach through the probe_read helpers in the exec lane.
//
// A case describes regions at addresses of its choice; everything else faults, as unmapped memory
// does. The program's own memory (globals, scratch, map values, records) is known as ranges of the
// host, because generated code may hand such addresses to probe_read_kernel, too. Safe to use from
// several threads, but for Region().
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <shared_mutex>
#include <string>

#include "compiler/types/type.h"

namespace memtrace::exec {

// What the helpers return for a fault.
inline constexpr int64_t kFault = -14;

class Memory {
 public:
  // Replaces a region that began at the same address.
  void Add(uint64_t address, types::Space space, std::string bytes);
  // `size` bytes of the host at `start` that are kernel memory to programs.
  void AddHost(const void* start, size_t size);
  void RemoveHost(const void* start);

  // The bytes of the region that begins at `address`, to be written to; null when there is none.
  std::string* Region(uint64_t address);

  // 0, or kFault with `size` zeroed bytes.
  int64_t Read(types::Space space, uint64_t address, void* to, size_t size) const;
  // Reads up to and with a NUL, at most `size` bytes, the last of which is then NUL. The number of
  // bytes with the NUL, or kFault with zeroed bytes.
  int64_t ReadString(types::Space space, uint64_t address, char* to, size_t size) const;

 private:
  struct Mapped {
    types::Space space;
    std::string bytes;
  };
  // Bytes that can be read from `address` on without a gap, at most `size`.
  const char* Find(types::Space space, uint64_t address, size_t& size) const;

  mutable std::shared_mutex mutex_;
  std::map<uint64_t, Mapped> regions_;
  std::map<uint64_t, size_t> host_;  // start and size
};

}  // namespace memtrace::exec
