// Kernel functions, swap on compressed memory, huge pages and a limit that is hit: what the
// machines of the vm lane are made for.

#include <fstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <re2/re2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/tracer.h"

namespace memtrace::test {
namespace {

constexpr const char* kCgroups = "/sys/fs/cgroup/";

// The number in a line `NAME NUMBER` of one of the kernel's files.
uint64_t Counter(const std::string& path, const std::string& name) {
  std::ifstream stream(path);
  std::string key;
  for (uint64_t value; stream >> key >> value;) {
    if (key == name) return value;
  }
  return 0;
}

// A version 2 memory cgroup of this test's own.
class MemoryLimit : public TracerTest {
 protected:
  void SetUp() override {
    TracerTest::SetUp();
    if (IsSkipped()) return;
    if (access((std::string(kCgroups) + "cgroup.controllers").c_str(), F_OK) != 0) {
      GTEST_SKIP() << "needs cgroup v2";
    }
    directory_ = kCgroups + ("test." + std::to_string(getpid()));
    ASSERT_EQ(mkdir(directory_.c_str(), 0755), 0);
  }
  void TearDown() override {
    if (!directory_.empty()) rmdir(directory_.c_str());
  }

  void Set(const char* file, const std::string& value) {
    std::ofstream stream(directory_ + "/" + file);
    stream << value << std::flush;
    ASSERT_TRUE(stream.good()) << file;
  }

  // A child in the cgroup writes to fresh pages; what waitpid says of it.
  int Touch(size_t bytes) {
    pid_t child = fork();
    if (child == 0) {
      std::ofstream(directory_ + "/cgroup.procs") << "0" << std::flush;
      void* memory =
          mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED) _exit(2);
      madvise(memory, bytes, MADV_NOHUGEPAGE);
      // Never zero: the kernel only notes a page of zeros.
      for (size_t at = 0; at < bytes; at += 4096) static_cast<volatile char*>(memory)[at] = 'x';
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }

  std::string directory_;
};

TEST_F(MemoryLimit, TheVictimIsNamed) {
  Set("memory.max", "33554432");
  Set("memory.swap.max", "0");
  Tracer tracer = Tracer::Start({.program = "tracepoint:oom:mark_victim { @[args.pid] = count(); }",
                                 .command = "ready 20",
                                 .options = {"-a"}});
  ASSERT_TRUE(tracer.WaitFor("ready"));
  int status = Touch(size_t{200} << 20);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  tracer.Signal(SIGINT);
  Trace trace = tracer.Finish();
  EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
  EXPECT_EQ(trace.Keyed("@").size(), 1u) << trace.Describe();
  EXPECT_EQ(Counter(directory_ + "/memory.events", "oom_kill"), 1u);
}

TEST_F(MemoryLimit, WrittenFoliosAreThePagesSwappedToZram) {
  if (access("/sys/block/zram0", F_OK) != 0) GTEST_SKIP() << "needs swap on zram";
  Set("memory.max", "33554432");
  uint64_t before = Counter("/proc/vmstat", "pswpout");
  Tracer tracer =
      Tracer::Start({.program = "tracepoint:vmscan:mm_vmscan_write_folio { @ = count(); }",
                     .command = "ready 20",
                     .options = {"-a"}});
  ASSERT_TRUE(tracer.WaitFor("ready"));
  EXPECT_EQ(Touch(size_t{64} << 20), 0);
  tracer.Signal(SIGINT);
  Trace trace = tracer.Finish();
  uint64_t written = Counter("/proc/vmstat", "pswpout") - before;
  EXPECT_GT(written, 8000u);
  EXPECT_EQ(trace.Sum("@"), written) << trace.Describe();
}

class Machine : public TracerTest {};

TEST_F(Machine, HugePagesFaultOnceEach) {
  constexpr size_t kHugePage = size_t{2} << 20;
  void* memory =
      mmap(reinterpret_cast<void*>(0x100000000000), 8 * kHugePage, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_FIXED_NOREPLACE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "needs eight free huge pages";
  Tracer tracer = Tracer::Start(
      {.program = "tracepoint:exceptions:page_fault_user /args.address >= 0x100000000000 && "
                  "args.address < 0x100001000000/ { @ = count(); }",
       .command = "ready 20",
       .options = {"-a"}});
  ASSERT_TRUE(tracer.WaitFor("ready"));
  for (size_t at = 0; at < 8 * kHugePage; at += 4096) static_cast<volatile char*>(memory)[at] = 1;
  munmap(memory, 8 * kHugePage);
  tracer.Signal(SIGINT);
  Trace trace = tracer.Finish();
  EXPECT_EQ(trace.Sum("@"), 8u) << trace.Describe();
}

// Reading a file without blocks fills the page cache until free memory is at the marks, which are
// set to about a third of the memory meanwhile. Who reclaims then checks them again and again.
TEST_F(Machine, FailedChecksOfAWatermarkAreShown) {
  if (!HasKprobes()) GTEST_SKIP() << "this kernel has no kprobes";
  const std::string factor = "/proc/sys/vm/watermark_scale_factor";
  std::string path = "/var/tmp/watermark." + std::to_string(getpid());
  int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  unlink(path.c_str());
  uint64_t size = Counter("/proc/meminfo", "MemTotal:") << 10;
  ASSERT_EQ(ftruncate(file, static_cast<off_t>(size)), 0);
  std::ofstream(factor) << "3000" << std::flush;
  Tracer tracer = Tracer::Start(
      {.command = "ready 60", .options = {"-a", "--raw"}, .script = {"watermark.mt"}});
  bool is_ready = tracer.WaitFor("ready");
  std::vector<char> block(1 << 20);
  for (uint64_t done = 0; is_ready && done < size; done += block.size()) {
    if (read(file, block.data(), block.size()) <= 0) break;
  }
  close(file);
  std::ofstream(factor) << "10" << std::flush;
  tracer.Signal(SIGINT);
  Trace trace = tracer.Finish();
  ASSERT_TRUE(is_ready) << trace.Describe();
  EXPECT_EQ(trace.exit_status, 0) << trace.Describe();

  static const RE2 line(
      "(?m)^\\d\\d:\\d\\d:\\d\\d +\\d+ \\S+ +(DMA|DMA32|Normal|Movable) +\\d+ +(\\d+) +(\\d+) "
      "+(\\d+)  "
      "(below|no block)$");
  re2::StringPiece input(trace.out);
  std::string zone, why;
  uint64_t mark, available, reserve, lines = 0, below = 0;
  while (RE2::FindAndConsume(&input, line, &zone, &mark, &available, &reserve, &why)) {
    ++lines;
    below += why == "below";
    EXPECT_EQ(why == "below", available <= mark + reserve) << zone;
  }
  EXPECT_GT(below, 0u) << trace.Describe();
  uint64_t failed = 0;
  for (const auto& [key, count] : trace.Keyed("@failed")) failed += count;
  EXPECT_LE(lines, failed) << trace.Describe();
  EXPECT_GE(lines + trace.Lost("events? \\(ring"), failed) << trace.Describe();
}

// What the kernel leaves behind the name differs from call to call.
TEST_F(Machine, ANameIsOneKey) {
  Trace trace =
      RunTracer({.program = "tracepoint:exceptions:page_fault_user { @[comm] = count(); }",
                 .command = "touch 100",
                 .options = {}});
  EXPECT_EQ(trace.Lines("@\\[touch\\]: \\d+").size(), 1u) << trace.Describe();
}

TEST_F(Machine, KernelFunctionsCountTheirCalls) {
  Trace trace = RunTracer({.program = "kprobe:do_sys_openat2 /comm == \"opener\"/ { @ = count(); }",
                           .command = "opener /nowhere 50",
                           .options = {}});
  EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
  EXPECT_GE(trace.Sum("@"), 50u) << trace.Describe();
}

}  // namespace
}  // namespace memtrace::test
