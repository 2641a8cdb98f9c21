// Iterators show exactly what /proc shows, and clauses run upon signals.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/outsider.h"
#include "tests/support/tracer.h"

namespace memtrace::test {
namespace {

size_t LinesOfFile(const std::string& path) {
  std::ifstream file(path);
  size_t lines = 0;
  for (std::string line; std::getline(file, line);) lines += line.find("[vsyscall]") == line.npos;
  return lines;
}

class Iterators : public TracerTest {
 protected:
  static Trace RunLossless(const TraceOptions& options) {
    Trace trace = RunTracer(options);
    EXPECT_EQ(trace.failure, "") << trace.Describe();
    EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
    EXPECT_EQ(trace.Lost(""), 0u) << trace.Describe();
    return trace;
  }
};

TEST_F(Iterators, AllThreadsOfAProcess) {
  Outsider threads({"threads", "3", "20", "20"});
  std::filesystem::path tasks = "/proc/" + std::to_string(threads.pid()) + "/task";
  auto count = [&] {
    return std::distance(std::filesystem::directory_iterator(tasks),
                         std::filesystem::directory_iterator());
  };
  while (count() < 4) usleep(1000);
  Trace trace = RunLossless({.program = "begin { @begun++; } "
                                        "iter:task { @[args.task.comm] = count(); } "
                                        "end { @ended++; }",
                             .options = {"-p", std::to_string(threads.pid())}});
  EXPECT_EQ(trace.Keyed("@"), (std::map<std::string, uint64_t>{{"threads", 4}}))
      << trace.Describe();
  EXPECT_EQ(trace.Sum("@begun") + trace.Sum("@ended"), 2u) << trace.Describe();
}

TEST_F(Iterators, MappingsAreThoseOfProc) {
  Outsider ready({"ready", "20"});
  ready.WaitForLine();
  std::string pid = std::to_string(ready.pid());
  Trace trace = RunLossless({.program = "iter:task_vma { @ = count(); printf(\"%llx\\n\", "
                                        "args.vma.vm_end - args.vma.vm_start); }",
                             .options = {"-p", pid}});
  size_t mappings = LinesOfFile("/proc/" + pid + "/maps");
  EXPECT_EQ(trace.Sum("@"), mappings) << trace.Describe();
  EXPECT_EQ(trace.Lines("[0-9a-f]+000").size(), mappings) << trace.Describe();
}

TEST_F(Iterators, SlabCachesAreThoseOfProc) {
  constexpr size_t kHeader = 2;
  size_t caches = LinesOfFile("/proc/slabinfo");
  if (caches <= kHeader) GTEST_SKIP() << "this kernel shows no /proc/slabinfo";
  Trace trace = RunTracer({.program = "iter:kmem_cache { @ = count(); }"});
  if (trace.err.find("no iterator") != std::string::npos) {
    GTEST_SKIP() << "this kernel has no iterator over slab caches";
  }
  EXPECT_EQ(trace.Sum("@"), caches - kHeader) << trace.Describe();
}

// The reader rests between a few objects and the next, so that a small ring is enough.
TEST_F(Iterators, PrintAllMappingsThroughASmallRing) {
  Trace trace = RunLossless({.program = "iter:task_vma { @ = count(); printf(\"vma %d\\n\", 1); }",
                             .options = {"--config", "ring_size=4096"}});
  EXPECT_GT(trace.Sum("@"), 200u) << trace.Describe();
  EXPECT_EQ(trace.Lines("vma 1").size(), trace.Sum("@")) << trace.Describe();
}

TEST_F(Iterators, RunAgainAfterATime) {
  Outsider ready({"ready", "20"});
  ready.WaitForLine();
  Trace trace = RunLossless({.program = "iter:task:100ms { @ = count(); }",
                             .options = {"-p", std::to_string(ready.pid()), "--duration", "1s"}});
  EXPECT_GE(trace.Sum("@"), 5u) << trace.Describe();
  EXPECT_LE(trace.Sum("@"), 10u) << trace.Describe();
}

TEST_F(Iterators, ClausesRunUponTheirSignal) {
  Tracer tracer =
      Tracer::Start({.program = "begin { @ = count(); } "
                                "self:signal:USR1 { print(@); clear(@); printf(\"one\\n\"); } "
                                "self:signal:SIGUSR2 { printf(\"two\\n\"); }",
                     .command = "ready 20"});
  ASSERT_TRUE(tracer.WaitFor("ready"));
  tracer.Signal(SIGUSR1);
  ASSERT_TRUE(tracer.WaitFor("one"));
  tracer.Signal(SIGUSR2);
  ASSERT_TRUE(tracer.WaitFor("two"));
  tracer.Signal(SIGINT);
  Trace trace = tracer.Finish();
  EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
  EXPECT_EQ(trace.Lines("one").size(), 1u) << trace.Describe();
  EXPECT_EQ(trace.Sum("@"), 1u) << trace.Describe();
}

}  // namespace
}  // namespace memtrace::test
