// Probes on kernel functions: every call is seen, with its arguments, however the probe is
// attached.
//
// A machine without kprobes and fentry only shows what is said there; the virtual machines have
// both.

#include <string>

#include <gtest/gtest.h>

#include "tests/support/tracer.h"

namespace memtrace::test {
namespace {

// How `memtrace -v --dry-run` says that the probe would be attached.
std::string Plan(const std::string& program, const std::vector<std::string>& more = {}) {
  std::vector<std::string> options = {"--dump=plan"};
  options.insert(options.end(), more.begin(), more.end());
  return RunTracer({.program = program, .command = "", .options = options}).out;
}

class Functions : public PerfDeviceTest {
 protected:
  Functions() : PerfDeviceTest("kprobe", "this kernel has no kprobes") {}
};

class NoFunctions : public TracerTest {};

constexpr uint64_t kCalls = 1009;  // of each thread

// Every entry and every return of four threads at once.
void ExpectExact(const std::string& entry, const std::string& exit,
                 const std::vector<std::string>& options) {
  Trace trace = RunTracer({.program = entry + " /comm == \"threads\"/ { @entry = count(); } " +
                                      exit + " /comm == \"threads\"/ { @exit = count(); }",
                           .command = "threads 4 1009 0 getpgid",
                           .options = options});
  EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
  EXPECT_EQ(trace.Sum("@entry"), 4 * kCalls) << trace.Describe();
  EXPECT_EQ(trace.Sum("@exit"), 4 * kCalls) << trace.Describe();
  EXPECT_EQ(trace.err.find("lost:"), std::string::npos) << trace.Describe();
}

TEST_F(Functions, FentryAndFexitSeeEveryCall) {
  ExpectExact("fentry:__x64_sys_getpgid", "fexit:__x64_sys_getpgid", {});
}

TEST_F(Functions, KprobeAndKretprobeSeeEveryCall) {
  ExpectExact("kprobe:__x64_sys_getpgid", "kretprobe:__x64_sys_getpgid", {});
}

TEST_F(Functions, KprobesOfPerfSeeEveryCall) {
  ExpectExact("kprobe:__x64_sys_getpgid", "kretprobe:__x64_sys_getpgid",
              {"--config", "attach=classic"});
}

TEST_F(Functions, AnOffsetIsAPlaceInTheFunction) {
  Trace trace =
      RunTracer({.program = "kprobe:__x64_sys_getpgid+0 /comm == \"threads\"/ { @ = count(); }",
                 .command = "threads 1 1009 0 getpgid"});
  EXPECT_EQ(trace.Sum("@"), kCalls) << trace.Describe();
}

// More functions than get a trampoline each: kprobe.multi where it is, else kprobes of perf.
TEST_F(Functions, AWildcardSeesEveryCallAndKnowsItsFunctions) {
  Trace trace = RunTracer({.program = "kprobe:__x64_sys_get* /comm == \"threads\"/ "
                                      "{ @[func] = count(); @by[probe] = count(); }",
                           .command = "threads 4 1009 0 getpgid"});
  EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
  EXPECT_EQ(trace.Keyed("@")["__x64_sys_getpgid"], 4 * kCalls) << trace.Describe();
  EXPECT_EQ(trace.Keyed("@by")["kprobe:__x64_sys_getpgid"], 4 * kCalls) << trace.Describe();
}

TEST_F(Functions, AWildcardSeesEveryReturn) {
  Trace trace = RunTracer({.program = "kretprobe:__x64_sys_get* /comm == \"threads\"/ "
                                      "{ @[func] = count(); }",
                           .command = "threads 4 1009 0 getpgid"});
  EXPECT_EQ(trace.Keyed("@")["__x64_sys_getpgid"], 4 * kCalls) << trace.Describe();
}

// The workload reads 13 times 777 bytes from /dev/zero.
TEST_F(Functions, ArgumentsAreTyped) {
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{}, {"--config", "attach=classic"}}) {
    Trace trace = RunTracer(
        {.program =
             "kprobe:vfs_read /comm == \"reader\" && args.count == 777/ "
             "{ @[str(args.file.f_path.dentry.d_name.name)] = sum(args.count); } "
             "kretprobe:vfs_read /comm == \"reader\" && retval == 777/ { @got = sum(retval); }",
         .command = "reader 13 777",
         .options = options});
    EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
    EXPECT_EQ(trace.Keyed("@")["zero"], 13 * 777u) << trace.Describe();
    EXPECT_EQ(trace.Sum("@got"), 13 * 777u) << trace.Describe();
  }
}

TEST_F(Functions, ArgumentsAreThereAtTheReturn) {
  Trace trace = RunTracer({.program = "fexit:vfs_read /comm == \"reader\" && args.count == 777/ "
                                      "{ @[args.count, retval] = count(); }",
                           .command = "reader 13 777"});
  EXPECT_EQ(trace.Keyed("@")["777, 777"], 13u) << trace.Describe();
}

// The number of each thread is what it asks getpgid() about.
TEST_F(Functions, ArgumentsAreFollowedThroughPointers) {
  Trace trace = RunTracer({.program = "kprobe:__x64_sys_getpgid /comm == \"threads\"/ "
                                      "{ @[args.regs.di] = count(); }",
                           .command = "threads 4 1009 0 getpgid"});
  for (const char* number : {"0", "1", "2", "3"}) {
    EXPECT_EQ(trace.Keyed("@")[number], kCalls) << number << trace.Describe();
  }
}

// The seventh and eighth argument of do_mmap lie on the stack.
TEST_F(Functions, ArgumentsBeyondTheRegistersAreReadFromTheStack) {
  std::string program =
      "kprobe:do_mmap { @all = count(); } kprobe:do_mmap /args.populate != 0/ { @has = count(); }";
  Trace trace = RunTracer(
      {.program = program, .command = "reader 13 777", .options = {"--config", "attach=classic"}});
  EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
  EXPECT_GT(trace.Sum("@all"), 0u) << trace.Describe();
  EXPECT_EQ(trace.Sum("@all"), trace.Sum("@has")) << trace.Describe();
}

TEST_F(Functions, TheUsersSpellingStaysInProbe) {
  Trace trace = RunTracer({.program = "kprobe:__x64_sys_getpgid /comm == \"threads\"/ "
                                      "{ @[probe, func] = count(); }",
                           .command = "threads 1 1009 0 getpgid"});
  EXPECT_EQ(trace.Keyed("@")["kprobe:__x64_sys_getpgid, __x64_sys_getpgid"], kCalls)
      << trace.Describe();
}

// What serves do_mmap is found by trying; it is attached either way.
TEST_F(Functions, EightArgumentsAreServedSomehow) {
  std::string plan = Plan("kprobe:do_mmap { @ = count(); }");
  EXPECT_NE(plan.find("do_mmap"), std::string::npos) << plan;
  Trace trace =
      RunTracer({.program = "kprobe:do_mmap { @ = count(); }", .command = "reader 13 777"});
  EXPECT_EQ(trace.exit_status, 0) << trace.Describe();
  EXPECT_GT(trace.Sum("@"), 0u) << trace.Describe();
}

// Nothing of ours is on top of a stack.
void ExpectTopFrame(const std::string& program, const std::string& frame,
                    const std::vector<std::string>& options) {
  Trace trace =
      RunTracer({.program = program, .command = "threads 1 1 0 getpgid", .options = options});
  size_t begin = trace.out.find("@[");
  ASSERT_NE(begin, std::string::npos) << trace.Describe();
  std::string top = trace.out.substr(begin, 120);
  EXPECT_NE(top.find(frame), std::string::npos) << trace.Describe();
  EXPECT_EQ(trace.out.find("bpf_"), std::string::npos) << trace.Describe();
}

TEST_F(Functions, AStackBeginsWithTheFunction) {
  std::string body = " /comm == \"threads\"/ { @[kstack(3)] = count(); }";
  ExpectTopFrame("fentry:__x64_sys_getpgid" + body, "__x64_sys_getpgid", {});
  ExpectTopFrame("kprobe:__x64_sys_getpgid" + body, "__x64_sys_getpgid",
                 {"--config", "attach=classic"});
  // Enough functions for kprobe.multi.
  ExpectTopFrame("kprobe:__x64_sys_getp*, kprobe:__x64_sys_sett*" + body, "__x64_sys_getpgid", {});
}

TEST_F(NoFunctions, AStackOfARawTracepointBeginsInTheKernel) {
  Trace trace =
      RunTracer({.program = "rawtracepoint:sys_enter /comm == \"threads\" && arg1 == 121/ "
                            "{ @[kstack(8)] = count(); }",
                 .command = "threads 1 1009 0 getpgid"});
  EXPECT_EQ(trace.out.find("bpf_"), std::string::npos) << trace.Describe();
  EXPECT_NE(trace.out.find("do_syscall_64"), std::string::npos) << trace.Describe();
}

TEST_F(NoFunctions, AKernelWithoutThemSaysSo) {
  if (HasKprobes()) GTEST_SKIP() << "this kernel has kprobes";
  Trace trace = RunTracer({.program = "kprobe:oom_kill_process { @ = count(); }", .command = ""});
  EXPECT_EQ(trace.exit_status, 1);
  EXPECT_NE(trace.err.find("can't be attached: this kernel is built without kprobes"),
            std::string::npos)
      << trace.Describe();
  EXPECT_NE(trace.err.find("tracepoint:oom:mark_victim"), std::string::npos) << trace.Describe();
}

}  // namespace
}  // namespace memtrace::test
