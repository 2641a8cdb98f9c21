// How numbers are found in what memtrace printed: a helper that finds nothing would let tests of
// the kernel lane pass or fail for the wrong reason.

#include "tests/support/tracer.h"

#include <gtest/gtest.h>

namespace memtrace::test {
namespace {

TEST(TraceTest, KeylessValuesInOrder) {
  Trace trace = {.out = "@: 5\n@x: 7\nsome text\n@: 6\n@: -1\n@[1]: 8\n"};
  EXPECT_EQ(trace.Values("@"), (std::vector<uint64_t>{5, 6}));
  EXPECT_EQ(trace.Sum("@"), 11u);
  EXPECT_EQ(trace.Sum("@x"), 7u);
  EXPECT_EQ(trace.Sum("@y"), 0u);
}

TEST(TraceTest, KeyedValuesAreAddedUp) {
  Trace trace = {.out = "@x[a, 1]: 5\n@x[b]: 1\n\n@x[a, 1]: 2\n@y[a, 1]: 9\n"};
  EXPECT_EQ(trace.Keyed("@x"), (std::map<std::string, uint64_t>{{"a, 1", 7}, {"b", 1}}));
}

TEST(TraceTest, BucketsOfHistograms) {
  Trace trace = {.out =
                     "@h:\n(..., 0)              1 |@                 |\n"
                     "[0]                    2 |@@                |\n"
                     "[2, 4)                39 |@@@@@@@@@@@@@@@@@@|\n"
                     "[4KiB, 8KiB)          10 |@@@@              |\n"
                     "[10, ...)              1 |                  |\n"};
  EXPECT_EQ(trace.BucketTotal(), 53u);
}

TEST(TraceTest, NumbersThatAWorkloadReports) {
  Trace trace = {.out = "total 100\nseconds 2.5\n@: 3\n"};
  EXPECT_EQ(trace.Reported("total"), 100u);
  EXPECT_EQ(trace.Reported("seconds"), std::nullopt);
  EXPECT_EQ(trace.Reported("id"), std::nullopt);
}

TEST(TraceTest, LossesByTheirCause) {
  Trace trace = {.err =
                     "tracing 12 keys\nlost: 1284 events (ring full; 16 reads) · 84 keys (@ full "
                     "at 16; config max_map_keys) · 1 key (@y full at 16; …)\n"};
  EXPECT_EQ(trace.Lost("events? \\(ring full"), 1284u);
  EXPECT_EQ(trace.Lost("keys? "), 85u);
  EXPECT_EQ(trace.Lost("strings? cut"), 0u);
  EXPECT_EQ((Trace{.err = "nothing lost\n"}).Lost(""), 0u);
}

TEST(TraceTest, WholeLines) {
  Trace trace = {.out = "1 a\n22 a\nx 3 a\n"};
  EXPECT_EQ(trace.Lines("\\d+ a"), (std::vector<std::string>{"1 a", "22 a"}));
}

TEST(ProgramsLeftTest, AnIdThatNeverWasIsGone) { EXPECT_TRUE(ProgramsLeft({0xffffffff}).empty()); }

}  // namespace
}  // namespace memtrace::test
