// A raw tracepoint gives the values of the classic one.
//
// For every row of compiler/kernel/raw_args.h two tracers run at the same time around the same
// load: one attaches as memtrace chooses, the other is told to take the classic tracepoint. Field
// by field they have to count the same values as often. A row that no load here provokes is
// skipped, and says so: such rows are proven on another machine (tests/vm) or not at all.

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>

#include "compiler/kernel/raw_args.h"
#include "tests/support/subprocess.h"
#include "tests/support/time_factor.h"
#include "tests/support/tracer.h"

namespace memtrace::test {
namespace {

struct Subject {
  std::string name;                 // of the test
  std::vector<std::string> events;  // "kmem:kfree"
  std::vector<std::string> fields;  // that all of them have
  std::string workload;             // its name, by which both tracers filter
  std::vector<std::string> arguments;
};

// A map per field, so that a value that came out wrong names its field.
std::string ProgramFor(const Subject& subject) {
  std::string program = "config = { max_map_keys = 100000 } ";
  for (const std::string& event : subject.events) {
    program += (&event == subject.events.data() ? "tracepoint:" : ", tracepoint:") + event;
  }
  program +=
      " /comm == \"" + subject.workload + "\"/ { @events = count(); @probes[probe] = count();";
  for (const std::string& field : subject.fields) {
    program += " @f_" + field + "[probe, args." + field + "] = count();";
  }
  return program + " }";
}

// Sum over the keys of how much the two differ.
uint64_t Difference(const std::map<std::string, uint64_t>& left,
                    const std::map<std::string, uint64_t>& right) {
  std::set<std::string> keys;
  for (const auto& [key, count] : left) keys.insert(key);
  for (const auto& [key, count] : right) keys.insert(key);
  uint64_t sum = 0;
  for (const std::string& key : keys) {
    uint64_t a = left.contains(key) ? left.at(key) : 0;
    uint64_t b = right.contains(key) ? right.at(key) : 0;
    sum += a > b ? a - b : b - a;
  }
  return sum;
}

std::string Some(const std::map<std::string, uint64_t>& counts) {
  std::string text;
  int shown = 0;
  for (const auto& [key, count] : counts) {
    if (++shown > 20) return text + "  …\n";
    text += "  " + key + ": " + std::to_string(count) + "\n";
  }
  return text;
}

class Differential : public TracerTest {
 protected:
  static void Compare(const Subject& subject) {
    std::string program = ProgramFor(subject);
    Tracer chosen =
        Tracer::Start({.program = program, .command = "ready 60", .options = {"-a", "-v"}});
    Tracer classic = Tracer::Start({.program = program,
                                    .command = "ready 60",
                                    .options = {"-a", "-v", "--config", "attach=classic"}});
    bool both = chosen.WaitFor("ready") && classic.WaitFor("ready");
    if (both) {
      Command load;
      load.words.push_back(Workload(subject.workload));
      load.words.insert(load.words.end(), subject.arguments.begin(), subject.arguments.end());
      Finished finished = test::Run(load);
      EXPECT_EQ(finished.failure, "");
      EXPECT_EQ(finished.exit_status, 0) << finished.err;
    }
    chosen.Signal(SIGINT);
    classic.Signal(SIGINT);
    Trace left = chosen.Finish();
    Trace right = classic.Finish();
    ASSERT_TRUE(both) << left.Describe() << right.Describe();
    ASSERT_EQ(left.exit_status, 0) << left.Describe();
    ASSERT_EQ(right.exit_status, 0) << right.Describe();
    EXPECT_EQ(right.err.find("raw_tp"), std::string::npos) << right.err;
    if (left.err.find("raw_tp") == std::string::npos) {
      GTEST_SKIP() << "memtrace takes the classic tracepoint here: " << left.err;
    }
    if (left.Sum("@events") == 0) GTEST_SKIP() << "this load does not provoke the event";

    // What a classic tracepoint missed it reports; nothing else may differ.
    uint64_t missed = right.Lost("events? \\(tracepoint:") + left.Lost("events? \\(tracepoint:");
    uint64_t events = left.Sum("@events") > right.Sum("@events")
                          ? left.Sum("@events") - right.Sum("@events")
                          : right.Sum("@events") - left.Sum("@events");
    EXPECT_LE(events, missed) << left.err << right.err;
    EXPECT_LE(Difference(left.Keyed("@probes"), right.Keyed("@probes")), missed)
        << "chosen:\n"
        << Some(left.Keyed("@probes")) << "classic:\n"
        << Some(right.Keyed("@probes"));
    for (const std::string& field : subject.fields) {
      auto raw = left.Keyed("@f_" + field);
      auto record = right.Keyed("@f_" + field);
      EXPECT_FALSE(raw.empty()) << field << "\n" << left.Describe();
      EXPECT_LE(Difference(raw, record), missed) << field << ", chosen:\n"
                                                 << Some(raw) << "classic:\n"
                                                 << Some(record);
    }
  }
};

// ---- Rows -------------------------------------------------------------------------------------

class RawRows : public Differential, public ::testing::WithParamInterface<kernel::RawRow> {};

TEST_P(RawRows, GiveTheRecordsValues) {
  const kernel::RawRow& row = GetParam();
  // Reads, faults, reclaims, allocates, sleeps and wakes.
  Subject subject = {.name = "",
                     .events = {std::string(row.category) + ":" + std::string(row.event)},
                     .fields = {},
                     .workload = "hogcg",
                     .arguments = {"16", "48", "2"}};
  if (row.event == "page_fault_user") {
    subject.workload = "threads";
    // Every fault is preceded by an interrupt of all CPUs, which takes an emulator its time.
    subject.arguments = {"4", TimeFactor() > 1 ? "100" : "1000", "0", "fault"};
  }
  for (const kernel::RawField& field : row.fields) subject.fields.emplace_back(field.field);
  Compare(subject);
}

INSTANTIATE_TEST_SUITE_P(All, RawRows, ::testing::ValuesIn(kernel::RawRows()),
                         [](const auto& info) { return std::string(info.param.event); });

// ---- System calls -----------------------------------------------------------------------------

// From a number of system calls on, one raw sys_enter serves a clause: enough of them in each case.
class SystemCalls : public Differential, public ::testing::WithParamInterface<Subject> {};

TEST_P(SystemCalls, HaveTheRecordsArguments) { Compare(GetParam()); }

std::vector<std::string> Calls(const std::string& side, const std::vector<std::string>& names) {
  std::vector<std::string> events;
  for (const std::string& name : names) events.push_back("syscalls:sys_" + side + "_" + name);
  return events;
}

INSTANTIATE_TEST_SUITE_P(
    Some, SystemCalls,
    ::testing::Values(Subject{"Process",
                              Calls("enter", {"getpgid", "getsid", "kill", "sched_getparam"}),
                              {"pid"},
                              "threads",
                              {"4", "500", "0", "sequence"}},
                      Subject{"ProcessResult",
                              Calls("exit", {"getpgid", "getsid", "kill", "sched_getparam"}),
                              {"ret"},
                              "threads",
                              {"4", "500", "0", "sequence"}},
                      Subject{"Length",
                              Calls("enter", {"mmap", "munmap", "mprotect", "mlock"}),
                              {"len"},
                              "anonmap",
                              {"200"}},
                      Subject{"StartAndLength",
                              Calls("enter", {"mprotect", "mlock", "munlock", "msync"}),
                              {"start", "len"},
                              "anonmap",
                              {"200"}},
                      Subject{"MappingResult",
                              Calls("exit", {"mmap", "munmap", "mprotect", "brk", "madvise"}),
                              {"ret"},
                              "brkgrow",
                              {}},
                      Subject{"FileName",
                              Calls("enter", {"openat", "newfstatat", "faccessat", "fchmodat"}),
                              {"dfd", "filename"},
                              "opener",
                              {"/nowhere", "50"}},
                      Subject{"FileResult",
                              Calls("exit", {"openat", "newfstatat", "faccessat", "fchmodat"}),
                              {"ret"},
                              "opener",
                              {"/nowhere", "50"}},
                      // 32-bit calls among them.
                      Subject{"Compat",
                              Calls("enter", {"getppid", "getpid", "getuid", "getgid", "write"}),
                              {},
                              "compat",
                              {"500"}}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace memtrace::test
