#include "compiler/kernel/kernel.h"

#include <chrono>

#include <gtest/gtest.h>

namespace memtrace::kernel {
namespace {

const char* const kFixture = MT_SOURCE_DIR "/tests/fixture";

class FixtureKernelTest : public testing::Test {
 protected:
  types::TypeTable types_;
  Kernel kernel_{Roots::Fixture(kFixture), types_};
};

TEST_F(FixtureKernelTest, Machine) {
  EXPECT_EQ(kernel_.possible_cpus(), 4u);
  EXPECT_EQ(kernel_.online_cpus(), (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(kernel_.release(), "6.18.0-fixture");
  EXPECT_EQ(kernel_.page_size(), 4096u);
}

TEST_F(FixtureKernelTest, TracepointsAreSorted) {
  auto names = kernel_.Tracepoints();
  ASSERT_TRUE(names.ok()) << names.error().message();
  EXPECT_TRUE(std::is_sorted(names.value()->begin(), names.value()->end()));
  EXPECT_GE(names.value()->size(), 25u);
}

TEST_F(FixtureKernelTest, HasTracepoint) {
  EXPECT_TRUE(kernel_.HasTracepoint({"kmem", "mm_page_alloc"}).value());
  EXPECT_FALSE(kernel_.HasTracepoint({"kmem", "nothing"}).value());
  EXPECT_FALSE(kernel_.HasTracepoint({"..", "events"}).value());
  EXPECT_FALSE(kernel_.HasTracepoint({"kmem", "../kmem/kfree"}).value());
  EXPECT_FALSE(kernel_.HasTracepoint({"", ""}).value());
}

TEST_F(FixtureKernelTest, FormatsAreKept) {
  auto format = kernel_.Format({"kmem", "mm_page_alloc"});
  ASSERT_TRUE(format.ok()) << format.error().message();
  EXPECT_EQ(format.value()->name, "mm_page_alloc");
  EXPECT_EQ(kernel_.Format({"kmem", "mm_page_alloc"}).value(), format.value());
  auto nothing = kernel_.Format({"kmem", "nothing"});
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.error().kind(), ErrorKind::kNotFound);
  EXPECT_EQ(nothing.error().message(), "kmem:nothing: no such tracepoint");
}

TEST_F(FixtureKernelTest, EveryFormatIsUnderstood) {
  auto names = kernel_.Tracepoints();
  ASSERT_TRUE(names.ok());
  for (const TracepointName& name : *names.value()) {
    auto format = kernel_.Format(name);
    EXPECT_TRUE(format.ok()) << format.error().message();
  }
}

TEST_F(FixtureKernelTest, TypesOfFieldsComeFromBtf) {
  auto format = kernel_.Format({"vmscan", "mm_shrink_slab_start"});
  ASSERT_TRUE(format.ok());
  EXPECT_EQ(format.value()->members[0].type.Name(), "struct shrinker *");
  auto mmap = kernel_.Format({"syscalls", "sys_enter_mmap"});
  ASSERT_TRUE(mmap.ok());
  for (const types::Member& member : mmap.value()->members) {
    if (member.name == "fd") {
      EXPECT_EQ(member.type.Name(), "int32");
    }
  }
}

TEST_F(FixtureKernelTest, Btf) {
  auto btf = kernel_.LoadBtf();
  ASSERT_TRUE(btf.ok()) << btf.error().message();
  EXPECT_EQ(kernel_.LoadBtf().value(), btf.value());
  EXPECT_TRUE(btf.value()->TypeNamed("struct task_struct"));
}

TEST(EmptyKernelTest, SaysWhatIsMissing) {
  types::TypeTable types;
  Kernel kernel(Roots::Fixture("/nonexistent"), types);
  EXPECT_EQ(kernel.LoadBtf().error().kind(), ErrorKind::kNotFound);
  EXPECT_EQ(kernel.Tracefs().error().kind(), ErrorKind::kNotFound);
  EXPECT_EQ(kernel.possible_cpus(), 1u);
  EXPECT_EQ(kernel.release(), "");
}

TEST(LiveKernelTest, EveryFormatIsUnderstood) {
  types::TypeTable types;
  Kernel kernel(Roots{}, types);
  auto names = kernel.Tracepoints();
  if (!names.ok()) GTEST_SKIP() << names.error().message();
  for (const TracepointName& name : *names.value()) {
    auto format = kernel.Format(name);
    if (!format.ok() && format.error().kind() == ErrorKind::kPermission) continue;
    ASSERT_TRUE(format.ok()) << format.error().message();
    EXPECT_EQ(format.value()->name, name.event);
    for (const types::Member& member : format.value()->members) {
      EXPECT_FALSE(member.type.IsError())
          << name.category << ":" << name.event << " " << member.name;
    }
  }
}

TEST(LiveKernelTest, Machine) {
  types::TypeTable types;
  Kernel kernel(Roots{}, types);
  EXPECT_GE(kernel.possible_cpus(), kernel.online_cpus().size());
  EXPECT_GE(kernel.page_size(), 4096u);
  EXPECT_FALSE(kernel.release().empty());
}

}  // namespace
}  // namespace memtrace::kernel
