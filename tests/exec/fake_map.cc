#include "tests/exec/fake_map.h"

#include <cerrno>
#include <cstring>

#include "compiler/base/check.h"

namespace memtrace::exec {
namespace {

// Flags of bpf_map_update_elem (include/uapi/linux/bpf.h).
constexpr uint64_t kNoExist = 1, kExist = 2;
// What bpf_ringbuf_query is asked for.
constexpr uint64_t kAvailable = 0, kRingSize = 1, kConsumerPosition = 2, kProducerPosition = 3;

}  // namespace

uint64_t* FakeMap::NewValue() {
  size_t words = size_t{value_stride()} / 8 * shape_.copies;
  values_.push_back(std::make_unique<uint64_t[]>(words));
  memory_.AddHost(values_.back().get(), words * 8);
  return values_.back().get();
}

void* FakeMap::Lookup(const void* key, uint32_t cpu) {
  std::lock_guard lock(mutex_);
  auto found = elements_.find(Key(key));
  if (found == elements_.end() || cpu >= shape_.copies) return nullptr;
  return Copy(found->second, cpu);
}

int64_t FakeMap::Update(const void* key, const void* value, uint64_t flags, uint32_t cpu) {
  std::lock_guard lock(mutex_);
  auto found = elements_.find(Key(key));
  bool exists = found != elements_.end();
  if (flags == kNoExist && exists) return -EEXIST;
  if (flags == kExist && !exists) return -ENOENT;
  if (flags > kExist) return -EINVAL;
  if (!exists && elements_.size() >= shape_.max_entries) return -E2BIG;
  // A plain hash map replaces the element, a per-CPU one writes into it.
  uint64_t* target = exists && per_cpu() ? found->second : NewValue();
  memcpy(Copy(target, cpu), value, shape_.value_size);
  elements_[std::string(Key(key))] = target;
  return 0;
}

int64_t FakeMap::Delete(const void* key) {
  std::lock_guard lock(mutex_);
  auto found = elements_.find(Key(key));
  if (found == elements_.end()) return -ENOENT;
  elements_.erase(found);
  return 0;
}

int64_t FakeMap::ForEach(uint32_t cpu, const std::function<int64_t(const void*, void*)>& visit) {
  std::vector<std::string> keys;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [key, value] : elements_) keys.push_back(key);
  }
  int64_t visited = 0;
  for (const std::string& key : keys) {
    // 8-byte aligned, as in the kernel.
    std::vector<uint64_t> aligned((key.size() + 7) / 8);
    memcpy(aligned.data(), key.data(), key.size());
    void* value = Lookup(key.data(), per_cpu() ? cpu : 0);
    if (value == nullptr) continue;
    ++visited;
    if (visit(aligned.data(), value) != 0) break;
  }
  return visited;
}

void FakeMap::Clear() {
  std::lock_guard lock(mutex_);
  elements_.clear();
}

void FakeMap::Zero() {
  std::lock_guard lock(mutex_);
  for (auto& [key, value] : elements_) memset(value, 0, size_t{value_stride()} * shape_.copies);
}

std::vector<std::pair<std::string, std::string>> FakeMap::Entries() const {
  std::lock_guard lock(mutex_);
  std::vector<std::pair<std::string, std::string>> entries;
  for (const auto& [key, value] : elements_) {
    entries.emplace_back(key, std::string(reinterpret_cast<const char*>(value),
                                          size_t{value_stride()} * shape_.copies));
  }
  return entries;
}

void* FakeRing::Reserve(uint64_t size) {
  std::lock_guard lock(mutex_);
  if (size > size_ || produced_ + Occupied(size) - consumed_ > size_ - 1) return nullptr;
  produced_ += Occupied(size);
  size_t words = (size + 7) / 8;
  auto data = std::make_unique_for_overwrite<uint64_t[]>(words);
  // What a program forgets to write must show.
  memset(data.get(), 0xa5, words * 8);
  records_.push_back({.data = std::move(data), .size = size, .state = State::kBusy});
  return records_.back().data.get();
}

void FakeRing::Finish(void* record, State state) {
  std::lock_guard lock(mutex_);
  for (Record& candidate : records_) {
    if (candidate.data.get() != record) continue;
    MT_CHECK(candidate.state == State::kBusy, "a record is finished once");
    candidate.state = state;
    return;
  }
  MT_UNREACHABLE("a record that was not reserved is finished");
}

int64_t FakeRing::Output(const void* data, uint64_t size) {
  void* record = Reserve(size);
  if (record == nullptr) return -EAGAIN;
  memcpy(record, data, size);
  Submit(record);
  return 0;
}

uint64_t FakeRing::Query(uint64_t what) const {
  std::lock_guard lock(mutex_);
  switch (what) {
    case kAvailable:
      return produced_ - consumed_;
    case kRingSize:
      return size_;
    case kConsumerPosition:
      return consumed_;
    case kProducerPosition:
      return produced_;
    default:
      return 0;
  }
}

bool FakeRing::Take(std::string& record) {
  std::lock_guard lock(mutex_);
  while (!records_.empty() && records_.front().state != State::kBusy) {
    Record front = std::move(records_.front());
    records_.pop_front();
    consumed_ += Occupied(front.size);
    record.assign(reinterpret_cast<const char*>(front.data.get()), front.size);
    if (front.state == State::kReady) return true;
  }
  return false;
}

}  // namespace memtrace::exec
