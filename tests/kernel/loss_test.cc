// Nothing is lost in silence: what did not arrive is reported, with the right number.

#include <string>

#include <gtest/gtest.h>

#include "compiler/kernel/btf.h"
#include "compiler/types/type.h"
#include "tests/support/tracer.h"

namespace memtrace::test {
namespace {

class Loss : public TracerTest {};

// Linux 6.7 began to count what classic tracepoints miss, in one series with the member that tells
// what kprobes missed: that one can be looked for.
bool KernelCountsMisses() {
  types::TypeTable types;
  auto btf = kernel::Btf::Open("/sys/kernel/btf/vmlinux", types);
  if (!btf.ok()) return false;
  types::Type type = btf.value().TypeNamed("struct bpf_link_info");
  for (const char* name : {"perf_event", "kprobe", "missed"}) {
    if (!type.IsStruct()) return false;
    btf.value().Complete(type);
    types::FoundMember found = types::FindMember(type, name);
    if (!found.found) return false;
    type = found.member.type;
  }
  return true;
}

TEST_F(Loss, KeysThatDidNotFit) {
  Trace trace = RunTracer({.program = "config = { max_map_keys = 16 } "
                                      "tracepoint:syscalls:sys_enter_getpgid /comm == \"keys\"/ "
                                      "{ @[args.pid] = count(); }",
                           .command = "keys 100"});
  EXPECT_EQ(trace.failure, "") << trace.Describe();
  EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
  EXPECT_EQ(trace.Keyed("@").size(), 16u) << trace.Describe();
  EXPECT_EQ(trace.Lost("keys? "), 84u) << trace.Describe();
}

TEST_F(Loss, KeysThatFitAreNotReported) {
  Trace trace = RunTracer({.program = "config = { max_map_keys = 100 } "
                                      "tracepoint:syscalls:sys_enter_getpgid /comm == \"keys\"/ "
                                      "{ @[args.pid] = count(); }",
                           .command = "keys 100 3"});
  EXPECT_EQ(trace.Keyed("@").size(), 100u) << trace.Describe();
  EXPECT_EQ(trace.err.find("lost:"), std::string::npos) << trace.Describe();
}

TEST_F(Loss, StrictTurnsItIntoAnExitStatus) {
  Trace trace = RunTracer({.program = "config = { max_map_keys = 16 } "
                                      "tracepoint:syscalls:sys_enter_getpgid /comm == \"keys\"/ "
                                      "{ @[args.pid] = count(); }",
                           .command = "keys 100",
                           .options = {"--strict"}});
  EXPECT_EQ(trace.exit_status, 3) << trace.Describe();
}

TEST_F(Loss, ExitWinsOverStrict) {
  Trace trace =
      RunTracer({.program = "config = { max_map_keys = 16 } "
                            "tracepoint:syscalls:sys_enter_getpgid /comm == \"keys\"/ "
                            "{ @[args.pid] = count(); } "
                            "tracepoint:sched:sched_process_exit /comm == \"keys\"/ { exit(7); }",
                 .command = "keys 100",
                 .options = {"--strict"}});
  EXPECT_EQ(trace.exit_status, 7) << trace.Describe();
}

// The ring is full before exit() runs, and nobody reads while begin does.
TEST_F(Loss, ExitIsHeardWhenTheRingIsFull) {
  Trace trace =
      RunTracer({.program = "config = { ring_size = 4096 } "
                            "begin { for ($i : 0..1000) { printf(\"%d\\n\", $i); } exit(5); } "
                            "interval:10s { printf(\"late\\n\"); }"});
  EXPECT_EQ(trace.exit_status, 5) << trace.Describe();
  EXPECT_GT(trace.Lost("events? "), 0u) << trace.Describe();
  EXPECT_EQ(trace.out.find("late"), std::string::npos) << trace.Describe();
}

// A ring of 64 KiB against two threads that print as fast as they can.
TEST_F(Loss, DeliveredAndLostRecordsAreAllThatWereOffered) {
  constexpr uint64_t kOffered = 400'000;
  Trace trace = RunTracer({.program = "config = { ring_size = 65536 } "
                                      "tracepoint:syscalls:sys_enter_getpgid /comm == \"threads\"/ "
                                      "{ printf(\"%d %s %s %s\\n\", args.pid, comm, comm, comm); }",
                           .command = "threads 2 200000 0 sequence"});
  EXPECT_EQ(trace.failure, "") << trace.Describe();
  uint64_t delivered = trace.Lines("\\d+ threads threads threads").size();
  uint64_t lost = trace.Lost("events? \\(ring full");
  EXPECT_EQ(delivered + lost, kOffered)
      << "delivered " << delivered << ", reported lost " << lost << "\n"
      << trace.Describe();
  if (lost == 0) GTEST_SKIP() << "the reader kept up with the burst: nothing was lost";
}

// The kernel runs no classic tracepoint program on a CPU that is inside a map system call. The raw
// tracepoint of the same event sees all of them: what the classic one missed is the difference.
TEST_F(Loss, MissedEventsOfAClassicTracepoint) {
  Trace trace = RunTracer(
      {.program =
           "rawtracepoint:hrtimer_expire_entry /comm == \"mapstorm\"/ { @raw = count(); } "
           "tracepoint:timer:hrtimer_expire_entry /comm == \"mapstorm\"/ "
           "{ @classic = count(); } "
           "rawtracepoint:hrtimer_expire_entry /comm != \"mapstorm\"/ { @others = count(); }",
       .command = "mapstorm 3",
       .options = {"-v", "--config", "attach=classic"}});
  EXPECT_EQ(trace.failure, "") << trace.Describe();
  ASSERT_EQ(trace.exit_status, 0) << trace.Describe();
  uint64_t raw = trace.Sum("@raw");
  uint64_t classic = trace.Sum("@classic");
  ASSERT_GT(raw, 100u) << trace.Describe();
  ASSERT_GT(raw, classic) << "nothing was missed\n" << trace.Describe();
  if (trace.err.find("not countable") != std::string::npos || !KernelCountsMisses()) {
    GTEST_SKIP() << "this kernel does not count what classic tracepoints miss";
  }
  // The kernel counts misses before any predicate, so those in other tasks that were in a map
  // system call come on top; there are at most as many as these tasks had events.
  uint64_t lost = trace.Lost("events? \\(tracepoint:");
  EXPECT_GE(lost, raw - classic) << trace.Describe();
  EXPECT_LE(lost, raw - classic + trace.Sum("@others")) << trace.Describe();
}

// Reads that fail give an empty string, and are counted.
TEST_F(Loss, FailedReads) {
  Trace trace = RunTracer({.program = "tracepoint:syscalls:sys_enter_getpgid /comm == \"keys\"/ "
                                      "{ printf(\"<%s>\\n\", str(uptr(8))); }",
                           .command = "keys 21"});
  EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
  EXPECT_EQ(trace.Lines("<>").size(), 21u) << trace.Describe();
  EXPECT_EQ(trace.Lost("reads? failed"), 21u) << trace.Describe();
}

// A string that is longer than its place is cut, and that is counted.
TEST_F(Loss, TruncatedStrings) {
  Trace trace = RunTracer({.program = "config = { max_strlen = 64 } "
                                      "tracepoint:syscalls:sys_enter_openat /comm == \"opener\"/ "
                                      "{ printf(\"%s\\n\", str(args.filename)); }",
                           .command = "opener @500 13"});
  EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
  EXPECT_EQ(trace.Lines("/abcdefghij[a-j]{52}").size(), 13u) << trace.Describe();
  EXPECT_EQ(trace.Lost("strings? cut"), 13u) << trace.Describe();
}

}  // namespace
}  // namespace memtrace::test
