// -p, --tree, -c and --cgroup let exactly those events through that they should.
//
// Every test runs the same workload inside and outside of the scope at once, and counts faults at
// addresses that both have; only the former may count, and none of them may be missed.

#include <array>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/subprocess.h"
#include "tests/support/tracer.h"

namespace memtrace::test {
namespace {

const std::string kFaults =
    "tracepoint:exceptions:page_fault_user /args.address in 0x100000000000 .. 0x110000000000/ "
    "{ @ = count(); }";

// A workload of ours that nobody asked the tracer to run.
class Outsider {
 public:
  explicit Outsider(const std::vector<std::string>& words) {
    std::array<int, 2> ends;
    EXPECT_EQ(pipe(ends.data()), 0);
    pid_ = fork();
    if (pid_ == 0) {
      setpgid(0, 0);
      dup2(ends[1], STDOUT_FILENO);
      close(ends[0]);
      close(ends[1]);
      std::string program = Workload(words[0]);
      std::vector<char*> argv;
      for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
      argv.push_back(nullptr);
      execv(program.c_str(), argv.data());
      _exit(127);
    }
    close(ends[1]);
    out_ = ends[0];
  }
  ~Outsider() {
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    close(out_);
  }
  pid_t pid() const { return pid_; }
  // Waits for its first line.
  void WaitForLine() const {
    char c = 0;
    while (read(out_, &c, 1) == 1 && c != '\n') {
    }
  }

 private:
  pid_t pid_ = -1;
  int out_ = -1;
};

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

TEST_F(Scope, WhatPrintsDoesNotSeeItsOwnPrinting) {
  // Each line is written by a call that the clause would print a line for.
  Trace trace = RunLossless(
      {.program = "tracepoint:syscalls:sys_enter_write /comm == \"memtrace\" || comm == \"ready\"/ "
                  "{ printf(\"%s wrote\\n\", comm); }",
       .command = "ready 1",
       .options = {"-a"}});
  EXPECT_LE(trace.Lines("memtrace wrote").size(), 1u)
      << trace.Describe();  // the child, before exec
  EXPECT_EQ(trace.Lines("ready wrote").size(), 1u) << trace.Describe();
}

TEST_F(Scope, WhatOnlyCountsSeesMemtraceUnlessItIsExcluded) {
  TraceOptions options{.program =
                           "tracepoint:syscalls:sys_enter_* { @[comm] = count(); } "
                           "interval:ms:100 { printf(\"tick\\n\"); }",
                       .command = "ready 1",
                       .options = {"-a"}};
  Trace seen = RunLossless(options);
  EXPECT_GT(seen.Keyed("@")["memtrace"], 0u) << seen.Describe();
  options.options.push_back("--exclude-self");
  // Its child has the same name until it becomes the command: it does not count as memtrace.
  options.program = "tracepoint:syscalls:sys_enter_epoll_wait { @[comm] = count(); }";
  Trace excluded = RunLossless(options);
  EXPECT_EQ(excluded.Keyed("@").count("memtrace"), 0u) << excluded.Describe();
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

TEST_F(InCgroups, AnUnknownPathIsAnError) {
  Trace trace = RunTracer({.program = kFaults, .options = {"--cgroup", "/no/such"}});
  EXPECT_EQ(trace.exit_status, 1);
  EXPECT_EQ(trace.err.rfind("error: no cgroup /no/such below /", 0), 0u) << trace.err;
}

}  // namespace
}  // namespace memtrace::test
