#include "runtime/bpf/maps.h"

#include <algorithm>
#include <cstring>
#include <string>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf-headers/memtrace/record.h"

namespace memtrace::bpf {

// The u64 before each value in mt_state that says whether it was ever written.
constexpr uint32_t kPresenceSize = 8;

static uint32_t RoundUp8(uint32_t size) { return (size + 7) & ~7u; }

MapStore::MapStore(const plan::Plan& plan, const Loaded& loaded, State& state)
    : plan_(plan),
      loaded_(loaded),
      state_(state),
      possible_cpus_(static_cast<uint32_t>(libbpf_num_possible_cpus())),
      stack_fd_(loaded.map_fd(plan::kStackMap)) {}

static bool IsState(const plan::Map& map) {
  return map.storage == plan::Storage::kState || map.storage == plan::Storage::kStatePerCpu;
}

uint32_t MapStore::WindowOffset(const plan::Map& map) const {
  return map.window_offset == plan::kNoIndex ? plan_.window_offset : map.window_offset;
}

uint32_t MapStore::CopyIndex(const plan::Map& map, Copy copy) const {
  if (!map.is_swapped) return 0;
  return state_.Window(WindowOffset(map)) ^ (copy == Copy::kAside ? 1 : 0);
}

HashShape MapStore::ShapeOf(const plan::Map& map, uint32_t copy) const {
  uint32_t value_size = map.value_size;
  if (map.storage == plan::Storage::kPerCpuHash) value_size = RoundUp8(value_size) * possible_cpus_;
  return {.fd = loaded_.map_fd(map.symbols[copy]),
          .key_size = map.key_size,
          .value_size = value_size,
          .max_entries = map.max_entries};
}

// ---- Keyless maps -------------------------------------------------------------------------------

Snapshot MapStore::ReadState(const plan::Map& map, uint32_t copy) {
  uint32_t slots = map.storage == plan::Storage::kState ? 1 : plan_.cpu_slots;
  uint32_t stride = kPresenceSize + RoundUp8(map.value_size);
  uint32_t begin = map.offset + copy * map.copy_size;
  bool is_present = false;
  std::string value(size_t{slots} * stride, '\0');
  for (uint32_t slot = 0; slot < slots; ++slot) {
    uint32_t at = begin + slot * map.slot_size;
    is_present |= state_.Word(at) != 0;
    for (uint32_t offset = 0; offset < stride; offset += 8) {
      uint64_t word = state_.Word(at + offset);
      std::memcpy(value.data() + slot * stride + offset, &word, sizeof word);
    }
  }
  Snapshot snapshot{.entries = {}, .value_stride = stride};
  if (is_present) snapshot.entries.push_back({.key = "", .value = std::move(value)});
  return snapshot;
}

void MapStore::EraseState(const plan::Map& map, uint32_t copy, bool keep_presence) {
  uint32_t slots = map.storage == plan::Storage::kState ? 1 : plan_.cpu_slots;
  uint32_t begin = map.offset + copy * map.copy_size;
  for (uint32_t slot = 0; slot < slots; ++slot) {
    uint32_t at = begin + slot * map.slot_size;
    if (!keep_presence) state_.SetWord(at, 0);
    for (uint32_t offset = 0; offset < map.value_size; offset += 8) {
      state_.SetWord(at + kPresenceSize + offset, 0);
    }
  }
}

// ---- All maps -----------------------------------------------------------------------------------

Result<Snapshot> MapStore::Read(plan::Index index, Copy copy) {
  const plan::Map& map = plan_.maps[index];
  uint32_t number = CopyIndex(map, copy);
  if (IsState(map)) return ReadState(map, number);

  HashShape shape = ShapeOf(map, number);
  Snapshot snapshot{.entries = {}, .value_stride = RoundUp8(map.value_size)};
  auto keep = [&](std::span<const std::byte> keys, std::span<const std::byte> values) {
    const char* key = reinterpret_cast<const char*>(keys.data());
    const char* value = reinterpret_cast<const char*>(values.data());
    for (size_t i = 0; i < keys.size() / shape.key_size; ++i) {
      snapshot.entries.push_back({.key = {key + i * shape.key_size, shape.key_size},
                                  .value = {value + i * shape.value_size, shape.value_size}});
    }
  };
  if (auto done = VisitAll(shape, Take::kKeep, keep); !done.ok()) {
    return done.error().WithContext(map.name);
  }
  return snapshot;
}

Result<Done> MapStore::Clear(plan::Index index, Copy copy) {
  const plan::Map& map = plan_.maps[index];
  uint32_t number = CopyIndex(map, copy);
  if (IsState(map)) {
    EraseState(map, number, /*keep_presence=*/false);
    return Done{};
  }
  return VisitAll(ShapeOf(map, number), Take::kDelete, [](auto, auto) {}).WithContext(map.name);
}

Result<Done> MapStore::Zero(plan::Index index, Copy copy) {
  const plan::Map& map = plan_.maps[index];
  uint32_t number = CopyIndex(map, copy);
  if (IsState(map)) {
    EraseState(map, number, /*keep_presence=*/true);
    return Done{};
  }
  HashShape shape = ShapeOf(map, number);
  std::vector<std::byte> keys;
  MT_RETURN_IF_ERROR(VisitAll(shape, Take::kKeep, [&](auto some, auto) {
                       keys.insert(keys.end(), some.begin(), some.end());
                     }).WithContext(map.name));
  std::vector<std::byte> zeros(keys.size() / shape.key_size * shape.value_size);
  MT_RETURN_IF_ERROR(UpdateAll(shape, keys, zeros).WithContext(map.name));
  if (!map.is_swapped) return Done{};
  // The other copy has only the keys of its own windows. EEXIST is what we want, and a full map is
  // already counted by the programs.
  HashShape other = ShapeOf(map, number ^ 1);
  for (size_t i = 0; i < keys.size() / shape.key_size; ++i) {
    bpf_map_update_elem(other.fd, keys.data() + i * shape.key_size, zeros.data(), BPF_NOEXIST);
  }
  return Done{};
}

Result<Done> MapStore::Swap(std::span<const plan::Index> maps) {
  std::vector<uint32_t> windows;
  for (plan::Index index : maps) {
    uint32_t offset = WindowOffset(plan_.maps[index]);
    if (std::find(windows.begin(), windows.end(), offset) == windows.end())
      windows.push_back(offset);
  }
  for (uint32_t offset : windows) state_.FlipWindow(offset);
  return WaitForPrograms().WithContext("exchange maps");
}

// After an update of a map of maps the kernel waits for an RCU grace period
// (maybe_wait_bpf_programs), and with it for every program that may have read the old window index.
// It is the only way to ask for one without side effects; sleepable programs are not waited for.
Result<Done> MapStore::WaitForPrograms() {
  if (!outer_.valid()) {
    inner_.Reset(bpf_map_create(BPF_MAP_TYPE_ARRAY, "mt_inner", 4, 4, 1, nullptr));
    if (!inner_.valid()) return Error::FromErrno("create a map");
    LIBBPF_OPTS(bpf_map_create_opts, options, .inner_map_fd = static_cast<uint32_t>(inner_.get()));
    outer_.Reset(bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "mt_barrier", 4, 4, 1, &options));
    if (!outer_.valid()) return Error::FromErrno("create a map of maps");
  }
  uint32_t key = 0;
  uint32_t value = static_cast<uint32_t>(inner_.get());
  int status = bpf_map_update_elem(outer_.get(), &key, &value, BPF_ANY);
  if (status != 0) return Error::FromErrno("update a map of maps", -status);
  return Done{};
}

std::vector<uint64_t> MapStore::StackFrames(uint64_t hash) {
  mt_stack_entry entry;
  if (stack_fd_ < 0 || bpf_map_lookup_elem(stack_fd_, &hash, &entry) != 0) return {};
  uint32_t count = std::min<uint32_t>(entry.count, MT_STACK_DEPTH);
  return {entry.frames, entry.frames + count};
}

}  // namespace memtrace::bpf
