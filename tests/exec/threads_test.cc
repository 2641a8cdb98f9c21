// Updates are exact: programs run from several threads of the host at once, and nothing may be
// missing.
//
// Two CPUs are shared by four threads, so that what is kept per CPU has to be atomic, too: on a
// real one an interrupt or a preempting task comes between load and store.
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/exec/reader.h"
#include "tests/exec/session.h"

namespace memtrace::exec {
namespace {

constexpr uint32_t kThreads = 4, kCpus = 2, kEvents = 20'000;

struct ThreadCase {
  std::string name;  // of the test
  std::string body;  // of the clause
  std::string printed;
};

void PrintTo(const ThreadCase& thread_case, std::ostream* out) { *out << thread_case.body; }

// The line of the only bucket of a histogram of all events.
std::string FullBucket(const std::string& label) {
  std::string line = label + std::string(24 - 5 - label.size(), ' ') + "80000 |";
  return line + std::string(52, '@') + "|\n";
}

class Threads : public testing::TestWithParam<ThreadCase> {};

TEST_P(Threads, NothingIsMissing) {
  auto prepared = Prepare("tracepoint:kmem:kmalloc { " + GetParam().body + " }", {});
  ASSERT_TRUE(prepared.ok()) << prepared.error().message();
  Machine* machine = prepared.value()->machine.get();
  ASSERT_NE(machine, nullptr) << prepared.value()->diagnostics;

  std::vector<std::thread> threads;
  for (uint32_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([machine, thread] {
      uint64_t context[16] = {};
      for (uint32_t i = 0; i < kEvents; ++i) machine->Run(0, context, thread % kCpus);
    });
  }
  for (std::thread& thread : threads) thread.join();

  Reader reader(prepared.value()->plan, *machine, {});
  reader.PrintMapsAtExit();
  EXPECT_EQ(reader.Output(), GetParam().printed);
  EXPECT_EQ(reader.Losses(), "");
}

// rand counts up from 1, so that all threads together see every number up to 80000 once.
const ThreadCase kCases[] = {
    {"increment", "@++;", "@: 80000\n"},
    {"increment_of_an_element", "@[1]++; ++@[2];", "@[1]: 80000\n@[2]: 80000\n"},
    {"decrement", "@--; @k[1]--;", "@: -80000\n@k[1]: -80000\n"},
    {"addition", "@ += 3; @k[\"a\"] -= 3;", "@: 240000\n@k[a]: -240000\n"},
    {"new_keys", "@[rand % 1000]++; @all++;", ""},
    {"count", "@ = count(); @k[comm] = count();", "@: 80000\n@k[test]: 80000\n"},
    {"sum", "@ = sum(7); @k[1] = sum(-7);", "@: 560000\n@k[1]: -560000\n"},
    {"min_and_max", "$r = rand; @min = min($r); @max = max($r); @k[1] = min($r); @l[1] = max($r);",
     "@min: 1\n@max: 80000\n@k[1]: 1\n@l[1]: 80000\n"},
    {"avg_and_stats", "$r = rand; @a = avg($r); @k[1] = stats($r);",
     "@a: 40000\n@k[1]: count 80000, average 40000, total 3200040000\n"},
    {"lhist", "@ = lhist(rand, 0, 100000, 100000); @k[comm] = lhist(5, 0, 10, 10);",
     "@:\n" + FullBucket("[0, 100000)") + "\n@k[test]:\n" + FullBucket("[0, 10)") + "\n"},
    {"hist", "@ = hist(3); @k[comm] = hist(3, 1);",
     "@:\n" + FullBucket("[2, 4)") + "\n@k[test]:\n" + FullBucket("[3]") + "\n"},
    {"scratch", "$s = comm; @[$s, 1, \"a rather long key\"]++;",
     "@[test, 1, a rather long key]: 80000\n"},
};

// "new_keys" has a thousand rows: every key was hit eighty times.
std::vector<ThreadCase> Cases() {
  std::vector<ThreadCase> cases(std::begin(kCases), std::end(kCases));
  for (ThreadCase& one : cases) {
    if (!one.printed.empty()) continue;
    for (int key = 0; key < 1000; ++key) one.printed += "@[" + std::to_string(key) + "]: 80\n";
    one.printed += "@all: 80000\n";
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Exec, Threads, testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace memtrace::exec
