// However often memtrace starts and ends, and whenever it is killed, the kernel keeps nothing of
// it.
//
// What is compared is the whole machine's: programs, maps, links and BTF objects that were not
// there before. Others may trace meanwhile and make some of their own; only what stays is counted.
#include <chrono>
#include <random>
#include <set>
#include <string>
#include <thread>

#include <bpf/bpf.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/support/time_factor.h"
#include "tests/support/tracer.h"

namespace memtrace::test {
namespace {

using NextId = int (*)(uint32_t, uint32_t*);

std::set<uint32_t> Ids(NextId next) {
  std::set<uint32_t> ids;
  for (uint32_t id = 0; next(id, &id) == 0;) ids.insert(id);
  return ids;
}

// The kernel's BPF objects, by kind.
struct Objects {
  std::set<uint32_t> programs = Ids(bpf_prog_get_next_id);
  std::set<uint32_t> maps = Ids(bpf_map_get_next_id);
  std::set<uint32_t> links = Ids(bpf_link_get_next_id);
  std::set<uint32_t> btf = Ids(bpf_btf_get_next_id);
};

std::string NewOf(const char* kind, const std::set<uint32_t>& before,
                  const std::set<uint32_t>& after) {
  std::string text;
  for (uint32_t id : after) {
    if (!before.contains(id)) text += " " + std::to_string(id);
  }
  return text.empty() ? "" : kind + text + "; ";
}

// What is there now and was not `before`, once the kernel had five seconds to free it: it does so
// when nobody can be using it any more.
std::string Left(const Objects& before) {
  std::string left;
  for (int i = 0; i < 100; ++i) {
    Objects now;
    left = NewOf("programs", before.programs, now.programs) + NewOf("maps", before.maps, now.maps) +
           NewOf("links", before.links, now.links) + NewOf("BTF", before.btf, now.btf);
    if (left.empty()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return left;
}

// Something of each kind that every kernel has: raw and classic tracepoints, perf events, timers,
// an iterator, maps of each kind, stacks, a ring.
const std::string kProgram =
    "begin { @started = 1; } "
    "tracepoint:exceptions:page_fault_user { @faults[comm, ustack] = count(); } "
    "tracepoint:kmem:mm_page_alloc /args.order > 0/ { @orders[args.order] = count(); } "
    "tracepoint:syscalls:sys_enter_* { @calls = hist(args.__syscall_nr); } "
    "software:page-faults:100 { @sampled = count(); } "
    "interval:10ms { print(@orders); clear(@orders); } "
    "iter:task { @tasks = count(); } "
    "end { printf(\"ended\\n\"); }";

class Leak : public TracerTest {};

TEST_F(Leak, AHundredSessionsLeaveNothing) {
  Objects before;
  int cycles = TimeFactor() > 1 ? 10 : 100;
  for (int i = 0; i < cycles; ++i) {
    Trace trace = RunTracer({.program = kProgram, .command = "threads 1 10"});
    ASSERT_EQ(trace.exit_status, 0) << trace.Describe();
    ASSERT_EQ(trace.Lines("ended").size(), 1u) << trace.Describe();
  }
  EXPECT_EQ(Left(before), "");
}

// While it compiles, loads, attaches, traces and detaches.
TEST_F(Leak, KilledAtAnyMomentItLeavesNothing) {
  Objects before;
  std::mt19937 random(20261130);
  int cycles = TimeFactor() > 1 ? 10 : 60;
  std::uniform_int_distribution<int> microseconds(0, 120'000 * TimeFactor());
  size_t running = 0;
  for (int i = 0; i < cycles; ++i) {
    Tracer tracer = Tracer::Start({.program = kProgram, .command = "ready 20"});
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds(random)));
    running += !tracer.ProgramIds().empty();
    tracer.Signal(SIGKILL);
    tracer.Finish();
  }
  // Some of them have to have been in the middle of it.
  EXPECT_GT(running, 0u);
  EXPECT_EQ(Left(before), "");
}

}  // namespace
}  // namespace memtrace::test
