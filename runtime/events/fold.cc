#include "runtime/events/fold.h"

#include <algorithm>

#include "bpf-headers/memtrace/record.h"
#include "runtime/events/bytes.h"

namespace memtrace::events {
namespace {

constexpr uint32_t kPresenceSize = 8;

bool HasPresence(const plan::Map& map) {
  return map.storage == plan::Storage::kState || map.storage == plan::Storage::kStatePerCpu;
}

bool IsPerCpu(const plan::Map& map) {
  return map.storage == plan::Storage::kStatePerCpu || map.storage == plan::Storage::kPerCpuHash;
}

bool KeepsLargest(plan::ValueKind kind, uint32_t word) {
  switch (kind) {
    case plan::ValueKind::kMin:
    case plan::ValueKind::kMax:
      return true;
    case plan::ValueKind::kAvg:
    case plan::ValueKind::kStats:
      return word >= 2;  // inverted_min and max
    case plan::ValueKind::kScalar:
    case plan::ValueKind::kCount:
    case plan::ValueKind::kSum:
    case plan::ValueKind::kHist:
    case plan::ValueKind::kLinearHist:
      return false;
  }
  MT_UNREACHABLE("a map's value is of a known kind");
}

}  // namespace

uint32_t WordCount(const plan::Map& map) {
  switch (map.value) {
    case plan::ValueKind::kScalar:
      return 0;
    case plan::ValueKind::kCount:
    case plan::ValueKind::kSum:
    case plan::ValueKind::kMin:
    case plan::ValueKind::kMax:
      return 1;
    case plan::ValueKind::kAvg:
    case plan::ValueKind::kStats:
      return sizeof(mt_stats) / sizeof(uint64_t);
    case plan::ValueKind::kHist:
    case plan::ValueKind::kLinearHist:
      return map.bucket_count;
  }
  MT_UNREACHABLE("a map's value is of a known kind");
}

Bytes ScalarBytes(const plan::Map& map, Bytes value) {
  if (!HasPresence(map)) return value;
  return LoadAs<uint64_t>(value) == 0 ? Bytes() : value.subspan(kPresenceSize);
}

bool Fold(const plan::Map& map, Bytes value, uint32_t stride, std::vector<uint64_t>& words) {
  uint32_t count = WordCount(map);
  words.assign(count, 0);
  uint32_t skipped = HasPresence(map) ? kPresenceSize : 0;
  size_t parts = 1;
  if (IsPerCpu(map)) {
    MT_CHECK(stride > 0 && value.size() >= stride, "a per-CPU value has a part for every CPU");
    parts = value.size() / stride;
  }
  bool present = skipped == 0;
  for (size_t part = 0; part < parts; ++part) {
    Bytes bytes = From(value, part * stride);
    if (skipped != 0) {
      if (LoadAs<uint64_t>(bytes) == 0) continue;
      present = true;
      bytes = bytes.subspan(skipped);
    }
    for (uint32_t i = 0; i < count; ++i) {
      uint64_t word = LoadAs<uint64_t>(bytes, i * sizeof(uint64_t));
      words[i] = KeepsLargest(map.value, i) ? std::max(words[i], word) : words[i] + word;
    }
  }
  return present;
}

uint64_t DecodeMin(uint64_t word, bool is_signed) {
  return word == 0 ? 0 : OrderImage(~word, is_signed);
}

uint64_t DecodeMax(uint64_t word, bool is_signed) {
  return word == 0 ? 0 : OrderImage(word, is_signed);
}

FoldedStats DecodeStats(const std::vector<uint64_t>& words, bool is_signed) {
  uint64_t count = words[0], total = words[1], average = 0;
  // Divided without the sign: a count above INT64_MAX and a total of INT64_MIN are no special
  // cases.
  if (count != 0) {
    bool negative = is_signed && static_cast<int64_t>(total) < 0;
    average = (negative ? -total : total) / count;
    if (negative) average = -average;
  }
  return {.count = count,
          .total = total,
          .average = average,
          .min = DecodeMin(words[2], is_signed),
          .max = DecodeMax(words[3], is_signed)};
}

}  // namespace memtrace::events
