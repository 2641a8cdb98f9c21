#include "compiler/kernel/functions.h"

#include <gtest/gtest.h>

namespace memtrace::kernel {
namespace {

constexpr char kSymbols[] =
    "ffffffff81000000 T vfs_read\n"
    "ffffffff81000100 t do_vfs_read\n"
    "ffffffff81000200 t vfs_read.constprop.0\n"
    "ffffffff81000300 t vfs_read.cold\n"
    "ffffffff81000400 t vfs_read.part.0\n"
    "ffffffff81000500 D vfs_read_data\n"
    "ffffffff81000600 t twin\n"
    "ffffffff81000700 t twin\n"
    "ffffffffc0000000 t twin\t[loop]\n"
    "ffffffffc0000100 t bpf_prog_6deef7357e7b4530\t[bpf]\n";
constexpr char kTraceable[] =
    "twin\n"
    "__ftrace_invalid_address___123\n"
    "twin [loop]\n"
    "vfs_read\n";

std::string Names(const std::vector<FunctionSymbol>& symbols) {
  std::string names;
  for (const FunctionSymbol& symbol : symbols) {
    if (!names.empty()) names += ' ';
    if (!symbol.module.empty()) names += std::string(symbol.module) + ":";
    names += symbol.name;
  }
  return names;
}

TEST(Functions, ANameIsFoundWithWhatTheCompilerMadeOfIt) {
  Functions functions(kSymbols, std::nullopt);
  EXPECT_EQ(Names(functions.Named("vfs_read")),
            "vfs_read vfs_read.constprop.0 vfs_read.cold vfs_read.part.0");
  EXPECT_EQ(Names(functions.Named("vfs_read.part.0")), "vfs_read.part.0");
  EXPECT_EQ(Names(functions.Named("vfs")), "");
  EXPECT_EQ(Names(functions.Named("vfs_read_data")), "");
  EXPECT_EQ(functions.Named("vfs_read")[0].address, 0xffffffff81000000u);
}

TEST(Functions, ANameMayStandForSeveralPlaces) {
  EXPECT_EQ(Names(Functions(kSymbols, std::nullopt).Named("twin")), "twin twin loop:twin");
}

TEST(Functions, AllAreThoseThatCanBeTraced) {
  EXPECT_EQ(Names(Functions(kSymbols, kTraceable).All()), "twin twin loop:twin vfs_read");
}

TEST(Functions, WithoutAListAllAreTheCodeOfTheKernel) {
  EXPECT_EQ(Names(Functions(kSymbols, std::nullopt).All()),
            "do_vfs_read twin twin loop:twin vfs_read vfs_read.constprop.0 vfs_read.part.0");
}

TEST(Functions, TraceableIsAWholeLine) {
  Functions functions(kSymbols, kTraceable);
  EXPECT_TRUE(functions.IsTraceable("twin"));
  EXPECT_TRUE(functions.IsTraceable("vfs_read"));
  EXPECT_FALSE(functions.IsTraceable("vfs"));
  EXPECT_FALSE(functions.IsTraceable("read"));
  EXPECT_TRUE(Functions(kSymbols, std::nullopt).IsTraceable("anything"));
}

TEST(Functions, SuffixesTellWhatTheCompilerDid) {
  EXPECT_EQ(SuffixOf("f"), Suffix::kNone);
  EXPECT_EQ(SuffixOf("f.isra.0"), Suffix::kCopy);
  EXPECT_EQ(SuffixOf("f.constprop.0.isra.0"), Suffix::kCopy);
  EXPECT_EQ(SuffixOf("f.part.0"), Suffix::kPart);
  EXPECT_EQ(SuffixOf("f.constprop.0.cold"), Suffix::kCold);
  EXPECT_EQ(BaseName("f.isra.0"), "f");
}

TEST(Functions, NothingIsKnownWithoutKallsyms) {
  Functions functions("", std::nullopt);
  EXPECT_FALSE(functions.has_symbols());
  EXPECT_TRUE(functions.Named("vfs_read").empty());
  EXPECT_TRUE(functions.All().empty());
}

}  // namespace
}  // namespace memtrace::kernel
