// -p, --tree, -c and --cgroup let exactly those events through that they should.
//
// Every test runs the same workload inside and outside of the scope at once, and counts faults at
// addresses that both have; only the former may count, and none of them may be missed.

#include <fstream>
#include <map>
#include <string>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/outsider.h"
#include "tests/support/tracer.h"

namespace memtrace::test {
namespace {

const std::string kFaults =
    "tracepoint:exceptions:page_fault_user /args.address in 0x100000000000 .. 0x110000000000/ "
    "{ @ = count(); }";

class Scope : public TracerTest {
 protected:
  static Trace RunLossless(const TraceOptions& options) {
    Trace trace = RunTracer(options);
    EXPECT_EQ(trace.failure, "") << trace.Describe();
    EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
    EXPECT_EQ(trace.Lost(""), 0u) << trace.Describe();
    return trace;
  }
};

// ---- Processes --------------------------------------------------------------------------------

TEST_F(Scope, CommandCountsAloneBesideTheSameProgram) {
  Outsider other({"touch", "1009", "0x100000000000", "1000000"});
  Trace trace = RunLossless({.program = kFaults, .command = "touch 1009 0x100000000000 30"});
  EXPECT_EQ(trace.Sum("@"), 1009u * 30) << trace.Describe();
}

TEST_F(Scope, CommandsThreadsCount) {
  Outsider other({"threads", "2", "100000000", "0", "fault"});
  Trace trace = RunLossless({.program = kFaults, .command = "threads 4 20000 0 fault"});
  EXPECT_EQ(trace.Sum("@"), 80'000u) << trace.Describe();
}

TEST_F(Scope, CommandsChildrenAreFollowedThroughForkExecAndOrphans) {
  Outsider other({"touch", "1009", "0x100000000000", "1000000"});
  Trace trace = RunLossless({.program = kFaults, .command = "family 200 101"});
  EXPECT_EQ(trace.Reported("pages"), 200u * 101) << trace.Describe();
  EXPECT_EQ(trace.Sum("@"), 200u * 101) << trace.Describe();
}

TEST_F(Scope, CommandOfAllDoesNotNarrow) {
  Outsider other({"touch", "1009", "0x100000000000", "1000000"});
  Trace trace = RunLossless(
      {.program = kFaults, .command = "touch 1009 0x100000000000 300", .options = {"-a"}});
  EXPECT_GT(trace.Sum("@"), 1009u * 300) << trace.Describe();
}

TEST_F(Scope, TreeHoldsWhatWasForkedBeforeAndWillBe) {
  Outsider other({"touch", "1009", "0x100000000000", "1000000"});
  Outsider family({"family", "200", "101", "held"});
  family.WaitForLine();
  Trace trace = RunLossless({.program = kFaults,
                             .command = "kick " + std::to_string(family.pid()),
                             .options = {"--tree", std::to_string(family.pid())}});
  EXPECT_EQ(trace.Sum("@"), 2u * 200 * 101) << trace.Describe();
}

TEST_F(Scope, OneProcessWithoutItsChildren) {
  Outsider family({"family", "20", "101", "held"});
  family.WaitForLine();
  Trace trace = RunLossless(
      {.program = kFaults + " tracepoint:sched:sched_process_fork { @forks = count(); }",
       .command = "kick " + std::to_string(family.pid()),
       .options = {"-p", std::to_string(family.pid())}});
  EXPECT_EQ(trace.Sum("@"), 0u) << trace.Describe();
  EXPECT_EQ(trace.Sum("@forks"), 20u) << trace.Describe();
}

TEST_F(Scope, EndOfTheProcessEndsTheTracing) {
  Outsider ready({"ready", "2"});
  ready.WaitForLine();
  Trace trace = RunLossless({.program = kFaults + " end { printf(\"ended\\n\"); }",
                             .options = {"-p", std::to_string(ready.pid())}});
  EXPECT_EQ(trace.Lines("ended").size(), 1u) << trace.Describe();
}

TEST_F(Scope, NobodysNumberIsAnError) {
  pid_t pid = fork();
  if (pid == 0) _exit(0);
  waitpid(pid, nullptr, 0);
  Trace trace = RunTracer({.program = kFaults, .options = {"-p", std::to_string(pid)}});
  EXPECT_EQ(trace.exit_status, 1);
  EXPECT_EQ(trace.err, "error: there is no process " + std::to_string(pid) + "\n");
}

TEST_F(Scope, ProgramsThatMemtraceRunsAreNotFiltered) {
  Outsider ready({"ready", "20"});
  ready.WaitForLine();
  Trace trace =
      RunLossless({.program = "begin { @begin++; } interval:ms:10 { @ticks++; } end { @end++; }",
                   .command = "ready 1",
                   .options = {"-p", std::to_string(ready.pid())}});
  EXPECT_EQ(trace.Sum("@begin"), 1u) << trace.Describe();
  EXPECT_EQ(trace.Sum("@end"), 1u) << trace.Describe();
  EXPECT_GT(trace.Sum("@ticks"), 10u) << trace.Describe();
}

TEST_F(Scope, KilledTreeLeavesNothing) {
  Outsider ready({"ready", "20"});
  ready.WaitForLine();
  Tracer tracer = Tracer::Start({.program = kFaults + " interval:ms:10 { printf(\"runs\\n\"); }",
                                 .options = {"--tree", std::to_string(ready.pid())}});
  ASSERT_TRUE(tracer.WaitFor("runs"));
  std::vector<uint32_t> programs = tracer.ProgramIds();
  EXPECT_EQ(programs.size(), 3u);
  tracer.Signal(SIGKILL);
  tracer.Finish();
  EXPECT_EQ(ProgramsLeft(programs).size(), 0u);
}

// ---- Memtrace itself --------------------------------------------------------------------------

// Each line is written by a call that the clause would print a line for. Other memtraces may run:
// this one is known by its number.
TEST_F(Scope, WhatPrintsDoesNotSeeItsOwnPrinting) {
  Tracer tracer = Tracer::Start(
      {.program = "tracepoint:syscalls:sys_enter_write /comm == \"memtrace\" || comm == \"ready\"/ "
                  "{ printf(\"%s %d\\n\", comm, pid); }",
       .command = "ready 1",
       .options = {"-a"}});
  pid_t pid = tracer.pid();
  Trace trace = tracer.Finish();
  EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
  EXPECT_EQ(trace.Lines("memtrace " + std::to_string(pid)).size(), 0u) << trace.Describe();
  EXPECT_GE(trace.Lines("ready \\d+").size(), 1u) << trace.Describe();
}

TEST_F(Scope, WhatOnlyCountsSeesMemtraceUnlessItIsExcluded) {
  TraceOptions options{.program =
                           "tracepoint:syscalls:sys_enter_epoll_wait { @[pid] = count(); } "
                           "interval:ms:100 { printf(\"tick\\n\"); }",
                       .command = "ready 1",
                       .options = {"-a"}};
  for (bool excluded : {false, true}) {
    if (excluded) options.options.push_back("--exclude-self");
    Tracer tracer = Tracer::Start(options);
    std::string pid = std::to_string(tracer.pid());
    Trace trace = tracer.Finish();
    EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
    EXPECT_EQ(trace.Keyed("@").count(pid), excluded ? 0u : 1u) << trace.Describe();
  }
}

// ---- Cgroups ----------------------------------------------------------------------------------

// Two cgroups of the test's own, one below the other.
class InCgroups : public Scope {
 protected:
  void SetUp() override {
    Scope::SetUp();
    if (IsSkipped()) return;
    for (const std::string root :
         {"/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"}) {
      std::string outer = root + "/memtrace-test." + std::to_string(getpid());
      if (access((root + "/cgroup.procs").c_str(), F_OK) != 0) continue;
      if (mkdir(outer.c_str(), 0755) != 0 || mkdir((outer + "/inner").c_str(), 0755) != 0) continue;
      outers_.push_back(outer);
    }
    if (outers_.empty()) GTEST_SKIP() << "no hierarchy of cgroups in which one can be made";
  }
  void TearDown() override {
    for (const std::string& outer : outers_) {
      rmdir((outer + "/inner").c_str());
      rmdir(outer.c_str());
    }
  }

  // Runs 1009 faults in the inner cgroup, 503 in the outer and 2003 outside.
  static std::string Command(const std::string& outer) {
    std::string touch = Workload("touch");
    return "/bin/sh -c '(echo 0 > " + outer + "/inner/cgroup.procs; exec " + touch +
           " 1009) & (echo 0 > " + outer + "/cgroup.procs; exec " + touch + " 503) & " + touch +
           " 2003; wait'";
  }

  std::vector<std::string> outers_;
};

TEST_F(InCgroups, CountThoseBelowToo) {
  for (const std::string& outer : outers_) {
    Trace trace = RunLossless(
        {.program = kFaults, .command = Command(outer), .options = {"--cgroup", outer}});
    EXPECT_EQ(trace.Sum("@"), 1009u + 503) << outer << "\n" << trace.Describe();
  }
}

TEST_F(InCgroups, DoNotCountThoseAbove) {
  for (const std::string& outer : outers_) {
    Trace trace = RunLossless(
        {.program = kFaults, .command = Command(outer), .options = {"--cgroup", outer + "/inner"}});
    EXPECT_EQ(trace.Sum("@"), 1009u) << outer << "\n" << trace.Describe();
  }
}

TEST_F(InCgroups, RootLetsEverythingThrough) {
  Trace trace = RunLossless(
      {.program = kFaults, .command = Command(outers_[0]), .options = {"--cgroup", "/"}});
  EXPECT_GE(trace.Sum("@"), 1009u + 503 + 2003) << trace.Describe();  // others may run
}

// On v1 each is a memory cgroup; on v2 the inner one has no memory controller of its own.
TEST_F(InCgroups, MemcgIsTheTasksOwn) {
  const std::string& outer = outers_[0];
  bool is_v1 = access((outer + "/memory.usage_in_bytes").c_str(), F_OK) == 0;
  if (!is_v1) {
    std::ofstream(outer.substr(0, outer.rfind('/')) + "/cgroup.subtree_control") << "+memory";
    if (access((outer + "/memory.current").c_str(), F_OK) != 0) {
      GTEST_SKIP() << "no memory controller can be enabled";
    }
  }
  std::string name = outer.substr(outer.rfind('/'));
  Trace trace = RunLossless(
      {.program = "tracepoint:exceptions:page_fault_user "
                  "/args.address in 0x100000000000 .. 0x110000000000/ { @[memcg] = count(); "
                  "if (memcg == \"" +
                  name + "\") { @outer = count(); } }",
       .command = Command(outer)});
  std::map<std::string, uint64_t> counts = trace.Keyed("@");
  EXPECT_EQ(counts[name], is_v1 ? 503u : 1009u + 503) << trace.Describe();
  EXPECT_EQ(counts[name + "/inner"], is_v1 ? 1009u : 0u) << trace.Describe();
  EXPECT_EQ(trace.Sum("@outer"), counts[name]) << trace.Describe();
}

TEST_F(InCgroups, AnUnknownPathIsAnError) {
  Trace trace = RunTracer({.program = kFaults, .options = {"--cgroup", "/no/such"}});
  EXPECT_EQ(trace.exit_status, 1);
  EXPECT_EQ(trace.err.rfind("error: no cgroup /no/such below /", 0), 0u) << trace.err;
}

}  // namespace
}  // namespace memtrace::test
