// Whole sessions, with an object built from C in place of a compiled script. Each runs in a process
// of its own, because a session takes over signals. Needs root.

#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "compiler/base/file.h"
#include "compiler/plan/plan.h"
#include "runtime/output/sink.h"
#include "runtime/session/session.h"
#include "runtime/symbols/symbolizer.h"
#include "tests/support/time_factor.h"

namespace memtrace {
namespace {

using Clock = std::chrono::steady_clock;

// Layout of mt_state in bpf/session.bpf.c.
constexpr uint32_t kSlots = 64, kSlotSize = 16, kCopySize = kSlots * kSlotSize, kCounts = 64;

constexpr long kEventCall = 5000;  // what the program `event` counts

enum Program : plan::Index { kBegin, kBeginExit, kEnd, kEvent, kInterval, kFlood };

plan::Map CountMap(std::string name, uint32_t offset, bool is_swapped) {
  plan::Map map;
  map.name = std::move(name);
  map.storage = plan::Storage::kStatePerCpu;
  map.offset = offset;
  map.slot_size = kSlotSize;
  map.copy_size = kCopySize;
  map.value = plan::ValueKind::kCount;
  map.value_type = 0;
  map.value_size = 8;
  map.is_swapped = is_swapped;
  return map;
}

plan::Action NumberAction() {
  plan::Action action;
  plan::FormatPiece number;
  number.argument = 0;
  plan::FormatPiece newline;
  newline.text = "\n";
  action.pieces = {number, newline};
  action.arguments = {{.name = "", .type = 0, .offset = 8}};
  action.record_size = 16;
  return action;
}

plan::Plan FixturePlan() {
  plan::Plan plan;
  plan.config.ring_size = 64 << 10;
  plan.cpu_slots = kSlots;
  plan.state_size = kCounts + 3 * kCopySize;
  plan.losses_offset = 8;
  plan::Type number;
  number.kind = plan::TypeKind::kInt;
  number.size = 8;
  number.is_signed = true;
  plan.types = {number};
  plan.maps = {CountMap("@count", kCounts, true),
               CountMap("@truth", kCounts + 2 * kCopySize, false)};
  plan.actions.assign(4, NumberAction());
  plan.actions[1].kind = plan::ActionKind::kExit;
  plan.actions[2].kind = plan::ActionKind::kPrintMap;
  plan.actions[3].kind = plan::ActionKind::kClear;
  plan.actions[2].map = plan.actions[3].map = 0;
  plan.actions[2].closed_window = plan.actions[3].closed_window = true;
  for (const char* name : {"begin", "begin_exit", "end", "event", "interval", "flood"}) {
    plan.programs.emplace_back().symbol = name;
  }
  plan.programs[kInterval].swaps = {0};
  plan.loss_sites = {{.cause = plan::LossCause::kRingFull, .subject = "printf", .line = 1}};
  return plan;
}

plan::Probe ProbeOf(plan::AttachKind kind, plan::Index program) {
  plan::Probe probe;
  probe.name = "probe";
  probe.kind = kind;
  probe.program = program;
  probe.event = "sys_enter";
  probe.period = 50'000'000;
  return probe;
}

struct Outcome {
  std::string out, err;
  int status = -1;
};

std::string ReadAll(int fd) {
  std::string text;
  char block[4096];
  for (ssize_t got; (got = ::read(fd, block, sizeof block)) > 0;) text.append(block, got);
  ::close(fd);
  return text;
}

class SessionTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    std::ifstream file(MT_BUILD_DIR "/kernel_bpf/session.o", std::ios::binary);
    object_ = {std::istreambuf_iterator<char>(file), {}};
    if (object_.empty()) GTEST_SKIP() << "needs clang-19 to build tests/kernel/bpf";
    plan_ = FixturePlan();
  }

  // `meanwhile` runs in this process while the session runs in another, whose id it is given.
  Outcome Run(const session::Options& options, const std::function<void(pid_t)>& meanwhile = {}) {
    int out[2], err[2];
    EXPECT_EQ(::pipe(out), 0);
    EXPECT_EQ(::pipe(err), 0);
    pid_t pid = ::fork();
    if (pid == 0) {
      ::dup2(err[1], STDERR_FILENO);
      for (int fd : {out[0], err[0], err[1]}) ::close(fd);
      ::_exit(RunHere(options, out[1]));
    }
    ::close(out[1]);
    ::close(err[1]);
    if (meanwhile) meanwhile(pid);
    Outcome outcome{.out = ReadAll(out[0]), .err = ReadAll(err[0])};
    int status;
    ::waitpid(pid, &status, 0);
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return outcome;
  }

  int RunHere(session::Options options, int fd) {
    symbols::Symbolizer symbolizer;
    auto sink = output::NewTextSink({.fd = fd}, symbolizer);
    options.online_cpus = {0};
    options.output_fd = fd;
    Result<int> status = session::Run(plan_, object_, *sink, symbolizer, options);
    if (status.ok()) return status.value();
    std::string message = status.error().message() + "\n";
    return ::write(STDERR_FILENO, message.data(), message.size()) > 0 ? 1 : 1;
  }

  std::string object_;
  plan::Plan plan_;
};

void WaitMs(int milliseconds) { ::usleep(milliseconds * 1000); }

TEST_F(SessionTest, BeginCanEndIt) {
  plan_.probes = {ProbeOf(plan::AttachKind::kBegin, kBeginExit),
                  ProbeOf(plan::AttachKind::kEnd, kEnd)};
  Clock::time_point begin = Clock::now();
  Outcome outcome = Run({});
  auto taken = Clock::now() - begin;
  EXPECT_EQ(outcome.out, "1\n9\n");
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.status, 7);
  std::printf("whole session %lld us\n",
              static_cast<long long>(taken / std::chrono::microseconds(1)));
}

TEST_F(SessionTest, ASignalEndsItAndMapsArePrinted) {
  plan_.probes = {ProbeOf(plan::AttachKind::kBegin, kBegin),
                  ProbeOf(plan::AttachKind::kRawTracepoint, kEvent),
                  ProbeOf(plan::AttachKind::kEnd, kEnd)};
  Outcome outcome = Run({}, [](pid_t pid) {
    WaitMs(300);
    for (int i = 0; i < 1000; ++i) ::syscall(kEventCall);
    ::kill(pid, SIGINT);
  });
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out.substr(0, 4), "1\n9\n");
  EXPECT_NE(outcome.out.find("@count: 1000\n"), outcome.out.npos) << outcome.out;
}

// What the intervals and the end print of a swapped map adds up to the map that is never swapped.
TEST_F(SessionTest, IntervalsAddUp) {
  plan_.probes = {ProbeOf(plan::AttachKind::kRawTracepoint, kEvent),
                  ProbeOf(plan::AttachKind::kInterval, kInterval)};
  session::Options options;
  options.duration_ns = 1'500'000'000;
  Outcome outcome = Run(options, [](pid_t) {
    for (auto end = Clock::now() + std::chrono::milliseconds(1200); Clock::now() < end;) {
      ::syscall(kEventCall);
    }
  });
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  std::istringstream lines(outcome.out);
  uint64_t sum = 0, truth = 0;
  int prints = 0;
  for (std::string name, value; lines >> name >> value;) {
    (name == "@truth:" ? truth : sum) += std::stoull(value);
    prints += name == "@count:";
  }
  EXPECT_EQ(sum, truth);
  EXPECT_GT(truth, 10000u);
  EXPECT_GT(prints, test::TimeFactor() > 1 ? 3 : 10);
}

TEST_F(SessionTest, LossesAreToldAndStrictIsAStatus) {
  plan_.probes = {ProbeOf(plan::AttachKind::kBegin, kFlood)};
  Outcome outcome = Run({});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_TRUE(outcome.err.starts_with("lost: ")) << outcome.err;
  EXPECT_NE(outcome.err.find(" events (ring full; --config ring_size=256KiB)\n"), outcome.err.npos)
      << outcome.err;
  session::Options options;
  options.strict = true;
  EXPECT_EQ(Run(options).status, 3);
}

TEST_F(SessionTest, ACommandRunsOnceAllIsAttachedAndItsEndIsTheEnd) {
  plan_.probes = {ProbeOf(plan::AttachKind::kRawTracepoint, kEvent)};
  session::Options options;
  options.command = "sh -c 'exit 5'";
  EXPECT_EQ(Run(options).status, 0);
  options.exit_status = true;
  EXPECT_EQ(Run(options).status, 5);
  options.command = "/no/such/program";
  Outcome outcome = Run(options);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.err, "run /no/such/program: No such file or directory\n");
}

// The command is watched when its addresses need names: signals, forks and exits go on as they
// would.
TEST_F(SessionTest, AWatchedCommandBehavesAsUsual) {
  plan_.probes = {ProbeOf(plan::AttachKind::kRawTracepoint, kEvent)};
  plan_.types.emplace_back().kind = plan::TypeKind::kUserStack;
  session::Options options;
  options.exit_status = true;
  options.command = "trap 'exit 6' USR1; (exit 3); echo $? >&2; kill -USR1 $$; sleep 5";
  Outcome outcome = Run(options);
  EXPECT_EQ(outcome.status, 6);
  EXPECT_EQ(outcome.err, "3\n");
  options.command = "kill -KILL $$";
  EXPECT_EQ(Run(options).status, 128 + SIGKILL);
  // A command that outlives the session is ended.
  options.command = "sleep 1000.25";
  options.exit_status = false;
  options.duration_ns = 100'000'000;
  EXPECT_EQ(Run(options).status, 0);
  WaitMs(50);
  EXPECT_NE(::system("pgrep -f '[s]leep 1000.25' >/dev/null"), 0);
}

TEST_F(SessionTest, AClosedPipeEndsItQuietly) {
  plan_.probes = {ProbeOf(plan::AttachKind::kRawTracepoint, kEvent)};
  int out[2];
  ASSERT_EQ(::pipe(out), 0);
  pid_t pid = ::fork();
  if (pid == 0) {
    ::close(out[0]);
    ::_exit(RunHere({}, out[1]));
  }
  ::close(out[1]);
  WaitMs(200);
  ::close(out[0]);
  int status;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(SessionTest, MaxEventsStopsInTime) {
  plan_.probes = {ProbeOf(plan::AttachKind::kBegin, kFlood)};
  session::Options options;
  options.max_events = 3;
  Outcome outcome = Run(options);
  EXPECT_TRUE(outcome.out == "0\n1\n2\n") << outcome.out.substr(0, 20);
}

TEST_F(SessionTest, ADryRunRunsNothing) {
  plan_.probes = {ProbeOf(plan::AttachKind::kBegin, kBegin)};
  session::Options options;
  options.dry_run = true;
  Outcome outcome = Run(options);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.status, 0);
}

TEST_F(SessionTest, StatisticsNameEachProbe) {
  plan_.probes = {ProbeOf(plan::AttachKind::kRawTracepoint, kEvent)};
  session::Options options;
  options.statistics = true;
  options.command = "true";
  Outcome outcome = Run(options);
  EXPECT_TRUE(outcome.err.starts_with("stats: probe: run_cnt ")) << outcome.err;
}

}  // namespace
}  // namespace memtrace
