// Buckets of hist() and lhist(): which one a value falls into, and which values one holds.
//
// The one definition that the code generator (which emits BucketIndex as IR), the tests that run
// generated code and the reader share. Pure constexpr functions on int64: an unsigned value above
// INT64_MAX has to be clamped to INT64_MAX before it comes here.
//
// hist(n, bits): bucket 0 holds what is negative; the next 2^bits buckets hold one value each, 0 …
// 2^bits - 1; from there on every power of two is cut into 2^bits equal parts. With bits = 0 that
// is (…, 0) [0] [1] [2, 4) [4, 8) ….
//
// A value in nanoseconds is counted in whole microseconds, so that edges are 1 us × 2^k and say so
// truly: [0, 1us) [1us, 2us) [2us, 4us) …. The price is that nothing below 1 us is told apart.
#pragma once

#include <bit>
#include <cstdint>

#include "compiler/plan/plan.h"

namespace memtrace::plan {

inline constexpr uint32_t kMaxHistogramBits = 5;

// [low, high); low is INT64_MIN where there is no lower edge, high is INT64_MAX where there is no
// upper one (INT64_MAX itself then belongs to the bucket).
struct BucketRange {
  int64_t low;
  int64_t high;
};

// What values of `unit` are divided by before the bucket is chosen.
constexpr int64_t BucketScale(Unit unit) { return unit == Unit::kNanoseconds ? 1000 : 1; }

// Buckets of hist(n, bits), the same for every unit.
constexpr uint32_t BucketCount(uint32_t bits) { return ((64 - bits) << bits) + 1; }

constexpr uint32_t BucketIndex(int64_t value, uint32_t bits, Unit unit = Unit::kNone) {
  if (value < 0) return 0;
  uint64_t scaled = static_cast<uint64_t>(value) / BucketScale(unit);
  uint64_t parts = uint64_t{1} << bits;
  if (scaled < parts) return static_cast<uint32_t>(scaled) + 1;
  // `shift` leaves the leading bit and the `bits` below it.
  uint32_t shift = static_cast<uint32_t>(std::bit_width(scaled)) - 1 - bits;
  return static_cast<uint32_t>(((shift + 1) << bits) + ((scaled >> shift) & (parts - 1)) + 1);
}

constexpr BucketRange BucketBounds(uint32_t index, uint32_t bits, Unit unit = Unit::kNone) {
  if (index == 0) return {INT64_MIN, 0};
  uint64_t position = index - 1;
  uint64_t parts = uint64_t{1} << bits;
  uint64_t low = position, width = 1;
  if (position >= parts) {
    uint64_t shift = (position >> bits) - 1;
    low = (parts + (position & (parts - 1))) << shift;
    width = uint64_t{1} << shift;
  }
  auto edge = [unit](uint64_t scaled) {
    uint64_t limit = static_cast<uint64_t>(INT64_MAX) / BucketScale(unit);
    return scaled > limit ? INT64_MAX : static_cast<int64_t>(scaled) * BucketScale(unit);
  };
  return {edge(low), edge(low + width)};
}

// lhist(n, min, max, step), with min < max and step > 0: bucket 0 holds what is below `min`, the
// last one `max` and above, the others `step` values each (the last of these fewer when `step` does
// not divide the distance).
constexpr uint32_t LinearBucketCount(int64_t min, int64_t max, int64_t step) {
  uint64_t distance = static_cast<uint64_t>(max) - static_cast<uint64_t>(min);
  return static_cast<uint32_t>((distance - 1) / static_cast<uint64_t>(step) + 1) + 2;
}

constexpr uint32_t LinearBucketIndex(int64_t value, int64_t min, int64_t max, int64_t step) {
  if (value < min) return 0;
  if (value >= max) return LinearBucketCount(min, max, step) - 1;
  uint64_t distance = static_cast<uint64_t>(value) - static_cast<uint64_t>(min);
  return static_cast<uint32_t>(distance / static_cast<uint64_t>(step)) + 1;
}

constexpr BucketRange LinearBucketBounds(uint32_t index, int64_t min, int64_t max, int64_t step) {
  uint32_t last = LinearBucketCount(min, max, step) - 1;
  if (index == 0) return {INT64_MIN, min};
  if (index >= last) return {max, INT64_MAX};
  // In unsigned arithmetic: the distance may be wider than an int64.
  uint64_t low = static_cast<uint64_t>(min) + uint64_t{index - 1} * static_cast<uint64_t>(step);
  int64_t high = index + 1 == last ? max : static_cast<int64_t>(low + static_cast<uint64_t>(step));
  return {static_cast<int64_t>(low), high};
}

}  // namespace memtrace::plan
