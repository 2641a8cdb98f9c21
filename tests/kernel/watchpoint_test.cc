// Watchpoints see every access, and counters that the machine lacks are named.

#include <unistd.h>

#include <csignal>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/subprocess.h"
#include "tests/support/tracer.h"

namespace memtrace::test {
namespace {

class Watchpoints : public PerfDeviceTest {
 protected:
  Watchpoints() : PerfDeviceTest("breakpoint", "this kernel has no hardware breakpoints") {}
};

constexpr uint64_t kStores = 1009;  // to each of two words; the first is read as often

TEST_F(Watchpoints, SeeEveryStore) {
  Trace trace = RunTracer(
      {.program = "watchpoint:0x100000000000:8:w { @ = count(); }", .command = "stores 1009"});
  EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
  EXPECT_EQ(trace.Sum("@"), kStores) << trace.Describe();
  EXPECT_EQ(trace.err.find("lost:"), std::string::npos) << trace.Describe();
}

TEST_F(Watchpoints, SeeEveryRead) {
  Trace trace = RunTracer({.program = "watchpoint:0x100000000000:8:rw { @[comm] = count(); } "
                                      "watchpoint:0x100000000008:8:w { @second = count(); }",
                           .command = "stores 1009"});
  EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
  EXPECT_EQ(trace.Keyed("@")["stores"], 2 * kStores) << trace.Describe();
  EXPECT_EQ(trace.Sum("@second"), kStores) << trace.Describe();
}

// Two processes store to the address while we look; one is asked for.
TEST_F(Watchpoints, SeeOneProcessAlone) {
  Tracer storer = Tracer::Start({.program = "tracepoint:oom:mark_victim { @unused = count(); }",
                                 .command = "stores 1009 4000"});
  ASSERT_TRUE(storer.WaitFor("ready"));
  std::string pid = std::to_string(storer.CommandPid());
  ASSERT_NE(pid, "0");
  Tracer tracer = Tracer::Start({.program = "watchpoint:0x100000000000:8:w { @[pid] = count(); } "
                                            "interval:100ms { printf(\"on\\n\"); }",
                                 .options = {"-p", pid}});
  ASSERT_TRUE(tracer.WaitFor("on\n"));
  Finished other = test::Run({.words = {Workload("stores"), "1009"}});
  EXPECT_EQ(other.exit_status, 0) << other.err;
  Trace trace = tracer.Finish();  // it ends with the process
  storer.Finish();
  EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
  EXPECT_EQ(trace.Keyed("@").size(), 1u) << trace.Describe();
  EXPECT_EQ(trace.Keyed("@")[pid], kStores) << trace.Describe();
}

TEST_F(Watchpoints, NeedAProcess) {
  Trace trace = RunTracer({.program = "watchpoint:0x100000000000:8:w { @ = count(); }"});
  EXPECT_EQ(trace.exit_status, 1);
  EXPECT_NE(trace.err.find("is an address of a process"), std::string::npos) << trace.Describe();
}

class Counters : public TracerTest {};

TEST_F(Counters, ThatAreMissingAreNamed) {
  if (access("/sys/bus/event_source/devices/cpu", F_OK) == 0) {
    GTEST_SKIP() << "this machine has hardware counters";
  }
  Trace trace = RunTracer({.program = "hardware:cycles { @ = count(); }"});
  EXPECT_EQ(trace.exit_status, 1);
  EXPECT_NE(trace.err.find("hardware:cycles can't be counted: this machine has no such counter"),
            std::string::npos)
      << trace.Describe();
}

TEST_F(Counters, CountWhatRuns) {
  if (access("/sys/bus/event_source/devices/cpu", F_OK) != 0) {
    GTEST_SKIP() << "this machine has no hardware counters";
  }
  Trace trace = RunTracer({.program = "hardware:instructions:1000000 { @ = count(); }",
                           .command = "threads 1 1000000 0 getpgid"});
  EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
  EXPECT_GT(trace.Sum("@"), 0u) << trace.Describe();
}

}  // namespace
}  // namespace memtrace::test
