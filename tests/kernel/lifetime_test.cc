// A session begins and ends cleanly, however it ends, and leaves nothing in the kernel.

#include <chrono>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>

#include "tests/support/time_factor.h"
#include "tests/support/tracer.h"

namespace memtrace::test {
namespace {

using Clock = std::chrono::steady_clock;

// Counts something that its own command does not do, so that it is there when it is interrupted.
const std::string kProgram =
    "begin { @started = 1; } "
    "tracepoint:syscalls:sys_enter_* { @calls = count(); } "
    "tracepoint:exceptions:page_fault_user { @faults[comm] = count(); } "
    "tracepoint:kmem:mm_page_alloc /args.order > 0/ { @orders[args.order] = count(); } "
    "end { printf(\"ended\\n\"); }";

class Lifetime : public TracerTest {
 protected:
  struct Ended {
    Trace trace;
    std::chrono::milliseconds took;
    size_t programs = 0;  // while it ran
    size_t left = 0;      // afterwards
  };

  // Waits until the tracer's command runs, sends `signal`, and looks at what is left.
  static Ended EndBy(int signal) {
    Tracer tracer = Tracer::Start({.program = kProgram, .command = "ready 20"});
    EXPECT_TRUE(tracer.WaitFor("ready"));
    std::vector<uint32_t> programs = tracer.ProgramIds();
    auto began = Clock::now();
    tracer.Signal(signal);
    Trace trace = tracer.Finish();
    auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began);
    return {.trace = trace,
            .took = took,
            .programs = programs.size(),
            .left = ProgramsLeft(programs).size()};
  }
};

class EndedBySignal : public Lifetime, public ::testing::WithParamInterface<int> {};

TEST_P(EndedBySignal, PrintsAndDetaches) {
  Ended ended = EndBy(GetParam());
  EXPECT_EQ(ended.trace.failure, "") << ended.trace.Describe();
  EXPECT_EQ(ended.trace.exit_status, 0) << ended.trace.Describe();
  EXPECT_GE(ended.programs, 3u) << ended.trace.Describe();
  EXPECT_EQ(ended.left, 0u);
  EXPECT_EQ(ended.trace.Lines("ended").size(), 1u) << ended.trace.Describe();
  EXPECT_EQ(ended.trace.Sum("@started"), 1u) << ended.trace.Describe();
  EXPECT_GT(ended.trace.Sum("@calls"), 0u) << ended.trace.Describe();
}

INSTANTIATE_TEST_SUITE_P(Signals, EndedBySignal, ::testing::Values(SIGINT, SIGTERM),
                         [](const auto& info) { return info.param == SIGINT ? "Int" : "Term"; });

TEST_F(Lifetime, KilledLeavesNothing) {
  Ended ended = EndBy(SIGKILL);
  EXPECT_EQ(ended.trace.exit_status, 128 + SIGKILL);
  EXPECT_GE(ended.programs, 3u) << ended.trace.Describe();
  EXPECT_EQ(ended.left, 0u);
}

// Detaching hundreds of classic tracepoints one by one would take half a minute.
TEST_F(Lifetime, StopsSoonAfterAllSystemCalls) {
  Tracer tracer = Tracer::Start(
      {.program = "tracepoint:syscalls:sys_enter_* { @ = count(); }", .command = "ready 20"});
  ASSERT_TRUE(tracer.WaitFor("ready"));
  auto began = Clock::now();
  tracer.Signal(SIGINT);
  Trace trace = tracer.Finish();
  EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
  EXPECT_LT(Clock::now() - began, std::chrono::seconds(1) * TimeFactor());
}

TEST_F(Lifetime, TheCommandsEndEndsIt) {
  Trace trace = RunTracer({.program = "tracepoint:syscalls:sys_enter_getppid "
                                      "/comm == \"threads\"/ { @ = count(); }",
                           .command = "threads 1 1000"});
  EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
  EXPECT_EQ(trace.Sum("@"), 1000u) << trace.Describe();
}

TEST_F(Lifetime, ExitEndsItWithItsStatus) {
  Tracer tracer = Tracer::Start({.program = "tracepoint:syscalls:sys_enter_getppid "
                                            "/comm == \"pace\"/ { @ = count(); exit(5); } "
                                            "end { printf(\"ended\\n\"); }",
                                 .command = "pace 1000 20"});
  auto began = Clock::now();
  Trace trace = tracer.Finish();
  EXPECT_EQ(trace.failure, "") << trace.Describe();
  EXPECT_EQ(trace.exit_status, 5) << trace.Describe();
  EXPECT_EQ(trace.Lines("ended").size(), 1u) << trace.Describe();
  EXPECT_GE(trace.Sum("@"), 1u);
  EXPECT_LT(Clock::now() - began, std::chrono::seconds(5) * TimeFactor());
}

TEST_F(Lifetime, ExitInBeginAttachesNothing) {
  Trace trace = RunTracer({.program = "begin { printf(\"here\\n\"); exit(); } "
                                      "tracepoint:syscalls:sys_enter_getppid { @ = count(); }"});
  EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
  EXPECT_EQ(trace.out, "here\n") << trace.Describe();
}

TEST_F(Lifetime, BeginIsFirstAndEndIsLast) {
  Trace trace = RunTracer({.program = "begin { printf(\"begin\\n\"); } end { printf(\"end\\n\"); } "
                                      "tracepoint:syscalls:sys_enter_getppid /comm == \"threads\"/ "
                                      "{ printf(\"event\\n\"); }",
                           .command = "threads 2 500"});
  EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
  std::vector<std::string> lines = trace.Lines("begin|event|end");
  ASSERT_EQ(lines.size(), 1002u) << trace.Describe();
  EXPECT_EQ(lines.front(), "begin");
  EXPECT_EQ(lines.back(), "end");
}

TEST_F(Lifetime, MapsArePrintedAfterEnd) {
  Trace trace = RunTracer(
      {.program = "begin { @x = 3; } end { printf(\"end\\n\"); @x = 4; }", .command = "ready 1"});
  EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
  size_t end = trace.out.find("end\n");
  size_t map = trace.out.find("@x: 4\n");
  ASSERT_NE(end, std::string::npos) << trace.Describe();
  ASSERT_NE(map, std::string::npos) << trace.Describe();
  EXPECT_LT(end, map);
}

// The script is wrong: nothing is attached and nothing is run.
TEST_F(Lifetime, AMistakeRunsNothing) {
  Trace trace = RunTracer(
      {.program = "tracepoint:syscalls:sys_enter_getppid { @ = nonsense; }", .command = "ready 1"});
  EXPECT_EQ(trace.exit_status, 1) << trace.Describe();
  EXPECT_EQ(trace.out, "") << trace.Describe();
  EXPECT_NE(trace.err.find("nonsense"), std::string::npos) << trace.Describe();
}

}  // namespace
}  // namespace memtrace::test
