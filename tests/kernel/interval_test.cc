// Each event is in exactly one interval: what was printed and cleared adds up.
//
// MT_LONG=1 runs them for 10 s instead of 4.

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/tracer.h"

namespace memtrace::test {
namespace {

class Intervals : public TracerTest {
 protected:
  static uint64_t Seconds() { return getenv("MT_LONG") ? 10 : 4; }

  // 4 threads, 250,000 calls each over the whole time, so that every exchange of the maps is under
  // load.
  static Trace RunUnderLoad(const std::string& program, const std::string& mode) {
    Trace trace =
        RunTracer({.program = program,
                   .command = "threads 4 250000 " + std::to_string(Seconds()) + " " + mode});
    EXPECT_EQ(trace.failure, "") << trace.Describe();
    EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
    EXPECT_EQ(trace.Lost(""), 0u) << trace.Describe();
    return trace;
  }

  // How many intervals printed something other than nothing.
  static size_t CountOfNonZero(const std::vector<uint64_t>& values) {
    size_t count = 0;
    for (uint64_t value : values) count += value > 0;
    return count;
  }
};

constexpr uint64_t kTotal = 1'000'000;

TEST_F(Intervals, KeylessCount) {
  Trace trace = RunUnderLoad(
      "interval:1s { print(@); clear(@); } "
      "tracepoint:syscalls:sys_enter_getppid /comm == \"threads\"/ { @ = count(); }",
      "getppid");
  EXPECT_EQ(trace.Sum("@"), kTotal) << trace.Describe();
  EXPECT_GE(CountOfNonZero(trace.Values("@")), Seconds() - 1);
}

TEST_F(Intervals, KeylessCountOftenCleared) {
  Trace trace = RunUnderLoad(
      "interval:20ms { print(@); clear(@); } "
      "tracepoint:syscalls:sys_enter_getppid /comm == \"threads\"/ { @ = count(); }",
      "getppid");
  EXPECT_EQ(trace.Sum("@"), kTotal) << trace.Describe();
  EXPECT_GE(CountOfNonZero(trace.Values("@")), Seconds() * 20);
}

TEST_F(Intervals, KeylessScalar) {
  Trace trace = RunUnderLoad(
      "interval:1s { print(@x); clear(@x); } "
      "tracepoint:syscalls:sys_enter_getppid /comm == \"threads\"/ { @x++; }",
      "getppid");
  EXPECT_EQ(trace.Sum("@x"), kTotal) << trace.Describe();
}

TEST_F(Intervals, KeyedCount) {
  Trace trace = RunUnderLoad(
      "interval:100ms { print(@); clear(@); } "
      "tracepoint:syscalls:sys_enter_getpgid /comm == \"threads\"/ { @[args.pid] = count(); }",
      "getpgid");
  std::map<std::string, uint64_t> expected = {
      {"0", kTotal / 4}, {"1", kTotal / 4}, {"2", kTotal / 4}, {"3", kTotal / 4}};
  EXPECT_EQ(trace.Keyed("@"), expected) << trace.Describe();
}

TEST_F(Intervals, ManyKeysOftenCleared) {
  Trace trace =
      RunTracer({.program = "interval:50ms { print(@); clear(@); } "
                            "tracepoint:syscalls:sys_enter_getpgid /comm == \"threads\"/ "
                            "{ @[args.pid % 1000] = count(); }",
                 .command = "threads 4 100000 " + std::to_string(Seconds()) + " sequence"});
  EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
  EXPECT_EQ(trace.Lost(""), 0u) << trace.Describe();
  std::map<std::string, uint64_t> counts = trace.Keyed("@");
  EXPECT_EQ(counts.size(), 1000u);
  for (const auto& [key, count] : counts) ASSERT_EQ(count, 400u) << key;
}

TEST_F(Intervals, IncrementsOfKeys) {
  Trace trace = RunUnderLoad(
      "interval:50ms { print(@x); clear(@x); } "
      "tracepoint:syscalls:sys_enter_getpgid /comm == \"threads\"/ { @x[args.pid, comm]++; }",
      "getpgid");
  EXPECT_EQ(trace.Keyed("@x").size(), 4u) << trace.Describe();
  for (const auto& [key, count] : trace.Keyed("@x")) EXPECT_EQ(count, kTotal / 4) << key;
}

TEST_F(Intervals, ZeroKeepsTheKeys) {
  Trace trace = RunUnderLoad(
      "interval:1s { print(@); zero(@); } "
      "tracepoint:syscalls:sys_enter_getpgid /comm == \"threads\"/ { @[args.pid] = sum(1); }",
      "getpgid");
  std::map<std::string, uint64_t> expected = {
      {"0", kTotal / 4}, {"1", kTotal / 4}, {"2", kTotal / 4}, {"3", kTotal / 4}};
  EXPECT_EQ(trace.Keyed("@"), expected) << trace.Describe();
}

TEST_F(Intervals, Histogram) {
  Trace trace = RunUnderLoad(
      "interval:1s { print(@); clear(@); } "
      "tracepoint:syscalls:sys_enter_getpgid /comm == \"threads\"/ { @ = hist(args.pid); }",
      "getpgid");
  EXPECT_EQ(trace.BucketTotal(), kTotal) << trace.Describe();
}

// Maps that are printed in one block are exchanged together: their intervals begin and end at the
// same moment.
TEST_F(Intervals, MapsOfOneBlockAgree) {
  Trace trace = RunUnderLoad(
      "interval:200ms { print(@n); print(@s); clear(@n); clear(@s); } "
      "tracepoint:syscalls:sys_enter_getppid /comm == \"threads\"/ { @n = count(); @s = sum(2); }",
      "getppid");
  std::vector<uint64_t> counts = trace.Values("@n");
  std::vector<uint64_t> sums = trace.Values("@s");
  EXPECT_EQ(trace.Sum("@n"), kTotal) << trace.Describe();
  ASSERT_EQ(counts.size(), sums.size()) << trace.Describe();
  // An event that runs at the moment of the exchange may fall on two sides with its two maps.
  for (size_t i = 0; i < counts.size(); i++) {
    EXPECT_LE(std::max(2 * counts[i], sums[i]) - std::min(2 * counts[i], sums[i]), 8u) << i;
  }
}

TEST_F(Intervals, PageFaults) {
  std::string seconds = std::to_string(Seconds());
  Trace trace = RunTracer(
      {.program = "interval:1s { print(@); clear(@); } "
                  "tracepoint:exceptions:page_fault_user /args.address >= 0x100000000000 && "
                  "args.address < 0x110000000000/ { @ = count(); }",
       .command = "faultrate 200003 " + seconds});
  EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
  EXPECT_EQ(trace.Sum("@"), 200'003u) << trace.Describe();
  EXPECT_GE(CountOfNonZero(trace.Values("@")), Seconds() - 1);
}

// An interval that prints nothing still comes at its time.
TEST_F(Intervals, ComeAtTheirTime) {
  Trace trace = RunTracer(
      {.program = "interval:100ms { @n++; } interval:1s { @s++; }", .command = "ready 3"});
  EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
  EXPECT_GE(trace.Sum("@n"), 28u) << trace.Describe();
  EXPECT_LE(trace.Sum("@n"), 31u);
  EXPECT_GE(trace.Sum("@s"), 2u);
  EXPECT_LE(trace.Sum("@s"), 3u);
}

}  // namespace
}  // namespace memtrace::test
