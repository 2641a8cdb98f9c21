// Probes on programs and libraries: every call of every thread is seen, with its arguments, in
// whatever shape the program comes.

#include <unistd.h>

#include <csignal>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/subprocess.h"
#include "tests/support/tracer.h"

namespace memtrace::test {
namespace {

class Programs : public PerfDeviceTest {
 protected:
  Programs() : PerfDeviceTest("uprobe", "this kernel has no uprobes") {}
};

constexpr uint64_t kCalls = 1009;  // of each thread

const std::vector<std::string> kClassic = {"--config", "attach=classic"};

std::string Probe(const std::string& kind, const std::string& program,
                  const std::string& function) {
  return kind + ":" + Workload(program) + ":" + function;
}

// The programs run with the number of calls of a thread, and how many threads.
Trace TraceCalls(const std::string& script, const std::string& program,
                 const std::vector<std::string>& options = {}, int threads = 4) {
  return RunTracer({.program = script,
                    .command = program + " 1009 " + std::to_string(threads),
                    .options = options});
}

void ExpectNothingLost(const Trace& trace) {
  EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
  EXPECT_EQ(trace.err.find("lost:"), std::string::npos) << trace.Describe();
}

// Every entry and every return of four threads at once.
void ExpectExact(const std::string& program, const std::vector<std::string>& options) {
  Trace trace = TraceCalls(Probe("uprobe", program, "add_up") + " { @entry = count(); } " +
                               Probe("uretprobe", program, "add_up") + " { @exit = count(); }",
                           program, options);
  ExpectNothingLost(trace);
  EXPECT_EQ(trace.Sum("@entry"), 4 * kCalls) << trace.Describe();
  EXPECT_EQ(trace.Sum("@exit"), 4 * kCalls) << trace.Describe();
}

class Shapes : public Programs, public testing::WithParamInterface<const char*> {};

TEST_P(Shapes, SeeEveryCall) { ExpectExact(GetParam(), {}); }

TEST_P(Shapes, SeeEveryCallByPerf) { ExpectExact(GetParam(), kClassic); }

INSTANTIATE_TEST_SUITE_P(Of, Shapes,
                         testing::Values("calls", "calls-pie", "calls-static", "calls-debuglink",
                                         "calls-minidebug"),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST_F(Programs, AStrippedOneIsProbedByAddress) {
  // The code lies in both at the same place, and in such a program that is its address, too.
  Finished plan = test::Run({.words = {MT_BUILD_DIR "/memtrace", "--dump=plan", "-e",
                                       Probe("uprobe", "calls-pie", "add_up") + " { }"}});
  size_t at = plan.out.find("\"address\": ");
  ASSERT_NE(at, std::string::npos) << plan.out << plan.err;
  std::string address = std::to_string(std::atol(plan.out.c_str() + at + 11));
  Trace trace = TraceCalls(Probe("uprobe", "calls-stripped", address) + " { @ = count(); }",
                           "calls-stripped", {"--unsafe"});
  ExpectNothingLost(trace);
  EXPECT_EQ(trace.Sum("@"), 4 * kCalls) << trace.Describe();
  trace = TraceCalls(Probe("uprobe", "calls-stripped", "add_up") + " { @ = count(); }",
                     "calls-stripped");
  EXPECT_EQ(trace.exit_status, 1);
  EXPECT_NE(trace.err.find("the file is stripped"), std::string::npos) << trace.Describe();
}

// What the workload passes is told in its source.
TEST_F(Programs, ArgumentsAreTyped) {
  for (const std::vector<std::string>& options : {std::vector<std::string>{}, kClassic}) {
    Trace trace = TraceCalls(
        Probe("uprobe", "calls", "add_up") +
            " { @number = sum(args.number); @small[args.small] = count(); "
            "@text[str(args.text)] = count(); @pair[str(args.pair.label), args.pair.low, "
            "args.pair.high, str(args.pair.next.label)] = count(); "
            "@last[args.color, args.fifth, args.sixth, args.seventh] = count(); } " +
            Probe("uretprobe", "calls", "add_up") + " { @sum = sum(retval); }",
        "calls", options, 2);
    ExpectNothingLost(trace);
    EXPECT_NE(trace.out.find("@number: -" + std::to_string(kCalls * (kCalls - 1)) + "\n"),
              std::string::npos)
        << trace.Describe();
    EXPECT_EQ(trace.Keyed("@small")["200"], 2 * kCalls) << trace.Describe();
    EXPECT_EQ(trace.Keyed("@text")["text"], 2 * kCalls) << trace.Describe();
    EXPECT_EQ(trace.Keyed("@pair")["call, 5, 17, inner"], 2 * kCalls) << trace.Describe();
    EXPECT_EQ(trace.Keyed("@last")["kGreen, 55, 66, -77"], 2 * kCalls) << trace.Describe();
    // The workload adds up what add_up() returned.
    ASSERT_TRUE(trace.Reported("sum").has_value()) << trace.Describe();
    EXPECT_EQ(trace.Sum("@sum"), *trace.Reported("sum")) << trace.Describe();
  }
}

TEST_F(Programs, ArgumentsWithoutDebugInformationAreNumbers) {
  Trace trace = TraceCalls(
      Probe("uprobe", "calls-minidebug", "add_up") +
          " { @[arg1, str(arg2), (int32)arg0 <= 0, arg5, arg6, (int32)arg7] = count(); }",
      "calls-minidebug", {}, 1);
  ExpectNothingLost(trace);
  EXPECT_EQ(trace.Keyed("@")["200, text, true, 55, 66, -77"], kCalls) << trace.Describe();
}

TEST_F(Programs, AWildcardKnowsItsFunctions) {
  for (const std::vector<std::string>& options : {std::vector<std::string>{}, kClassic}) {
    Trace trace =
        TraceCalls(Probe("uprobe", "calls", "*d*") + ", " + Probe("uretprobe", "calls", "add_u*") +
                       " { @[func] = count(); @by[probe] = count(); }",
                   "calls", options);
    EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
    EXPECT_EQ(trace.Keyed("@")["add_up"], 2 * 4 * kCalls) << trace.Describe();
    EXPECT_EQ(trace.Keyed("@")["hidden"], 4 * kCalls) << trace.Describe();
    EXPECT_EQ(trace.Keyed("@by")[Probe("uretprobe", "calls", "add_up")], 4 * kCalls)
        << trace.Describe();
  }
}

// Among the functions are those of the C library whose first instruction the kernel would run as
// another one: the program must end as it does alone.
TEST_F(Programs, AWildcardBreaksNothing) {
  Trace trace = TraceCalls(Probe("uprobe", "calls-static", "*mem*") + ", " +
                               Probe("uprobe", "calls-static", "add_*") + " { @[func] = count(); }",
                           "calls-static");
  ExpectNothingLost(trace);
  EXPECT_EQ(trace.Keyed("@")["add_up"], 4 * kCalls) << trace.Describe();
  EXPECT_EQ(trace.Reported("calls"), 4 * kCalls) << trace.Describe();
}

TEST_F(Programs, SignaturesTellOverloadsApart) {
  std::string shapes = "uprobe:" + Workload("shapes") + ":";
  Trace trace =
      RunTracer({.program = shapes +
                            "\"ns::area(int)\" { @int = count(); @sides = "
                            "sum(args.side); } " +
                            shapes + "\"ns::area(double)\" { @double = count(); } " + shapes +
                            "\"ns::Square::grow\" { @grow[args.this.id, "
                            "str(args.this.name), args.by] = count(); } " +
                            shapes + "\"ns::*\" { @all[func] = count(); }",
                 .command = "shapes 1009"});
  ExpectNothingLost(trace);
  EXPECT_EQ(trace.Sum("@int"), kCalls) << trace.Describe();
  EXPECT_EQ(trace.Sum("@sides"), 100 * 45 + 36u) << trace.Describe();  // 0 … 9, 100 times; 0 … 8
  EXPECT_EQ(trace.Sum("@double"), 2 * kCalls) << trace.Describe();
  EXPECT_EQ(trace.Keyed("@grow")["4711, square, 1"], 3 * kCalls) << trace.Describe();
  EXPECT_EQ(trace.Keyed("@all")["ns::Square::grow(long)"], 3 * kCalls) << trace.Describe();
}

TEST_F(Programs, ALibraryIsFoundByItsShortName) {
  Trace trace =
      RunTracer({.program = "uprobe:libc:pthread_create { @ = count(); }", .command = "calls 1 4"});
  ExpectNothingLost(trace);
  EXPECT_EQ(trace.Sum("@"), 4u) << trace.Describe();
}

// Two processes call while we look; one is asked for, by a name among what it has mapped.
TEST_F(Programs, OneProcessAloneIsSeen) {
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, kClassic}) {
    Tracer caller = Tracer::Start({.program = "tracepoint:oom:mark_victim { @unused = count(); }",
                                   .command = "calls 1009 4 4000"});
    ASSERT_TRUE(caller.WaitFor("ready"));
    std::string pid = std::to_string(caller.CommandPid());
    ASSERT_NE(pid, "0");
    std::vector<std::string> options = {"-p", pid};
    options.insert(options.end(), more.begin(), more.end());
    Tracer tracer = Tracer::Start(
        {.program =
             "uprobe:*calls:add_up { @[pid] = count(); } interval:100ms { printf(\"on\\n\"); }",
         .options = options});
    ASSERT_TRUE(tracer.WaitFor("on\n"));
    Finished other = test::Run({.words = {Workload("calls"), "1009", "4"}});
    EXPECT_EQ(other.exit_status, 0) << other.err;
    Trace trace = tracer.Finish();  // it ends with the process
    caller.Finish();
    ExpectNothingLost(trace);
    EXPECT_EQ(trace.Keyed("@").size(), 1u) << trace.Describe();
    EXPECT_EQ(trace.Keyed("@")[pid], 4 * kCalls) << trace.Describe();
  }
}

TEST_F(Programs, AStackBeginsWithTheFunction) {
  Trace trace = TraceCalls(Probe("uprobe", "calls", "add_up") + " { @[ustack(2)] = count(); }",
                           "calls", {}, 1);
  ExpectNothingLost(trace);
  size_t begin = trace.out.find("@[");
  ASSERT_NE(begin, std::string::npos) << trace.Describe();
  EXPECT_NE(trace.out.substr(begin, 40).find("add_up"), std::string::npos) << trace.Describe();
}

// A breakpoint that was left behind would be seen by the next process that reads its own code; the
// programs are asked for in the kernel.
TEST_F(Programs, NothingIsLeftBehind) {
  Tracer tracer = Tracer::Start({.program = Probe("uprobe", "calls", "add_up") +
                                            " { @ = count(); } begin { printf(\"begun\\n\"); }",
                                 .command = "ready 20",
                                 .options = {"-a"}});
  ASSERT_TRUE(tracer.WaitFor("ready"));
  std::vector<uint32_t> programs = tracer.ProgramIds();
  EXPECT_FALSE(programs.empty());
  tracer.Signal(SIGKILL);
  tracer.Finish();
  EXPECT_TRUE(ProgramsLeft(programs).empty());
  // The code runs as ever.
  Finished after = test::Run({.words = {Workload("calls"), "1009", "4"}});
  EXPECT_EQ(after.exit_status, 0);
}

TEST_F(Programs, AreListedWithTheirArguments) {
  Finished listed =
      test::Run({.words = {MT_BUILD_DIR "/memtrace", "-lv", Probe("uprobe", "calls", "add_u*")}});
  EXPECT_EQ(listed.exit_status, 0) << listed.err;
  EXPECT_NE(listed.out.find("uprobe:" + Workload("calls") + ":add_up\n    int32 number\n"),
            std::string::npos)
      << listed.out;
}

}  // namespace
}  // namespace memtrace::test
