// Buckets of hist() and lhist(): fixed points worked out by hand, and for random values that the
// bucket chosen holds the value.
#include "compiler/plan/histogram.h"

#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace memtrace::plan {
namespace {

bool Holds(BucketRange range, int64_t value) {
  return (range.low == INT64_MIN || range.low <= value) &&
         (range.high == INT64_MAX || value < range.high);
}

void ExpectRange(BucketRange range, int64_t low, int64_t high) {
  EXPECT_EQ(range.low, low);
  EXPECT_EQ(range.high, high);
}

// Values of every magnitude, both signs, and the edges.
std::vector<int64_t> Values() {
  std::vector<int64_t> values = {INT64_MIN, INT64_MIN + 1, -1,       0, 1, 2, 999, 1000,
                                 1001,      INT64_MAX - 1, INT64_MAX};
  for (int shift = 1; shift < 63; ++shift) {
    for (int64_t delta : {-1, 0, 1}) values.push_back((int64_t{1} << shift) + delta);
  }
  std::mt19937_64 random(20240229);
  for (int i = 0; i < 20000; ++i)
    values.push_back(static_cast<int64_t>(random()) >> (random() % 64));
  return values;
}

TEST(Histogram, PowersOfTwo) {
  EXPECT_EQ(BucketCount(0), 65u);
  EXPECT_EQ(BucketIndex(INT64_MIN, 0), 0u);
  EXPECT_EQ(BucketIndex(-1, 0), 0u);
  EXPECT_EQ(BucketIndex(0, 0), 1u);
  EXPECT_EQ(BucketIndex(1, 0), 2u);
  EXPECT_EQ(BucketIndex(2, 0), 3u);
  EXPECT_EQ(BucketIndex(3, 0), 3u);
  EXPECT_EQ(BucketIndex(4, 0), 4u);
  EXPECT_EQ(BucketIndex(1023, 0), 11u);
  EXPECT_EQ(BucketIndex(1024, 0), 12u);
  EXPECT_EQ(BucketIndex(INT64_MAX, 0), 64u);
  ExpectRange(BucketBounds(0, 0), INT64_MIN, 0);
  ExpectRange(BucketBounds(1, 0), 0, 1);
  ExpectRange(BucketBounds(2, 0), 1, 2);
  ExpectRange(BucketBounds(3, 0), 2, 4);
  ExpectRange(BucketBounds(12, 0), 1024, 2048);
  ExpectRange(BucketBounds(64, 0), int64_t{1} << 62, INT64_MAX);
}

TEST(Histogram, TwoBitsCutEveryPowerInFour) {
  EXPECT_EQ(BucketCount(2), 249u);
  EXPECT_EQ(BucketIndex(3, 2), 4u);  // exact below 4
  EXPECT_EQ(BucketIndex(4, 2), 5u);  // 4 5 6 7: width 1
  EXPECT_EQ(BucketIndex(7, 2), 8u);
  EXPECT_EQ(BucketIndex(8, 2), 9u);  // [8, 10) [10, 12) …
  EXPECT_EQ(BucketIndex(9, 2), 9u);
  EXPECT_EQ(BucketIndex(10, 2), 10u);
  ExpectRange(BucketBounds(5, 2), 4, 5);
  ExpectRange(BucketBounds(9, 2), 8, 10);
  ExpectRange(BucketBounds(12, 2), 14, 16);
  ExpectRange(BucketBounds(13, 2), 16, 20);
}

TEST(Histogram, NanosecondsHaveMicrosecondEdges) {
  constexpr Unit kNs = Unit::kNanoseconds;
  EXPECT_EQ(BucketIndex(-1, 0, kNs), 0u);
  EXPECT_EQ(BucketIndex(0, 0, kNs), 1u);
  EXPECT_EQ(BucketIndex(999, 0, kNs), 1u);
  EXPECT_EQ(BucketIndex(1000, 0, kNs), 2u);
  EXPECT_EQ(BucketIndex(1999, 0, kNs), 2u);
  EXPECT_EQ(BucketIndex(2000, 0, kNs), 3u);
  ExpectRange(BucketBounds(1, 0, kNs), 0, 1000);
  ExpectRange(BucketBounds(2, 0, kNs), 1000, 2000);
  ExpectRange(BucketBounds(11, 0, kNs), 512000, 1024000);
}

TEST(Histogram, BucketHoldsItsValue) {
  for (Unit unit : {Unit::kNone, Unit::kNanoseconds, Unit::kBytes}) {
    for (uint32_t bits = 0; bits <= kMaxHistogramBits; ++bits) {
      for (int64_t value : Values()) {
        uint32_t index = BucketIndex(value, bits, unit);
        ASSERT_LT(index, BucketCount(bits));
        ASSERT_TRUE(Holds(BucketBounds(index, bits, unit), value)) << value << " bits " << bits;
      }
    }
  }
}

TEST(Histogram, BucketsLeaveNoGap) {
  for (uint32_t bits = 0; bits <= kMaxHistogramBits; ++bits) {
    for (uint32_t index = 0; index + 1 < BucketCount(bits); ++index) {
      ASSERT_EQ(BucketBounds(index, bits).high, BucketBounds(index + 1, bits).low);
    }
    EXPECT_EQ(BucketIndex(INT64_MAX, bits), BucketCount(bits) - 1);
  }
}

TEST(LinearHistogram, FixedPoints) {
  EXPECT_EQ(LinearBucketCount(0, 100, 10), 12u);
  EXPECT_EQ(LinearBucketIndex(-1, 0, 100, 10), 0u);
  EXPECT_EQ(LinearBucketIndex(0, 0, 100, 10), 1u);
  EXPECT_EQ(LinearBucketIndex(9, 0, 100, 10), 1u);
  EXPECT_EQ(LinearBucketIndex(99, 0, 100, 10), 10u);
  EXPECT_EQ(LinearBucketIndex(100, 0, 100, 10), 11u);
  ExpectRange(LinearBucketBounds(0, 0, 100, 10), INT64_MIN, 0);
  ExpectRange(LinearBucketBounds(1, 0, 100, 10), 0, 10);
  ExpectRange(LinearBucketBounds(11, 0, 100, 10), 100, INT64_MAX);
}

TEST(LinearHistogram, AStepThatDoesNotDivide) {
  EXPECT_EQ(LinearBucketCount(0, 25, 10), 5u);
  ExpectRange(LinearBucketBounds(3, 0, 25, 10), 20, 25);
  ExpectRange(LinearBucketBounds(4, 0, 25, 10), 25, INT64_MAX);
}

TEST(LinearHistogram, BucketHoldsItsValue) {
  struct Shape {
    int64_t min, max, step;
  };
  for (Shape shape :
       {Shape{0, 100, 10}, Shape{-50, 49, 7}, Shape{INT64_MIN, INT64_MAX, INT64_MAX / 4}}) {
    for (int64_t value : Values()) {
      uint32_t index = LinearBucketIndex(value, shape.min, shape.max, shape.step);
      ASSERT_LT(index, LinearBucketCount(shape.min, shape.max, shape.step));
      ASSERT_TRUE(Holds(LinearBucketBounds(index, shape.min, shape.max, shape.step), value))
          << value;
    }
  }
}

}  // namespace
}  // namespace memtrace::plan
