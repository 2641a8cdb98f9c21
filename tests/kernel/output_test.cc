// What programs print arrives: in order, completely, and without waking the reader each time.

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "compiler/base/file.h"
#include "tests/support/subprocess.h"
#include "tests/support/time_factor.h"
#include "tests/support/tracer.h"

namespace memtrace::test {
namespace {

class Output : public TracerTest {};

TEST_F(Output, OfOneThreadComesInItsOrder) {
  constexpr uint64_t kCalls = 20'000;
  Trace trace = RunTracer({.program = "tracepoint:syscalls:sys_enter_getpgid /comm == \"threads\"/ "
                                      "{ printf(\"%d\\n\", args.pid); }",
                           .command = "threads 4 20000 1 sequence"});
  ASSERT_EQ(trace.exit_status, 0) << trace.Describe();
  EXPECT_EQ(trace.Lost(""), 0u) << trace.Describe();
  std::map<uint64_t, uint64_t> next;
  for (const std::string& line : trace.Lines("\\d+")) {
    uint64_t value = std::stoull(line);
    uint64_t thread = value / 1'000'000;
    ASSERT_EQ(value % 1'000'000, next[thread]) << "of thread " << thread;
    next[thread]++;
  }
  ASSERT_EQ(next.size(), 4u) << trace.Describe();
  for (const auto& [thread, count] : next) EXPECT_EQ(count, kCalls) << "of thread " << thread;
}

TEST_F(Output, NothingIsLostAt200000LinesASecond) {
  // A host that takes the CPUs away for a while makes everybody lose: one run of three has to be
  // without losses, and every line of every run is printed or reported.
  uint64_t lost = 0;
  for (int attempt = 0; attempt < 3; ++attempt) {
    Trace trace = RunTracer({.program = "tracepoint:syscalls:sys_enter_getppid /comm == \"pace\"/ "
                                        "{ printf(\"%d %d\\n\", tid, cpu); }",
                             .command = "pace 200000 3"});
    ASSERT_EQ(trace.exit_status, 0) << trace.Describe();
    lost = trace.Lost("");
    ASSERT_EQ(trace.Lines("\\d+ \\d+").size() + lost, *trace.Reported("total")) << trace.err;
    // A tracer that holds its events up makes them rarer; then nothing was shown.
    ASSERT_EQ(trace.Lines("seconds .*").size(), 1u) << trace.err;
    EXPECT_LT(std::stod(trace.Lines("seconds .*").front().substr(8)), 4.5 * TimeFactor());
    if (lost == 0) return;
  }
  EXPECT_EQ(lost, 0u);
}

TEST_F(Output, TheReaderIsSeldomWoken) {
  Tracer tracer =
      Tracer::Start({.program = "tracepoint:syscalls:sys_enter_getppid /comm == \"pace\"/ "
                                "{ @n = count(); printf(\"%d %d\\n\", tid, cpu); } "
                                "begin { printf(\"begun\\n\"); }",
                     .command = "pace 200000 3"});
  ASSERT_TRUE(tracer.WaitFor("begun"));
  std::this_thread::sleep_for(std::chrono::milliseconds(1000));
  uint64_t before = tracer.VoluntarySwitches();
  std::this_thread::sleep_for(std::chrono::milliseconds(1000));
  uint64_t after = tracer.VoluntarySwitches();
  Trace trace = tracer.Finish();
  ASSERT_EQ(trace.exit_status, 0) << trace.Describe();
  // 200,000 events in that second: by watermark and timer, not by event.
  EXPECT_LT(after - before, 300u) << trace.err;
}

// A line is not kept back until there are more of them.
TEST_F(Output, ASingleLineIsNotLate) {
  Tracer tracer =
      Tracer::Start({.program = "tracepoint:syscalls:sys_enter_getpgid /comm == \"keys\"/ "
                                "{ printf(\"seen %d\\n\", args.pid); } "
                                "interval:200ms { @n++; if (@n == 1) { printf(\"tick\\n\"); } }",
                     .command = "ready 5"});
  ASSERT_TRUE(tracer.WaitFor("ready"));
  auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(tracer.WaitFor("tick"));
  EXPECT_LT(std::chrono::steady_clock::now() - began,
            std::chrono::milliseconds(500) * TimeFactor());
}

// Every line that we write would be an event that prints a line.
TEST_F(Output, DoesNotFeedItself) {
  Trace trace = RunTracer({.program = "tracepoint:syscalls:sys_enter_write "
                                      "{ printf(\"%s writes\\n\", comm); }",
                           .command = "ready 2"});
  ASSERT_EQ(trace.exit_status, 0) << trace.Describe();
  EXPECT_GE(trace.Lines("ready writes").size(), 1u) << trace.Describe();
  EXPECT_EQ(trace.Lines("memtrace writes").size(), 0u) << trace.Describe();
}

TEST_F(Output, ComesBeforeTheMapThatAnIntervalPrints) {
  Trace trace = RunTracer({.program = "tracepoint:syscalls:sys_enter_getppid /comm == \"threads\"/ "
                                      "{ printf(\"event\\n\"); @ = count(); } "
                                      "interval:500ms { print(@); clear(@); }",
                           .command = "threads 1 3000 2"});
  ASSERT_EQ(trace.exit_status, 0) << trace.Describe();
  EXPECT_EQ(trace.Sum("@"), 3000u) << trace.Describe();
  // Whenever a map is printed, the lines of the events that it counts are there already (the line
  // of an event that runs at that moment may come just before or after).
  int64_t lines = 0;
  int64_t counted = 0;
  for (const std::string& line : trace.Lines("event|@: \\d+")) {
    if (line == "event") {
      lines++;
      continue;
    }
    counted += std::stoll(line.substr(3));
    EXPECT_GE(lines, counted - 1) << trace.Describe();
  }
}

// What memtrace opens must not become the standard error that is not there: losses would be written
// into the data.
TEST_F(Output, ClosedStreamsStayClosed) {
  std::string memtrace = MT_BUILD_DIR "/memtrace";
  std::string file = testing::TempDir() + "memtrace_closed_streams";
  Command lossy;
  lossy.words = {"/bin/sh", "-c",
                 "exec " + memtrace + " --strict --config ring_size=4096 -c '" + Workload("pace") +
                     " 0 1' -o " + file +
                     " -e 'tracepoint:syscalls:sys_enter_getppid { printf(\"%d\\n\", tid) }' "
                     "2>&-"};
  Finished finished = test::Run(lossy);
  EXPECT_EQ(finished.exit_status, 3) << "nothing was lost, so nothing was shown";
  auto text = ReadFile(file);
  ASSERT_TRUE(text.ok()) << text.error().message();
  EXPECT_EQ(text.value().find("lost"), std::string::npos);
  std::filesystem::remove(file);

  Command silent;
  silent.words = {"/bin/sh", "-c",
                  "exec " + memtrace + " -e 'begin { printf(\"tick\\n\"); exit() }' >&-"};
  finished = test::Run(silent);
  EXPECT_EQ(finished.exit_status, 1);
  EXPECT_EQ(finished.err, "error: write standard output: write: Bad file descriptor\n");
}

}  // namespace
}  // namespace memtrace::test
