// Names for kernel addresses out of the text of kallsyms.
#include "compiler/kernel/kallsyms.h"

#include <string>

#include <gtest/gtest.h>

namespace memtrace::kernel {
namespace {

constexpr char kText[] =
    "0000000000000000 A fixed_percpu_data\n"
    "ffffffff81000000 T _stext\n"
    "ffffffff81000040 t __do_helper\n"
    "ffffffff81000040 T do_helper\n"
    "ffffffff81000050 d some_data\n"
    "ffffffffc0a01000 t ext4_map_blocks\t[ext4]\n"
    "nonsense\n";

TEST(Kallsyms, NearestSymbolBelow) {
  Kallsyms symbols = Kallsyms::Parse(kText);
  EXPECT_EQ(symbols.size(), 3u);
  auto found = symbols.Find(0xffffffff8100003f);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->name, "_stext");
  EXPECT_EQ(found->offset, 0x3fu);
  EXPECT_EQ(found->module, "");
  found = symbols.Find(0xffffffff81000060);  // data does not hide code
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->name, "do_helper");
  EXPECT_EQ(found->offset, 0x20u);
}

TEST(Kallsyms, Modules) {
  Kallsyms symbols = Kallsyms::Parse(kText);
  auto found = symbols.Find(0xffffffffc0a01001);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->name, "ext4_map_blocks");
  EXPECT_EQ(found->module, "ext4");
  EXPECT_EQ(found->offset, 1u);
}

TEST(Kallsyms, NothingFarFromEverySymbol) {
  Kallsyms symbols = Kallsyms::Parse(kText);
  EXPECT_FALSE(symbols.Find(0x1000).has_value());
  EXPECT_FALSE(symbols.Find(0xffffffffa0000000).has_value());
  EXPECT_FALSE(symbols.Find(UINT64_MAX).has_value());
}

TEST(Kallsyms, WithoutRightsNothingHasAName) {
  Kallsyms symbols = Kallsyms::Parse("0000000000000000 T _stext\n0000000000000000 T start\n");
  EXPECT_EQ(symbols.size(), 0u);
  EXPECT_FALSE(symbols.Find(0).has_value());
}

TEST(KallsymsTest, NameToAddress) {
  constexpr std::string_view kText =
      "ffffffff81001000 T do_mmap_pgoff\n"
      "ffffffff81001400 T do_mmap\n"
      "0000000000012340 D jiffies\n"
      "ffffffffc0000400 t loop_queue_rq\t[loop]\n";
  EXPECT_EQ(AddressOfKernelSymbol(kText, "do_mmap").value(), 0xffffffff81001400u);
  EXPECT_EQ(AddressOfKernelSymbol(kText, "jiffies").value(), 0x12340u);
  EXPECT_EQ(AddressOfKernelSymbol(kText, "loop_queue_rq").value(), 0xffffffffc0000400u);
  for (const char* absent : {"mmap", "do_mm", "[loop]", "loop", "T", ""}) {
    EXPECT_EQ(AddressOfKernelSymbol(kText, absent).error().kind(), ErrorKind::kNotFound) << absent;
  }
}

TEST(KallsymsTest, HiddenAddressesAreToldApart) {
  constexpr std::string_view kHidden = "0000000000000000 T a\n0000000000000000 D b\n";
  EXPECT_FALSE(ShowsAddresses(kHidden));
  EXPECT_FALSE(ShowsAddresses(""));
  EXPECT_TRUE(ShowsAddresses("0000000000000000 A zero\n0000000000001000 D b"));
  EXPECT_EQ(AddressOfKernelSymbol(kHidden, "b").error().kind(), ErrorKind::kPermission);
}

}  // namespace
}  // namespace memtrace::kernel
