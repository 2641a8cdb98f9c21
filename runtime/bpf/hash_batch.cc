#include "runtime/bpf/hash_batch.h"

#include <algorithm>
#include <cerrno>

#include <bpf/bpf.h>

namespace memtrace::bpf {
namespace {

// Bytes of one batch: large enough that the system call does not matter, small enough for the CPU's
// cache.
constexpr uint32_t kBatchBytes = 512 << 10;
constexpr uint32_t kMinBatch = 64;

// ENOTSUPP of the kernel, which is no error number of user space.
constexpr int kNotSupported = 524;

bool IsUnsupported(int status) {
  return status == -kNotSupported || status == -EOPNOTSUPP || status == -EINVAL;
}

struct Buffers {
  explicit Buffers(const HashShape& shape)
      : count(std::clamp(kBatchBytes / (shape.key_size + shape.value_size), kMinBatch,
                         std::max(shape.max_entries, kMinBatch))) {
    Resize(shape);
  }
  void Resize(const HashShape& shape) {
    keys.resize(size_t{count} * shape.key_size);
    values.resize(size_t{count} * shape.value_size);
  }
  uint32_t count;
  std::vector<std::byte> keys, values;
};

Result<Done> VisitOneByOne(const HashShape& shape, Take take, const BatchVisitor& visit) {
  std::vector<std::byte> key(shape.key_size), next(shape.key_size), value(shape.value_size);
  int status = bpf_map_get_next_key(shape.fd, nullptr, next.data());
  // A key that is deleted under our hands makes the kernel begin again, hence the bound.
  for (uint64_t i = 0; status == 0 && i < 2 * uint64_t{shape.max_entries}; ++i) {
    key = next;
    // First, because a deleted key has no next one.
    status = bpf_map_get_next_key(shape.fd, key.data(), next.data());
    if (bpf_map_lookup_elem(shape.fd, key.data(), value.data()) != 0) continue;
    visit(key, value);
    if (take == Take::kDelete) bpf_map_delete_elem(shape.fd, key.data());
  }
  if (status != 0 && status != -ENOENT) return Error::FromErrno("read a map", -status);
  return Done{};
}

}  // namespace

Result<Done> VisitAll(const HashShape& shape, Take take, const BatchVisitor& visit) {
  Buffers buffers(shape);
  uint32_t position = 0;  // of the kernel: the bucket to go on with
  bool is_first = true;
  while (true) {
    uint32_t count = buffers.count;
    auto call = take == Take::kDelete ? bpf_map_lookup_and_delete_batch : bpf_map_lookup_batch;
    LIBBPF_OPTS(bpf_map_batch_opts, options);
    int status = call(shape.fd, is_first ? nullptr : &position, &position, buffers.keys.data(),
                      buffers.values.data(), &count, &options);
    if (status == -ENOSPC) {  // one bucket holds more elements than there is room for
      buffers.count *= 2;
      buffers.Resize(shape);
      continue;
    }
    if (status != 0 && status != -ENOENT) {
      if (is_first && IsUnsupported(status)) return VisitOneByOne(shape, take, visit);
      return Error::FromErrno("read a map", -status);
    }
    if (count > 0) {
      visit({buffers.keys.data(), size_t{count} * shape.key_size},
            {buffers.values.data(), size_t{count} * shape.value_size});
    }
    if (status == -ENOENT) return Done{};
    is_first = false;
  }
}

Result<Done> UpdateAll(const HashShape& shape, std::span<const std::byte> keys,
                       std::span<const std::byte> values) {
  uint32_t total = static_cast<uint32_t>(keys.size() / shape.key_size);
  if (total == 0) return Done{};
  uint32_t count = total;
  LIBBPF_OPTS(bpf_map_batch_opts, options);
  int status = bpf_map_update_batch(shape.fd, keys.data(), values.data(), &count, &options);
  if (status == 0) return Done{};
  if (!IsUnsupported(status)) return Error::FromErrno("write a map", -status);
  for (uint32_t i = 0; i < total; ++i) {
    status = bpf_map_update_elem(shape.fd, keys.data() + size_t{i} * shape.key_size,
                                 values.data() + size_t{i} * shape.value_size, BPF_ANY);
    if (status != 0) return Error::FromErrno("write a map", -status);
  }
  return Done{};
}

}  // namespace memtrace::bpf
