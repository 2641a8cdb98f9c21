// Per-CPU parts become one value: sums, extremes and their "none", presence of keyless slots.
#include "runtime/events/fold.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/events/bytes.h"
#include "tests/unit/plan_fixture.h"

namespace memtrace::events {
namespace {

using plan::Storage;
using plan::ValueKind;
using test::Pack;

plan::Map MapOf(Storage storage, ValueKind value, uint32_t buckets = 0) {
  plan::Map map;
  map.storage = storage;
  map.value = value;
  map.bucket_count = buckets;
  return map;
}

std::vector<uint64_t> Folded(const plan::Map& map, const std::string& value, uint32_t stride) {
  std::vector<uint64_t> words;
  EXPECT_TRUE(Fold(map, AsBytes(value), stride, words));
  return words;
}

// What min() keeps of `value`, as plan.h says it.
uint64_t InvertedImage(int64_t value) { return ~(static_cast<uint64_t>(value) ^ (1ull << 63)); }
uint64_t Image(int64_t value) { return static_cast<uint64_t>(value) ^ (1ull << 63); }

TEST(Fold, SumsCountsOverCpus) {
  plan::Map map = MapOf(Storage::kPerCpuHash, ValueKind::kCount);
  EXPECT_EQ(Folded(map, Pack(1ull, 20ull, 300ull), 8), std::vector<uint64_t>{321});
}

TEST(Fold, NegativePartsOfASumAdd) {
  plan::Map map = MapOf(Storage::kPerCpuHash, ValueKind::kSum);
  EXPECT_EQ(Folded(map, Pack(int64_t{-5}, int64_t{3}), 8)[0], static_cast<uint64_t>(-2));
}

TEST(Fold, OnlyPresentSlotsOfAKeylessMapCount) {
  plan::Map map = MapOf(Storage::kStatePerCpu, ValueKind::kCount);
  // The second slot was cleared while its value was still there.
  EXPECT_EQ(Folded(map, Pack(1ull, 7ull, 0ull, 100ull, 1ull, 5ull), 16)[0], 12u);
}

TEST(Fold, AKeylessMapWithoutPresenceHasNoValue) {
  plan::Map map = MapOf(Storage::kStatePerCpu, ValueKind::kCount);
  std::vector<uint64_t> words;
  EXPECT_FALSE(Fold(map, AsBytes(Pack(0ull, 0ull, 0ull, 0ull)), 16, words));
}

TEST(Fold, SlotsMayBeFartherApartThanTheirValue) {
  plan::Map map = MapOf(Storage::kStatePerCpu, ValueKind::kCount);
  EXPECT_EQ(Folded(map, Pack(1ull, 7ull, 99ull, 1ull, 5ull, 99ull), 24)[0], 12u);
}

TEST(Fold, MinIgnoresCpusWithoutAValue) {
  plan::Map map = MapOf(Storage::kPerCpuHash, ValueKind::kMin);
  uint64_t word = Folded(map, Pack(0ull, InvertedImage(-4), InvertedImage(9)), 8)[0];
  EXPECT_EQ(static_cast<int64_t>(DecodeMin(word, true)), -4);
  word = Folded(map, Pack(0ull, ~12ull, ~9ull), 8)[0];
  EXPECT_EQ(DecodeMin(word, false), 9u);
  EXPECT_EQ(DecodeMin(0, true), 0u);
}

TEST(Fold, MaxOfNegativesIsNegative) {
  plan::Map map = MapOf(Storage::kPerCpuHash, ValueKind::kMax);
  uint64_t word = Folded(map, Pack(Image(-9), 0ull, Image(-4)), 8)[0];
  EXPECT_EQ(static_cast<int64_t>(DecodeMax(word, true)), -4);
  EXPECT_EQ(DecodeMax(Folded(map, Pack(3ull, 17ull), 8)[0], false), 17u);
  EXPECT_EQ(DecodeMax(0, true), 0u);
}

TEST(Fold, Extremes) {
  for (int64_t value : {INT64_MIN + 1, int64_t{-1}, int64_t{0}, int64_t{1}, INT64_MAX - 1}) {
    EXPECT_EQ(static_cast<int64_t>(DecodeMin(InvertedImage(value), true)), value);
    EXPECT_EQ(static_cast<int64_t>(DecodeMax(Image(value), true)), value);
  }
}

TEST(Fold, StatsOfTwoCpus) {
  plan::Map map = MapOf(Storage::kPerCpuHash, ValueKind::kStats);
  std::string value = Pack(2ull, int64_t{-10}, InvertedImage(-7), Image(-3), 1ull, int64_t{4},
                           InvertedImage(4), Image(4));
  FoldedStats stats = DecodeStats(Folded(map, value, 32), true);
  EXPECT_EQ(stats.count, 3u);
  EXPECT_EQ(static_cast<int64_t>(stats.total), -6);
  EXPECT_EQ(static_cast<int64_t>(stats.average), -2);
  EXPECT_EQ(static_cast<int64_t>(stats.min), -7);
  EXPECT_EQ(static_cast<int64_t>(stats.max), 4);
}

TEST(Fold, TheAverageOfNothingIsZero) { EXPECT_EQ(DecodeStats({0, 0, 0, 0}, false).average, 0u); }

TEST(Fold, AverageOfLargeUnsignedNumbers) {
  EXPECT_EQ(DecodeStats({2, UINT64_MAX - 1, 0, 0}, false).average, UINT64_MAX / 2);
}

TEST(Fold, AddsBucketByBucket) {
  plan::Map map = MapOf(Storage::kPerCpuHash, ValueKind::kHist, 3);
  EXPECT_EQ(Folded(map, Pack(1ull, 0ull, 2ull, 10ull, 20ull, 30ull), 24),
            (std::vector<uint64_t>{11, 20, 32}));
}

TEST(Fold, APlainHashHasOnePart) {
  plan::Map map = MapOf(Storage::kHash, ValueKind::kHist, 2);
  EXPECT_EQ(Folded(map, Pack(4ull, 5ull), 16), (std::vector<uint64_t>{4, 5}));
}

TEST(Fold, ScalarInState) {
  plan::Map map = MapOf(Storage::kState, ValueKind::kScalar);
  EXPECT_TRUE(ScalarBytes(map, AsBytes(Pack(0ull, 5ull))).empty());
  std::string value = Pack(1ull, 5ull);
  EXPECT_EQ(LoadAs<uint64_t>(ScalarBytes(map, AsBytes(value))), 5u);
}

}  // namespace
}  // namespace memtrace::events
