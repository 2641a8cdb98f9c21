// What memtrace counts in a memory cgroup is what the kernel counts itself.

#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/tracer.h"

namespace memtrace::test {
namespace {

class MemoryCgroup : public TracerTest {
 protected:
  // Runs `program` around `command`. Without a result the test is to be skipped, and says why.
  // The whole machine is traced: the kernel reclaims in threads of its own, too.
  static std::optional<Trace> Run(const std::string& program, const std::string& command) {
    Trace trace = RunTracer({.program = program, .command = command, .options = {"-a"}});
    EXPECT_EQ(trace.failure, "") << trace.Describe();
    if (!trace.Reported("id")) return std::nullopt;
    EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
    return trace;
  }

  // An interrupt may come while the program runs on its CPU; such events are reported, and they
  // alone may be missing. Which of them the predicate would have taken nobody knows.
  static void ExpectCounted(uint64_t counted, uint64_t kernels_own, const Trace& trace) {
    EXPECT_LE(counted, kernels_own) << trace.Describe();
    EXPECT_GE(counted + trace.Lost("events? \\(tracepoint:"), kernels_own) << trace.Describe();
    EXPECT_EQ(trace.Lost("") - trace.Lost("events? \\(tracepoint:"), 0u) << trace.Describe();
  }

  static bool HasTracepoint(const std::string& path) {
    for (const char* root : {"/sys/kernel/tracing/events/", "/sys/kernel/debug/tracing/events/"}) {
      if (access((root + path).c_str(), F_OK) == 0) return true;
    }
    // Mounted nowhere: memtrace is to find out.
    return access("/sys/kernel/tracing/events", F_OK) != 0 &&
           access("/sys/kernel/debug/tracing/events", F_OK) != 0;
  }
};

#define SKIP_WITHOUT_CGROUP(trace) \
  if (!(trace)) GTEST_SKIP() << "the workload could not make its memory cgroup, file or swap"

TEST_F(MemoryCgroup, ReclaimedPagesAreTheKernelsOwnCount) {
  if (!HasTracepoint("memcg")) GTEST_SKIP() << "this kernel has no memcg tracepoints";
  std::optional<Trace> trace =
      Run("tracepoint:vmscan:mm_vmscan_memcg_reclaim_end /comm == \"hogcg\"/ "
          "{ @reclaimed = sum(args.nr_reclaimed); } "
          "tracepoint:memcg:count_memcg_events /args.item == PGSTEAL_DIRECT/ "
          "{ @steal[args.id] = sum(args.val); }",
          "hogcg 64 256 2");
  SKIP_WITHOUT_CGROUP(trace);
  std::map<std::string, uint64_t> steal = trace->Keyed("@steal");
  std::string id = std::to_string(*trace->Reported("id"));
  EXPECT_GT(trace->Sum("@reclaimed"), 65536u) << trace->Describe();
  ExpectCounted(steal[id], trace->Sum("@reclaimed"), *trace);
  if (std::optional<uint64_t> own = trace->Reported("pgsteal_direct")) {
    EXPECT_EQ(trace->Sum("@reclaimed"), *own) << trace->Describe();
  }
}

TEST_F(MemoryCgroup, ReclaimedPagesAreThoseOfMemoryStat) {
  std::optional<Trace> trace =
      Run("tracepoint:vmscan:mm_vmscan_memcg_reclaim_end /comm == \"hogcg\"/ "
          "{ @reclaimed = sum(args.nr_reclaimed); }",
          "hogcg 64 256 2");
  SKIP_WITHOUT_CGROUP(trace);
  std::optional<uint64_t> own = trace->Reported("pgsteal_direct");
  if (!own) own = trace->Reported("pgsteal");
  if (!own) GTEST_SKIP() << "cgroup v1 has no pgsteal in memory.stat";
  EXPECT_EQ(trace->Sum("@reclaimed"), *own) << trace->Describe();
  EXPECT_EQ(trace->Lost(""), 0u) << trace->Describe();
}

TEST_F(MemoryCgroup, RefaultsAreTheKernelsOwnCount) {
  if (!HasTracepoint("memcg")) GTEST_SKIP() << "this kernel has no memcg tracepoints";
  std::optional<Trace> trace =
      Run("tracepoint:memcg:mod_memcg_lruvec_state /args.item == WORKINGSET_REFAULT_FILE/ "
          "{ @[args.id] = sum(args.val); }",
          "hogcg 64 256 2");
  SKIP_WITHOUT_CGROUP(trace);
  std::map<std::string, uint64_t> refaults = trace->Keyed("@");
  std::string id = std::to_string(*trace->Reported("id"));
  // A page whose shadow entry was reclaimed, too, is no refault.
  uint64_t own = *trace->Reported("workingset_refault_file");
  EXPECT_GT(own, 60000u) << trace->Describe();
  EXPECT_LE(own, 65536u) << trace->Describe();
  ExpectCounted(refaults[id], own, *trace);
}

TEST_F(MemoryCgroup, WrittenFoliosAreThePagesSwappedOut) {
  std::optional<Trace> trace =
      Run("tracepoint:vmscan:mm_vmscan_write_folio { @written = count(); }", "swapcg");
  SKIP_WITHOUT_CGROUP(trace);
  EXPECT_GT(trace->Sum("@written"), 0u) << trace->Describe();
  ExpectCounted(trace->Sum("@written"), *trace->Reported("pswpout"), *trace);
}

TEST_F(MemoryCgroup, SwappedPagesByItem) {
  if (!HasTracepoint("memcg")) GTEST_SKIP() << "this kernel has no memcg tracepoints";
  std::optional<Trace> trace =
      Run("tracepoint:memcg:count_memcg_events /args.item == PSWPIN || args.item == PSWPOUT/ "
          "{ @[args.id, args.item == PSWPIN] = sum(args.val); }",
          "swapcg");
  SKIP_WITHOUT_CGROUP(trace);
  uint64_t in = 0;
  uint64_t out = 0;
  std::string id = std::to_string(*trace->Reported("id"));
  for (const auto& [key, value] : trace->Keyed("@")) {
    if (key == id + ", true" || key == id + ", 1") in += value;
    if (key == id + ", false" || key == id + ", 0") out += value;
  }
  ExpectCounted(in, *trace->Reported("pswpin"), *trace);
  ExpectCounted(out, *trace->Reported("pswpout"), *trace);
}

}  // namespace
}  // namespace memtrace::test
