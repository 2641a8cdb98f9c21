#include "tests/exec/memory.h"

#include <algorithm>
#include <cstring>
#include <mutex>

namespace memtrace::exec {

void Memory::Add(uint64_t address, types::Space space, std::string bytes) {
  std::unique_lock lock(mutex_);
  regions_[address] = {.space = space, .bytes = std::move(bytes)};
}

void Memory::AddHost(const void* start, size_t size) {
  std::unique_lock lock(mutex_);
  host_[reinterpret_cast<uint64_t>(start)] = size;
}

void Memory::RemoveHost(const void* start) {
  std::unique_lock lock(mutex_);
  host_.erase(reinterpret_cast<uint64_t>(start));
}

std::string* Memory::Region(uint64_t address) {
  auto found = regions_.find(address);
  return found == regions_.end() ? nullptr : &found->second.bytes;
}

const char* Memory::Find(types::Space space, uint64_t address, size_t& size) const {
  auto after = regions_.upper_bound(address);
  if (after != regions_.begin()) {
    const auto& [start, region] = *std::prev(after);
    uint64_t inside = address - start;
    if (region.space == space && inside < region.bytes.size()) {
      size = std::min<size_t>(size, region.bytes.size() - inside);
      return region.bytes.data() + inside;
    }
  }
  if (space != types::Space::kKernel) return nullptr;
  auto host = host_.upper_bound(address);
  if (host == host_.begin()) return nullptr;
  --host;
  uint64_t inside = address - host->first;
  if (inside >= host->second) return nullptr;
  size = std::min<size_t>(size, host->second - inside);
  return reinterpret_cast<const char*>(address);
}

int64_t Memory::Read(types::Space space, uint64_t address, void* to, size_t size) const {
  std::shared_lock lock(mutex_);
  char* out = static_cast<char*>(to);
  for (size_t done = 0; done < size;) {
    size_t part = size - done;
    const char* from = Find(space, address + done, part);
    if (from == nullptr) {
      memset(to, 0, size);
      return kFault;
    }
    memcpy(out + done, from, part);
    done += part;
  }
  return 0;
}

int64_t Memory::ReadString(types::Space space, uint64_t address, char* to, size_t size) const {
  std::shared_lock lock(mutex_);
  for (size_t done = 0; done < size;) {
    size_t part = size - done;
    const char* from = Find(space, address + done, part);
    if (from == nullptr) {
      memset(to, 0, size);
      return kFault;
    }
    size_t length = strnlen(from, part);
    memcpy(to + done, from, length);
    if (length < part) {
      to[done + length] = 0;
      return static_cast<int64_t>(done + length + 1);
    }
    done += part;
  }
  if (size > 0) to[size - 1] = 0;
  return static_cast<int64_t>(size);
}

}  // namespace memtrace::exec
