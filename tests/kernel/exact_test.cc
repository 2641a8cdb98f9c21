// Counts that are known beforehand come out exactly.
//
// The workloads (tests/workloads) do a known number of things; every test compares what memtrace
// printed with that number, and none allows for a difference.

#include <string>

#include <gtest/gtest.h>

#include "tests/support/time_factor.h"
#include "tests/support/tracer.h"

namespace memtrace::test {
namespace {

constexpr uint64_t kThreads = 4, kCalls = 250'000, kTotal = kThreads * kCalls;
const std::string kThreadsCommand = "threads 4 250000";
const std::string kGetppid = "tracepoint:syscalls:sys_enter_getppid /comm == \"threads\"/ ";

class Exact : public TracerTest {
 protected:
  // Runs `program` around `command`; a trace that failed or lost something fails the test.
  static Trace RunLossless(const std::string& program, const std::string& command) {
    Trace trace = RunTracer({.program = program, .command = command});
    EXPECT_EQ(trace.failure, "") << trace.Describe();
    EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
    EXPECT_EQ(trace.Lost(""), 0u) << trace.Describe();
    return trace;
  }
};

// ---- Page faults ------------------------------------------------------------------------------

class FreshPages : public Exact, public ::testing::WithParamInterface<uint64_t> {};

TEST_P(FreshPages, FaultOnceEach) {
  std::string pages = std::to_string(GetParam());
  Trace trace = RunLossless(
      "tracepoint:exceptions:page_fault_user /args.address >= 0x100000000000 && "
      "args.address < 0x100000000000 + " +
          pages + " * 4096/ { @ = count(); }",
      "touch " + pages);
  EXPECT_EQ(trace.Sum("@"), GetParam()) << trace.Describe();
}

INSTANTIATE_TEST_SUITE_P(Primes, FreshPages, ::testing::Values(1, 101, 1009, 10007));

TEST_F(Exact, FaultsOfAWriteHaveTheirErrorCode) {
  Trace trace = RunLossless(
      "tracepoint:exceptions:page_fault_user /args.address >= 0x100000000000 && "
      "args.address < 0x110000000000/ { @[args.error_code] = count(); }",
      "touch 1009 0x100000000000 3");
  // X86_PF_WRITE | X86_PF_USER
  EXPECT_EQ(trace.Keyed("@"), (std::map<std::string, uint64_t>{{"6", 3 * 1009}}))
      << trace.Describe();
}

TEST_F(Exact, FaultsOfSeveralThreads) {
  // Every fault is preceded by an interrupt of all CPUs, which takes an emulator its time.
  const uint64_t faults = TimeFactor() > 1 ? 1009 : 20000;
  Trace trace = RunLossless(
      "tracepoint:exceptions:page_fault_user /args.address >= 0x100000000000 && "
      "args.address < 0x110000000000/ { @[args.address] = count(); @all++; }",
      "threads 4 " + std::to_string(faults) + " 0 fault");
  EXPECT_EQ(trace.Keyed("@").size(), 4u) << trace.Describe();
  for (const auto& [address, count] : trace.Keyed("@")) EXPECT_EQ(count, faults) << address;
  EXPECT_EQ(trace.Sum("@all"), 4 * faults);
}

// ---- Concurrent updates -----------------------------------------------------------------------

struct Update {
  const char* name;
  const char* statement;
};

class ConcurrentUpdates : public Exact, public ::testing::WithParamInterface<Update> {};

// The sum of what is printed, whatever the keys.
uint64_t Total(const Trace& trace) {
  uint64_t sum = trace.Sum("@x") + trace.BucketTotal();
  for (const auto& [key, value] : trace.Keyed("@x")) sum += value;
  return sum;
}

TEST_P(ConcurrentUpdates, AddUp) {
  Trace trace = RunLossless(kGetppid + "{ " + GetParam().statement + " }", kThreadsCommand);
  EXPECT_EQ(Total(trace), kTotal) << trace.Describe();
}

INSTANTIATE_TEST_SUITE_P(
    Statements, ConcurrentUpdates,
    ::testing::Values(Update{"Increment", "@x++;"}, Update{"PrefixIncrement", "++@x;"},
                      Update{"AddAssign", "@x += 1;"}, Update{"IncrementByCpu", "@x[cpu]++;"},
                      Update{"IncrementByComm", "@x[comm]++;"},
                      Update{"IncrementByTid", "@x[tid] += 1;"}, Update{"Count", "@x = count();"},
                      Update{"CountByComm", "@x[comm] = count();"},
                      Update{"CountByCpuAndTid", "@x[cpu, tid] = count();"},
                      Update{"Sum", "@x = sum(1);"}, Update{"SumByComm", "@x[comm] = sum(1);"},
                      Update{"Hist", "@x = hist(tid);"},
                      Update{"HistByComm", "@x[comm] = hist(tid);"},
                      Update{"Lhist", "@x = lhist(tid % 10, 0, 10, 1);"}),
    [](const auto& info) { return info.param.name; });

TEST_F(Exact, IncrementsOnARawTracepoint) {
  // 110 is getppid on x86-64.
  Trace trace = RunLossless(
      "rawtracepoint:sys_enter /comm == \"threads\" && args.id == 110/ { @x++; @y = count(); }",
      kThreadsCommand);
  EXPECT_EQ(trace.Sum("@x"), kTotal) << trace.Describe();
  EXPECT_EQ(trace.Sum("@y"), kTotal);
}

TEST_F(Exact, EveryMapOfAClauseCountsTheSame) {
  Trace trace =
      RunLossless(kGetppid + "{ @x++; @cpu[cpu]++; @n = count(); @s = sum(3); @mean = avg(7); }",
                  kThreadsCommand);
  uint64_t by_cpu = 0;
  for (const auto& [cpu, count] : trace.Keyed("@cpu")) by_cpu += count;
  EXPECT_EQ(trace.Sum("@x"), kTotal) << trace.Describe();
  EXPECT_EQ(by_cpu, kTotal);
  EXPECT_EQ(trace.Sum("@n"), kTotal);
  EXPECT_EQ(trace.Sum("@s"), 3 * kTotal);
  EXPECT_EQ(trace.Sum("@mean"), 7u);
}

TEST_F(Exact, MinimaAndMaximaOfConcurrentValues) {
  Trace trace = RunLossless(
      "tracepoint:syscalls:sys_enter_getpgid /comm == \"threads\"/ "
      "{ @low = min(args.pid); @high = max(args.pid); @n = count(); }",
      "threads 4 100000 0 sequence");
  EXPECT_EQ(trace.Values("@low"), std::vector<uint64_t>{0}) << trace.Describe();
  EXPECT_EQ(trace.Values("@high"), std::vector<uint64_t>{3'099'999});
  EXPECT_EQ(trace.Sum("@n"), 400'000u);
}

// Four threads meet at every new key at the same moment: whoever is second must not start over.
class NewKeys : public Exact, public ::testing::WithParamInterface<Update> {};

TEST_P(NewKeys, AreInsertedOnce) {
  Trace trace = RunLossless(
      "config = { max_map_keys = 60000 } "
      "tracepoint:syscalls:sys_enter_getpgid /comm == \"threads\"/ { " +
          std::string(GetParam().statement) + " }",
      "threads 4 50000 0 sequence");
  std::map<std::string, uint64_t> counts = trace.Keyed("@x");
  EXPECT_EQ(counts.size(), 50'000u) << trace.err;
  for (const auto& [key, count] : counts) ASSERT_EQ(count, 4u) << key;
}

INSTANTIATE_TEST_SUITE_P(Statements, NewKeys,
                         ::testing::Values(Update{"Increment", "@x[args.pid % 1000000]++;"},
                                           Update{"AddAssign", "@x[args.pid % 1000000] += 1;"},
                                           Update{"Count", "@x[args.pid % 1000000] = count();"},
                                           Update{"Sum", "@x[args.pid % 1000000] = sum(1);"},
                                           Update{"Max", "@x[args.pid % 1000000] = max(4);"}),
                         [](const auto& info) { return info.param.name; });

// The timer's interrupt comes in the middle of a system call's program and updates the same maps.
TEST_F(Exact, InterruptsUpdateTheSameMaps) {
  Trace trace = RunLossless(
      "tracepoint:syscalls:sys_enter_getppid /comm == \"threads\"/ "
      "{ @all++; @c = count(); @k[1] = sum(1); @h[1] = hist(1); @calls = count(); } "
      "rawtracepoint:hrtimer_expire_entry "
      "{ @all++; @c = count(); @k[1] = sum(1); @h[1] = hist(1); @ticks = count(); } "
      "rawtracepoint:softirq_entry "
      "{ @all++; @c = count(); @k[1] = sum(1); @h[1] = hist(1); @soft = count(); }",
      kThreadsCommand);
  uint64_t expected = trace.Sum("@calls") + trace.Sum("@ticks") + trace.Sum("@soft");
  EXPECT_EQ(trace.Sum("@calls"), kTotal) << trace.Describe();
  EXPECT_GT(trace.Sum("@ticks"), 0u);
  EXPECT_GT(trace.Sum("@soft"), 0u);
  EXPECT_EQ(trace.Sum("@all"), expected) << trace.Describe();
  EXPECT_EQ(trace.Sum("@c"), expected);
  EXPECT_EQ(trace.Keyed("@k")["1"], expected);
  EXPECT_EQ(trace.BucketTotal(), expected);
}

// Long strings are put together in scratch memory; an interrupt's program, or that of another CPU,
// must not write into it.
TEST_F(Exact, StringsDoNotMix) {
  std::string opener = Workload("opener");
  Trace trace = RunLossless(
      "config = { max_strlen = 1024 } "
      "tracepoint:syscalls:sys_enter_openat /comm == \"opener\" && args.flags & 0x80000/ "
      "{ @[str(args.filename), comm] = count(); } "
      "rawtracepoint:hrtimer_expire_entry { @ticks[comm, probe, \"a tick\"] = count(); } "
      "tracepoint:syscalls:sys_exit_openat /comm == \"opener\"/ "
      "{ @exits[\"an exit\", comm, probe] = count(); }",
      opener + " @600 100000 & " + opener + " @900 100000 & wait");
  size_t paths = 0;
  for (const auto& [key, count] : trace.Keyed("@")) {
    if (key.rfind("/abc", 0) != 0) continue;  // the loader's
    paths++;
    size_t length = key.find(", opener");
    EXPECT_TRUE(length == 600 || length == 900) << key;
    EXPECT_EQ(count, 100'000u) << length;
    for (size_t i = 1; i < length; i++) ASSERT_EQ(key[i], 'a' + static_cast<char>((i - 1) % 10));
  }
  EXPECT_EQ(paths, 2u) << trace.Describe();
  EXPECT_EQ(trace.Keyed("@exits").size(), 1u) << trace.Describe();
  for (const auto& [key, count] : trace.Keyed("@ticks")) {
    EXPECT_NE(key.find(", rawtracepoint:hrtimer_expire_entry, a tick"), std::string::npos) << key;
  }
}

// ESRCH is 3: every call fails with it.
TEST_F(Exact, NegativeNumbers) {
  Trace trace = RunLossless(
      "tracepoint:syscalls:sys_exit_getpgid /comm == \"keys\"/ "
      "{ @sum = sum(args.ret); @low = min(args.ret); @high = max(args.ret); "
      "@mean = avg(args.ret); @x += args.ret; @h = hist(args.ret); @by[args.ret] = count(); }",
      "keys 5000");
  for (const char* line :
       {"@sum: -15000", "@low: -3", "@high: -3", "@mean: -3", "@x: -15000", "@by\\[-3\\]: 5000"}) {
    EXPECT_EQ(trace.Lines(line).size(), 1u) << line << "\n" << trace.Describe();
  }
  EXPECT_EQ(trace.BucketTotal(), 5000u) << trace.Describe();
}

TEST_F(Exact, EnterAndExitPairPerThread) {
  Trace trace = RunLossless(
      "tracepoint:syscalls:sys_enter_clock_nanosleep /comm == \"slowcall\"/ { @s[tid] = nsecs; } "
      "tracepoint:syscalls:sys_exit_clock_nanosleep /@s[tid]/ "
      "{ @us = min((nsecs - @s[tid]) / 1000); @n = count(); delete(@s[tid]); }",
      "slowcall 50 2000");
  EXPECT_EQ(trace.Sum("@n"), 50u) << trace.Describe();
  EXPECT_GE(trace.Sum("@us"), 2000u);
  EXPECT_LT(trace.Sum("@us"), 50'000u);
  EXPECT_TRUE(trace.Keyed("@s").empty());
}

TEST_F(Exact, ForksAndExits) {
  Trace trace = RunLossless(
      "tracepoint:sched:sched_process_fork /comm == \"forkexit\"/ { @forks = count(); } "
      "tracepoint:sched:sched_process_exit /comm == \"forkexit\"/ { @exits = count(); }",
      "forkexit 211");
  EXPECT_EQ(trace.Sum("@forks"), 211u) << trace.Describe();
  EXPECT_EQ(trace.Sum("@exits"), 212u);
}

TEST_F(Exact, GrowthOfTheBreak) {
  // Two user stacks: 5 × 4 KiB and 3 × 8 KiB.
  Trace trace = RunLossless(
      "tracepoint:syscalls:sys_exit_brk /comm == \"brkgrow\"/ "
      "{ if (@last[tid] && args.ret > @last[tid]) { @grown = sum(args.ret - @last[tid]); "
      "@calls[args.ret - @last[tid]] = count(); } @last[tid] = args.ret; }",
      "brkgrow");
  std::map<std::string, uint64_t> calls = trace.Keyed("@calls");
  EXPECT_EQ(calls["4096"], 5u) << trace.Describe();
  EXPECT_EQ(calls["8192"], 3u);
}

}  // namespace
}  // namespace memtrace::test
