#include "compiler/kernel/syscalls.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include "compiler/kernel/kernel.h"
#include "compiler/kernel/syscall_arguments.h"

namespace memtrace::kernel {
namespace {

TEST(SyscallsTest, NumbersAreThoseOfThisMachine) {
  EXPECT_EQ(SyscallNumber("read"), uint32_t{SYS_read});
  EXPECT_EQ(SyscallNumber("brk"), uint32_t{SYS_brk});
  EXPECT_EQ(SyscallNumber("mmap"), uint32_t{SYS_mmap});
  EXPECT_EQ(SyscallNumber("process_madvise"), uint32_t{SYS_process_madvise});
  EXPECT_EQ(SyscallNumber("nothing"), std::nullopt);
}

TEST(SyscallsTest, AliasesOfTheKernel) {
  EXPECT_EQ(SyscallNumber("newfstat"), uint32_t{SYS_fstat});
  EXPECT_EQ(SyscallNumber("newuname"), uint32_t{SYS_uname});
  EXPECT_EQ(SyscallNumber("sendfile64"), uint32_t{SYS_sendfile});
  EXPECT_EQ(SyscallNumber("umount"), uint32_t{SYS_umount2});
  EXPECT_EQ(SyscallNumber("umount2"), std::nullopt);
#if defined(__x86_64__)
  EXPECT_EQ(SyscallNumber("newstat"), uint32_t{SYS_stat});
  EXPECT_EQ(SyscallNumber("newlstat"), uint32_t{SYS_lstat});
#endif
}

TEST(SyscallsTest, NamesAndNumbersGoBothWays) {
  size_t named = 0;
  for (uint32_t number = 0; number < SyscallCount(); ++number) {
    std::string_view name = SyscallName(number);
    if (name.empty()) continue;
    ++named;
    EXPECT_EQ(SyscallNumber(name), number);
  }
  EXPECT_GT(named, 300u);
  EXPECT_TRUE(SyscallName(SyscallCount()).empty());
}

TEST(SyscallsTest, EveryEventOfThisKernelHasANumber) {
  types::TypeTable types;
  Kernel kernel(Roots{}, types);
  auto events = kernel.Tracepoints();
  if (!events.ok()) GTEST_SKIP() << events.error().message();
  size_t calls = 0;
  std::string missing;
  for (const TracepointName& name : *events.value()) {
    constexpr std::string_view kPrefix = "sys_enter_";
    if (name.category != "syscalls" || !name.event.starts_with(kPrefix)) continue;
    ++calls;
    std::string call = name.event.substr(kPrefix.size());
    if (!SyscallNumber(call)) missing += " " + call;
  }
  if (calls == 0) GTEST_SKIP() << "this kernel has no events of single system calls";
  EXPECT_EQ(missing, "");
}

TEST(SyscallsTest, ArgumentsThatTheManualCallsInt) {
  types::TypeTable types;
  EXPECT_EQ(SyscallArgumentType("mmap", "fd", types).Name(), "int32");
  EXPECT_EQ(SyscallArgumentType("mmap", "prot", types).Name(), "int32");
  EXPECT_EQ(SyscallArgumentType("write", "fd", types).Name(), "int32");
  EXPECT_EQ(SyscallArgumentType("pkey_alloc", "init_val", types).Name(), "uint32");
  EXPECT_FALSE(SyscallArgumentType("mmap", "addr", types));
  EXPECT_FALSE(SyscallArgumentType("mount", "flags", types));
}

}  // namespace
}  // namespace memtrace::kernel
