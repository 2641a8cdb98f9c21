// Mappings, symbols of files and names of this very process.
#include "runtime/symbols/symbolizer.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "compiler/base/file.h"
#include "runtime/symbols/elf_symbols.h"
#include "runtime/symbols/mappings.h"

// Outside of namespaces, to have a plain name.
extern "C" [[gnu::noinline]] int memtrace_test_landmark(int x) { return x * 3 + 1; }

namespace memtrace::symbols {
[[gnu::noinline]] int DemangledLandmark(int x) { return x * 5 + 2; }

namespace {

uint64_t AddressOf(int (*function)(int)) { return reinterpret_cast<uint64_t>(function); }

TEST(Mappings, Lines) {
  std::vector<Mapping> mappings = ParseMappings(
      "00400000-00452000 r-xp 00001000 08:02 173521      /usr/bin/dbus daemon\n"
      "7ffd1000-7ffd3000 rw-p 00000000 00:00 0           [stack]\n"
      "7f001000-7f002000 r-xp 00000000 fe:01 99          /tmp/x (deleted)\n"
      "7f003000-7f004000 rw-p 00000000 00:00 0 \n"
      "nonsense\n");
  ASSERT_EQ(mappings.size(), 4u);
  EXPECT_EQ(mappings[0].name, "/usr/bin/dbus daemon");
  EXPECT_EQ(mappings[0].file_offset, 0x1000u);
  EXPECT_EQ(mappings[0].inode, 173521u);
  EXPECT_EQ(mappings[0].device, 0x8'0000'0002u);
  EXPECT_EQ(mappings[1].name, "/tmp/x");
  EXPECT_EQ(mappings[2].name, "[anon]");
  EXPECT_EQ(mappings[3].name, "[stack]");
  EXPECT_EQ(FindMapping(mappings, 0x400000), &mappings[0]);
  EXPECT_EQ(FindMapping(mappings, 0x451fff), &mappings[0]);
  EXPECT_EQ(FindMapping(mappings, 0x452000), nullptr);
  EXPECT_EQ(FindMapping(mappings, 0x3fffff), nullptr);
  EXPECT_EQ(FindMapping({}, 0), nullptr);
}

TEST(Symbolizer, OurOwnFunctions) {
  Symbolizer symbolizer;
  Frame frame = symbolizer.User(getpid(), AddressOf(memtrace_test_landmark) + 1);
  EXPECT_EQ(frame.symbol, "memtrace_test_landmark");
  EXPECT_EQ(frame.offset, 1u);
  EXPECT_EQ(ToText(frame), "memtrace_test_landmark+1 [unit_tests]");
  EXPECT_EQ(symbolizer.User(getpid(), AddressOf(DemangledLandmark)).symbol,
            "memtrace::symbols::DemangledLandmark(int)");
}

TEST(Symbolizer, ASharedLibrary) {
  Symbolizer symbolizer;
  symbolizer.NoteProcess(getpid());
  // Not one of those that sanitizers put their own in place of.
  void* address = dlsym(RTLD_DEFAULT, "a64l");
  ASSERT_NE(address, nullptr);
  Frame frame = symbolizer.User(getpid(), reinterpret_cast<uint64_t>(address) + 2);
  EXPECT_EQ(frame.symbol, "a64l");
  EXPECT_EQ(ToText(frame), "a64l+2 [libc.so.6]");
}

TEST(Symbolizer, PlacesWithoutSymbols) {
  Symbolizer symbolizer;
  int on_stack = 0;
  EXPECT_EQ(symbolizer.User(getpid(), reinterpret_cast<uint64_t>(&on_stack)).module, "[stack]");
  Frame nowhere = symbolizer.User(getpid(), 0x10);
  EXPECT_EQ(nowhere.symbol, "");
  EXPECT_EQ(nowhere.module, "");
  EXPECT_EQ(ToText(nowhere), "0x10");
}

TEST(Symbolizer, Vdso) {
  uint64_t start = getauxval(AT_SYSINFO_EHDR);
  if (start == 0) GTEST_SKIP() << "this process has no vDSO";
  Symbolizer symbolizer;
  // Its ELF header is no function.
  Frame frame = symbolizer.User(getpid(), start + 4);
  EXPECT_EQ(frame.module, "[vdso]");
  EXPECT_EQ(frame.symbol, "");
  bool found = false;
  for (uint64_t offset = 0; offset < 8192 && !found; offset += 16) {
    found =
        symbolizer.User(getpid(), start + offset).symbol.find("clock_gettime") != std::string::npos;
  }
  EXPECT_TRUE(found);
}

TEST(Symbolizer, AProcessThatIsGone) {
  Symbolizer symbolizer;
  Frame frame = symbolizer.User(0x7fffffff, 0x1234);
  EXPECT_EQ(ToText(frame), "0x1234");
  symbolizer.NoteProcess(0x7fffffff);
}

TEST(Symbolizer, Text) {
  EXPECT_EQ(ToText({.symbol = "do_anonymous_page", .offset = 123, .module = "", .address = 1}),
            "do_anonymous_page+123");
  EXPECT_EQ(ToText({.symbol = "f", .offset = 0, .module = "ext4", .address = 1}), "f [ext4]");
  EXPECT_EQ(
      ToText({.symbol = "", .offset = 0x2a1f0, .module = "/usr/lib/libc.so.6", .address = 0x7f00}),
      "0x7f00 [libc.so.6+0x2a1f0]");
  EXPECT_EQ(ToText({.symbol = "", .offset = 16, .module = "[heap]", .address = 0x7f}),
            "0x7f [heap+0x10]");
}

TEST(ElfSymbols, WhatIsNoElfHasNoSymbols) {
  UniqueFd fd(open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC));
  ElfSymbols symbols = ElfSymbols::FromFile(fd.get());
  EXPECT_EQ(symbols.size(), 0u);
  EXPECT_FALSE(symbols.Find(0x1000).has_value());
  EXPECT_FALSE(symbols.AddressOf(0).has_value());
}

}  // namespace
}  // namespace memtrace::symbols
