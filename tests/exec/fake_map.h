// FakeMap and FakeRing: hash maps and the ring buffer of the kernel as programs see them, on the
// host.
//
// Small real implementations: limits, flags and error numbers are the kernel's. Safe to use from
// several threads. A value stays readable after its element was replaced or deleted, as under RCU;
// it is freed with the map.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tests/exec/memory.h"

namespace memtrace::exec {

class FakeMap {
 public:
  struct Shape {
    uint32_t key_size = 0;
    uint32_t value_size = 0;
    uint32_t max_entries = 0;
    uint32_t copies = 1;  // of each value: one, or one per CPU
  };
  // Values are registered with `memory`, which must outlive the map.
  FakeMap(const Shape& shape, Memory& memory) : shape_(shape), memory_(memory) {}

  const Shape& shape() const { return shape_; }
  bool per_cpu() const { return shape_.copies > 1; }

  // The copy of `cpu`; null when there is no such key.
  void* Lookup(const void* key, uint32_t cpu);
  // 0 or a negative error number. A per-CPU update writes the copy of `cpu`.
  int64_t Update(const void* key, const void* value, uint64_t flags, uint32_t cpu);
  int64_t Delete(const void* key);
  // Visits every element there was at the beginning until `visit` returns non-zero. The number
  // visited.
  int64_t ForEach(uint32_t cpu, const std::function<int64_t(const void* key, void* value)>& visit);

  void Clear();
  void Zero();
  // Key and all copies of the value, `value_stride()` apart.
  std::vector<std::pair<std::string, std::string>> Entries() const;
  uint32_t value_stride() const { return (shape_.value_size + 7) / 8 * 8; }

 private:
  struct Element {
    std::string key;
    uint64_t* value;
  };
  uint64_t* NewValue();
  char* Copy(uint64_t* value, uint32_t cpu) const {
    return reinterpret_cast<char*>(value) + uint64_t{cpu} * value_stride();
  }
  std::string_view Key(const void* key) const {
    return {static_cast<const char*>(key), shape_.key_size};
  }

  Shape shape_;
  Memory& memory_;
  mutable std::mutex mutex_;
  std::map<std::string, uint64_t*, std::less<>> elements_;
  std::vector<std::unique_ptr<uint64_t[]>> values_;  // all there ever were
};

class FakeRing {
 public:
  // `size` in bytes, a power of two.
  explicit FakeRing(uint64_t size) : size_(size) {}

  // Null when the ring is full.
  void* Reserve(uint64_t size);
  void Submit(void* record) { Finish(record, State::kReady); }
  void Discard(void* record) { Finish(record, State::kDiscarded); }
  int64_t Output(const void* data, uint64_t size);
  uint64_t Query(uint64_t what) const;

  // The oldest record, when it is complete; false when there is none.
  bool Take(std::string& record);

 private:
  enum class State : uint8_t { kBusy, kReady, kDiscarded };
  struct Record {
    std::unique_ptr<uint64_t[]> data;
    uint64_t size;
    State state;
  };
  static uint64_t Occupied(uint64_t size) { return (size + 8 + 7) / 8 * 8; }
  void Finish(void* record, State state);

  uint64_t size_;
  mutable std::mutex mutex_;
  std::deque<Record> records_;
  uint64_t produced_ = 0, consumed_ = 0;
};

}  // namespace memtrace::exec
