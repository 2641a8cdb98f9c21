// Static probes of programs: every pass is seen at every place, with its arguments, and the
// program knows that it is watched.

#include <unistd.h>

#include <string>

#include <gtest/gtest.h>

#include "tests/support/subprocess.h"
#include "tests/support/tracer.h"

namespace memtrace::test {
namespace {

class StaticProbes : public PerfDeviceTest {
 protected:
  StaticProbes() : PerfDeviceTest("uprobe", "this kernel has no uprobes") {}
};

constexpr uint64_t kRounds = 1009;

const std::vector<std::vector<std::string>> kWays = {{}, {"--config", "attach=classic"}};

std::string Marks(const std::string& probe) { return "usdt:" + Workload("marks") + ":" + probe; }

// Two places of one probe, one round each.
TEST_F(StaticProbes, SeeEveryPass) {
  for (const std::vector<std::string>& options : kWays) {
    Trace trace = RunTracer({.program = Marks("lab:tick") + " { @ticks = count(); } " +
                                        Marks("plain") + " { @plain = count(); }",
                             .command = "marks 1009",
                             .options = options});
    EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
    EXPECT_EQ(trace.Sum("@ticks"), 2 * kRounds) << trace.Describe();
    EXPECT_EQ(trace.Sum("@plain"), kRounds) << trace.Describe();
    // The program reads its semaphore.
    EXPECT_EQ(trace.Reported("up"), kRounds) << trace.Describe();
    EXPECT_EQ(trace.err.find("lost:"), std::string::npos) << trace.Describe();
  }
}

// The semaphore of another probe stays down.
TEST_F(StaticProbes, RaiseTheirOwnSemaphoreOnly) {
  Trace trace =
      RunTracer({.program = Marks("lab:plain") + " { @ = count(); }", .command = "marks 1009"});
  EXPECT_EQ(trace.Sum("@"), kRounds) << trace.Describe();
  EXPECT_EQ(trace.Reported("up"), 0u) << trace.Describe();
}

TEST_F(StaticProbes, ArgumentsAreReadWhereverTheyAre) {
  for (const std::vector<std::string>& options : kWays) {
    Trace trace = RunTracer({.program = Marks("lab:tick") +
                                        " { @[str(arg1), arg2] = count(); @sum[str(arg1)] = "
                                        "sum(arg0); @last[str(arg1)] = sum(arg3); }",
                             .command = "marks 1009",
                             .options = options});
    EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
    EXPECT_EQ(trace.Keyed("@")["tick, -3"], kRounds) << trace.Describe();
    EXPECT_EQ(trace.Keyed("@")["tock, -3"], kRounds) << trace.Describe();
    EXPECT_EQ(trace.Keyed("@sum")["tick"], kRounds * (kRounds - 1) / 2) << trace.Describe();
    EXPECT_NE(trace.out.find("@sum[tock]: -1009\n"), std::string::npos) << trace.Describe();
    // 10, 20, 30, 40 in turn, 252 times, and 10 once more.
    EXPECT_EQ(trace.Keyed("@last")["tick"], 252 * 100 + 10u) << trace.Describe();
    EXPECT_EQ(trace.Keyed("@last")["tock"], 7 * kRounds) << trace.Describe();
  }
}

TEST_F(StaticProbes, AWildcardKnowsItsProbes) {
  Trace trace =
      RunTracer({.program = Marks("*") + " { @[probe] = count(); }", .command = "marks 1009"});
  EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
  EXPECT_EQ(trace.Keyed("@")[Marks("lab:tick")], 2 * kRounds) << trace.Describe();
  EXPECT_EQ(trace.Keyed("@")[Marks("lab:plain")], kRounds) << trace.Describe();
}

TEST_F(StaticProbes, AreListed) {
  Finished listed =
      test::Run({.words = {MT_BUILD_DIR "/memtrace", "-l", "usdt:" + Workload("marks")}});
  EXPECT_EQ(listed.exit_status, 0) << listed.err;
  EXPECT_EQ(listed.out, Marks("lab:plain") + "\n" + Marks("lab:tick") + "\n");
}

}  // namespace
}  // namespace memtrace::test
