// The scripts that come along tell the truth about workloads whose numbers are known beforehand.
//
// One script serves every kernel; where a kernel lacks what a script would need for a part of it,
// that part is asked for only where the kernel has it.

#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <re2/re2.h>
#include <unistd.h>

#include "tests/support/tracer.h"

namespace memtrace::test {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kMiB = 1 << 20;

class Scripts : public TracerTest {
 protected:
  static Trace Run(const std::vector<std::string>& script, const std::string& command,
                   const std::vector<std::string>& options = {}) {
    Trace trace = RunTracer({.command = command, .options = options, .script = script});
    EXPECT_EQ(trace.failure, "") << trace.Describe();
    EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
    return trace;
  }

  // A number in the one match of `regex`, which has one group.
  static std::optional<uint64_t> NumberIn(const Trace& trace, const std::string& regex) {
    uint64_t number;
    if (!RE2::PartialMatch(trace.out, regex, &number)) return std::nullopt;
    return number;
  }

  // Of a map whose keys begin with a command: of one command, by the rest of the key.
  static std::map<std::string, uint64_t> Of(const Trace& trace, const std::string& map,
                                            const std::string& command) {
    std::map<std::string, uint64_t> result;
    for (const auto& [key, value] : trace.Keyed(map)) {
      if (key.rfind(command + ", ", 0) == 0) result[key.substr(command.size() + 2)] = value;
    }
    return result;
  }
};

// ---- oomkill.mt --------------------------------------------------------------------------------

class OomKill : public Scripts {
 protected:
  static constexpr uint64_t kLimit = 64 * kMiB;
  struct Kill {
    uint64_t pid, virtual_size, anonymous, file, trigger;
    int adj;
    std::string victim_name, trigger_name;
  };

  static std::optional<Trace> Run(const std::string& command,
                                  const std::vector<std::string>& arguments = {}) {
    std::vector<std::string> script = {"oomkill.mt"};
    script.insert(script.end(), arguments.begin(), arguments.end());
    Trace trace = Scripts::Run(script, command, {"-a", "--raw"});
    if (!trace.Reported("victim")) return std::nullopt;
    return trace;
  }

  static std::vector<Kill> Kills(const Trace& trace) {
    static const RE2 line(
        "(?m)^\\d\\d:\\d\\d:\\d\\d +(\\d+) (\\S+) +(-?\\d+) +(\\d+) +(\\d+) +(\\d+) +\\d+ +(\\d+) "
        "(\\S+) +\\d+\\.\\d\\d \\d+\\.\\d\\d \\d+\\.\\d\\d$");
    std::vector<Kill> kills;
    re2::StringPiece input(trace.out);
    Kill kill;
    while (RE2::FindAndConsume(&input, line, &kill.pid, &kill.victim_name, &kill.adj,
                               &kill.virtual_size, &kill.anonymous, &kill.file, &kill.trigger,
                               &kill.trigger_name)) {
      kills.push_back(kill);
    }
    return kills;
  }

  // The second line, about the memory cgroup and, with kprobes, the request.
  static void ExpectLimit(const Trace& trace) {
    std::string limit = std::to_string(kLimit);
    EXPECT_TRUE(RE2::PartialMatch(trace.out, "(?m)^ +memcg /\\S*oomcg\\.\\d+, limit " + limit +
                                                 " of /\\S*oomcg\\.\\d+, usage"))
        << trace.Describe();
    std::optional<uint64_t> usage = NumberIn(trace, "usage (\\d+)");
    ASSERT_TRUE(usage) << trace.Describe();
    EXPECT_LE(*usage, kLimit);
    EXPECT_GE(*usage, kLimit - 64 * kPage) << "the kernel charges up to 64 pages at once";
    bool has_request =
        RE2::PartialMatch(trace.out, "gfp 0x[0-9a-f]+, order 0, CONSTRAINT_MEMCG, points \\d+\n");
    EXPECT_EQ(has_request, HasKprobes()) << trace.Describe();
    EXPECT_EQ(trace.out.find("need a kprobe") != std::string::npos, !HasKprobes())
        << trace.Describe();
  }
};

TEST_F(OomKill, VictimAndTriggerAreToldApart) {
  std::optional<Trace> trace = Run("oomcg 64 10240 7000");
  if (!trace) GTEST_SKIP() << "the workload could not make its memory cgroup";
  std::vector<Kill> kills = Kills(*trace);
  ASSERT_EQ(kills.size(), 1u) << trace->Describe();
  EXPECT_EQ(kills[0].pid, *trace->Reported("victim")) << trace->Describe();
  EXPECT_EQ(kills[0].victim_name, "mtvictim");
  EXPECT_EQ(kills[0].adj, 7);
  EXPECT_EQ(kills[0].trigger, *trace->Reported("trigger")) << trace->Describe();
  EXPECT_EQ(kills[0].trigger_name, "mttrigger");
  // 40,960 kB that it touched. What else is anonymous of it, and what the kernel has not added up
  // yet, is less than a batch of its counters: 32 pages a CPU, or 64 of a task.
  EXPECT_NEAR(static_cast<double>(kills[0].anonymous), 10240.0 * kPage, 64.0 * kPage)
      << trace->Describe();
  EXPECT_GT(kills[0].virtual_size, kills[0].anonymous);
  ExpectLimit(*trace);
}

TEST_F(OomKill, AHogIsItsOwnTrigger) {
  std::optional<Trace> trace = Run("oomcg 64 30000 0");
  if (!trace) GTEST_SKIP() << "the workload could not make its memory cgroup";
  std::vector<Kill> kills = Kills(*trace);
  ASSERT_EQ(kills.size(), 1u) << trace->Describe();
  EXPECT_EQ(kills[0].pid, kills[0].trigger);
  EXPECT_EQ(kills[0].pid, *trace->Reported("victim"));
  // All of the limit but for page tables, kernel stacks and a few pages of files.
  EXPECT_LE(kills[0].anonymous, kLimit) << trace->Describe();
  EXPECT_GE(kills[0].anonymous, kLimit - kMiB) << trace->Describe();
  EXPECT_GE(kills[0].virtual_size, 30000 * kPage);
  ExpectLimit(*trace);
}

TEST_F(OomKill, OnlyTheVictimsThatAreAskedFor) {
  std::optional<Trace> trace = Run("oomcg 64 30000 0", {"somebody"});
  if (!trace) GTEST_SKIP() << "the workload could not make its memory cgroup";
  EXPECT_EQ(Kills(*trace).size(), 0u) << trace->Describe();
}

// ---- ffaults.mt --------------------------------------------------------------------------------

class FileFaults : public Scripts {};

constexpr uint64_t kTouched = 1009;

TEST_F(FileFaults, AnonymousMemoryIsNamedAndExact) {
  // The program maps a few pages of its own.
  auto count = [](uint64_t pages) {
    Trace trace = Run({"ffaults.mt", "0", "touch"}, "touch " + std::to_string(pages));
    EXPECT_EQ(trace.Lost(""), 0u) << trace.Describe();
    std::map<std::string, uint64_t> faults = Of(trace, "@faults", "touch");
    EXPECT_GT(faults["[stack]"], 0u) << trace.Describe();
    EXPECT_GT(faults["libc.so.6"], 0u) << trace.Describe();
    EXPECT_GT(faults["touch"], 0u) << trace.Describe();
    EXPECT_EQ(faults.count(""), 0u) << trace.Describe();
    return faults["[anon]"];
  };
  uint64_t more = count(2 * kTouched), less = count(kTouched);
  EXPECT_GE(less, kTouched);
  EXPECT_LE(less, kTouched + 20) << "the loader's own";
  EXPECT_NEAR(static_cast<double>(more - less), static_cast<double>(kTouched), 2);
}

TEST_F(FileFaults, AFileUnderMadvRandomFaultsOncePerPage) {
  Trace trace =
      RunTracer({.command = "filetouch 500 random", .script = {"ffaults.mt", "0", "filetouch"}});
  if (!trace.Reported("major")) GTEST_SKIP() << "no file of the page cache: " << trace.err;
  std::map<std::string, uint64_t> faults = Of(trace, "@faults", "filetouch");
  uint64_t count = 0;
  for (const auto& [file, value] : faults) count += file.rfind("filetouch.", 0) == 0 ? value : 0;
  EXPECT_EQ(count, 500u) << trace.Describe();
  EXPECT_EQ(*trace.Reported("major"), 500u) << trace.Describe();
}

TEST_F(FileFaults, PagesAroundAFaultAreNoFaults) {
  Trace trace =
      RunTracer({.command = "filetouch 1600", .script = {"ffaults.mt", "0", "filetouch"}});
  if (!trace.Reported("minor")) GTEST_SKIP() << "no file of the page cache: " << trace.err;
  uint64_t faults = 0, around = 0;
  for (const auto& [file, value] : Of(trace, "@faults", "filetouch")) {
    faults += file.rfind("filetouch.", 0) == 0 ? value : 0;
  }
  for (const auto& [file, value] : Of(trace, "@around", "filetouch")) {
    around += file.rfind("filetouch.", 0) == 0 ? value : 0;
  }
  EXPECT_EQ(around, 1600u) << trace.Describe();
  EXPECT_GT(faults, 0u) << trace.Describe();
  EXPECT_LT(faults, 1600u / 4) << trace.Describe();
  EXPECT_NEAR(static_cast<double>(faults), static_cast<double>(*trace.Reported("minor")), 2)
      << trace.Describe();
}

TEST_F(FileFaults, SharedMemoryIsNamed) {
  Trace trace = Run({"ffaults.mt", "0", "shmtouch"}, "shmtouch 300");
  EXPECT_EQ(Of(trace, "@faults", "shmtouch")["[shmem]"], 300u) << trace.Describe();
}

// ---- hfaults.mt --------------------------------------------------------------------------------

TEST_F(Scripts, HugePagesFaultOnceEach) {
  Trace trace = RunTracer({.command = "hugetouch 8", .script = {"hfaults.mt"}});
  std::optional<uint64_t> size = trace.Reported("size");
  if (!size) GTEST_SKIP() << "no pool of eight huge pages: " << trace.err;
  EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
  uint64_t faults = 0;
  for (const auto& [key, value] : trace.Keyed("@hugetlb")) {
    EXPECT_EQ(key.rfind("hugetouch, ", 0), 0u) << key;
    EXPECT_TRUE(RE2::PartialMatch(key, ", " + std::to_string(*size >> 20) + " MiB$")) << key;
    faults += value;
  }
  EXPECT_EQ(faults, 8u) << trace.Describe();
  EXPECT_EQ(NumberIn(trace, "@pool\\[[^\\]]*\\]: \\(total = (\\d+),"), trace.Reported("total"))
      << trace.Describe();
  uint64_t transparent = 0;
  for (const auto& [key, value] : trace.Keyed("@thp")) {
    if (key.find("huge]") == key.npos && key.rfind(", huge") == key.size() - 6)
      transparent += value;
  }
  EXPECT_EQ(transparent, *trace.Reported("thp")) << trace.Describe();
}

// ---- swapin.mt ---------------------------------------------------------------------------------

TEST_F(Scripts, SwapInsAreTheKernelsOwnCount) {
  Trace trace = RunTracer({.command = "swapcg", .options = {"-a"}, .script = {"swapin.mt"}});
  if (!trace.Reported("pswpin")) GTEST_SKIP() << "the workload could not make its cgroup or swap";
  EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
  uint64_t pages = 0;
  for (const auto& [key, value] : trace.Keyed("@pages")) pages += value;
  uint64_t own = *trace.Reported("pswpin");
  EXPECT_GT(own, 1000u) << trace.Describe();
  EXPECT_LE(pages, own) << trace.Describe();
  // An event that came while this program ran on its CPU is reported, and missing.
  EXPECT_GE(pages + trace.Lost("events? \\("), own) << trace.Describe();
  std::map<std::string, uint64_t> by_process = Of(trace, "@pages", "swapcg");
  EXPECT_FALSE(by_process.empty()) << trace.Describe();
}

// ---- watermark.mt ------------------------------------------------------------------------------

TEST_F(Scripts, TheWatermarkMonitorSaysWhatItShows) {
  Trace trace = Run({"watermark.mt"}, "touch 10");
  bool says_what_it_lacks = trace.out.find("no probe on __zone_watermark_ok") != std::string::npos;
  EXPECT_EQ(says_what_it_lacks, !HasKprobes()) << trace.Describe();
  EXPECT_NE(trace.out.find("RESERVE"), std::string::npos) << trace.Describe();
}

}  // namespace
}  // namespace memtrace::test
