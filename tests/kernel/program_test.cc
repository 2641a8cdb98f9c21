// Programs mean on a live kernel what they say: clauses, wildcards, values and sizes.

#include <string>

#include <gtest/gtest.h>

#include "tests/support/tracer.h"

namespace memtrace::test {
namespace {

class Program : public TracerTest {
 protected:
  static Trace RunLossless(const std::string& program, const std::string& command) {
    Trace trace = RunTracer({.program = program, .command = command});
    EXPECT_EQ(trace.failure, "") << trace.Describe();
    EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
    EXPECT_EQ(trace.Lost(""), 0u) << trace.Describe();
    return trace;
  }
};

TEST_F(Program, AllClausesOfOneEventRun) {
  Trace trace = RunLossless(
      "tracepoint:syscalls:sys_enter_getppid /comm == \"threads\"/ { @a = count(); } "
      "tracepoint:syscalls:sys_enter_getppid /comm == \"threads\"/ { @b = sum(2); } "
      "tracepoint:syscalls:sys_enter_getppid /comm == \"threads\" && tid % 1 == 0/ { @c++; }",
      "threads 2 5000");
  EXPECT_EQ(trace.Sum("@a"), 10'000u) << trace.Describe();
  EXPECT_EQ(trace.Sum("@b"), 20'000u) << trace.Describe();
  EXPECT_EQ(trace.Sum("@c"), 10'000u) << trace.Describe();
}

TEST_F(Program, WildcardAndExactNameOfOneEvent) {
  Trace trace = RunLossless(
      "tracepoint:syscalls:sys_enter_getppi* /comm == \"threads\"/ { @wild = count(); } "
      "tracepoint:syscalls:sys_enter_getppid /comm == \"threads\"/ { @exact = count(); } "
      "tracepoint:syscalls:sys_enter_* /comm == \"threads\"/ { @all[probe] = count(); }",
      "threads 2 5000");
  EXPECT_EQ(trace.Sum("@wild"), 10'000u) << trace.Describe();
  EXPECT_EQ(trace.Sum("@exact"), 10'000u) << trace.Describe();
  std::map<std::string, uint64_t> all = trace.Keyed("@all");
  EXPECT_EQ(all["tracepoint:syscalls:sys_enter_getppid"], 10'000u) << trace.Describe();
}

// A 32-bit call has numbers of its own: 110 is getppid only for 64-bit ones.
TEST_F(Program, SystemCallsOf32BitsAreToldApart) {
  Trace trace = RunLossless(
      "tracepoint:syscalls:sys_enter_getppid /comm == \"compat\"/ { @enter = count(); } "
      "tracepoint:syscalls:sys_exit_getppid /comm == \"compat\"/ { @exit = count(); } "
      "tracepoint:syscalls:sys_enter_getp* /comm == \"compat\"/ { @wild[probe] = count(); }",
      "compat 1000");
  if (!trace.Reported("total")) GTEST_SKIP() << "no 32-bit system calls here";
  EXPECT_EQ(trace.Sum("@enter"), 1000u) << trace.Describe();
  EXPECT_EQ(trace.Sum("@exit"), 1000u) << trace.Describe();
  std::map<std::string, uint64_t> expected = {{"tracepoint:syscalls:sys_enter_getppid", 1000}};
  EXPECT_EQ(trace.Keyed("@wild"), expected) << trace.Describe();
}

TEST_F(Program, OneClauseWithAListOfProbes) {
  Trace trace = RunLossless(
      "tracepoint:syscalls:sys_enter_getppid, tracepoint:syscalls:sys_exit_getppid "
      "/comm == \"threads\"/ { @[probe] = count(); }",
      "threads 1 5000");
  std::map<std::string, uint64_t> expected = {{"tracepoint:syscalls:sys_enter_getppid", 5000},
                                              {"tracepoint:syscalls:sys_exit_getppid", 5000}};
  EXPECT_EQ(trace.Keyed("@"), expected) << trace.Describe();
}

// The record holds 0x00000000ffffffff in an unsigned long.
TEST_F(Program, FileDescriptorOfAnAnonymousMappingIsMinusOne) {
  Trace trace = RunLossless(
      "tracepoint:syscalls:sys_enter_mmap /comm == \"anonmap\" && args.len == 37 * 4096/ "
      "{ @all = count(); if (args.fd == -1) { @anonymous = count(); } @[args.fd] = count(); }",
      "anonmap 101");
  EXPECT_EQ(trace.Sum("@all"), 101u) << trace.Describe();
  EXPECT_EQ(trace.Sum("@anonymous"), 101u) << trace.Describe();
  EXPECT_EQ(trace.Keyed("@"), (std::map<std::string, uint64_t>{{"-1", 101}})) << trace.Describe();
}

class LongStrings : public Program, public ::testing::WithParamInterface<int> {};

TEST_P(LongStrings, ArriveWhole) {
  std::string length = std::to_string(GetParam());
  std::string path = "/";
  while (path.size() < static_cast<size_t>(GetParam())) {
    path += static_cast<char>('a' + (path.size() - 1) % 10);
  }
  Trace trace =
      RunLossless("config = { max_strlen = " + std::to_string(GetParam() + 1) +
                      " } "
                      "tracepoint:syscalls:sys_enter_openat /comm == \"opener\"/ "
                      "{ printf(\"%s\\n\", str(args.filename)); @[str(args.filename)] = count(); "
                      "@length[strlen(str(args.filename))] = count(); }",
                  "opener @" + length + " 7");
  EXPECT_EQ(trace.Lines("/abcdefghij.*").size(), 7u) << trace.Describe();
  EXPECT_EQ(trace.Lines("/abcdefghij.*").front(), path);
  EXPECT_EQ(trace.Keyed("@")[path], 7u) << trace.Describe();
  EXPECT_EQ(trace.Keyed("@length")[length], 7u) << trace.Describe();
}

INSTANTIATE_TEST_SUITE_P(Lengths, LongStrings, ::testing::Values(63, 511, 512, 1000, 4000));

// Keys and buckets do not compete for room.
TEST_F(Program, HistogramOf4096Keys) {
  Trace trace = RunLossless(
      "tracepoint:syscalls:sys_enter_getpgid /comm == \"keys\"/ "
      "{ @[args.pid] = hist((args.pid & 15) + nsecs % 4096); }",
      "keys 4096 5");
  EXPECT_EQ(trace.Lines("@\\[\\d+\\]:.*").size(), 4096u) << trace.err;
  EXPECT_EQ(trace.BucketTotal(), 5u * 4096u) << trace.err;
}

TEST_F(Program, CountOf4096Keys) {
  Trace trace = RunLossless(
      "tracepoint:syscalls:sys_enter_getpgid /comm == \"keys\"/ { @[args.pid] = count(); }",
      "keys 4096 5");
  std::map<std::string, uint64_t> counts = trace.Keyed("@");
  EXPECT_EQ(counts.size(), 4096u) << trace.Describe();
  for (const auto& [key, count] : counts) ASSERT_EQ(count, 5u) << key;
}

TEST_F(Program, KernelStacksAddUp) {
  Trace trace = RunLossless(
      "tracepoint:exceptions:page_fault_user /args.address >= 0x100000000000 && "
      "args.address < 0x110000000000/ { @n = count(); @[kstack] = count(); }",
      "touch 1009");
  EXPECT_EQ(trace.Sum("@n"), 1009u) << trace.Describe();
  uint64_t sum = 0;
  for (const std::string& line : trace.Lines("\\]: \\d+")) sum += std::stoull(line.substr(3));
  for (const auto& [stack, count] : trace.Keyed("@")) sum += count;
  EXPECT_EQ(sum, 1009u) << trace.Describe();
}

TEST_F(Program, UserStacksNameTheirFunctions) {
  Trace trace = RunLossless(
      "tracepoint:syscalls:sys_enter_getppid /comm == \"bigstack\"/ { @[ustack] = count(); }",
      "bigstack 3 8");
  EXPECT_EQ(trace.Lines("\\]: 1").size(), 8u) << trace.Describe();
  // Each of the 8 has zero, then three more of zero or one, then main.
  EXPECT_EQ(trace.Lines("\\s+(zero|one)\\+\\d+.*").size(), 8u * 4u) << trace.Describe();
  EXPECT_EQ(trace.Lines("\\s+main\\+\\d+.*").size(), 8u) << trace.Describe();
}

}  // namespace
}  // namespace memtrace::test
