#include "compiler/probes/provider.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "compiler/probes/attach_plan.h"
#include "compiler/probes/expand.h"

namespace memtrace::probes {
namespace {

syntax::ProbeSpec Spec(std::vector<std::string> parts) {
  syntax::ProbeSpec spec;
  for (std::string& part : parts) spec.parts.push_back({.text = std::move(part), .span = {}});
  return spec;
}

class ProbesTest : public testing::Test {
 protected:
  ProbesTest() { root_ = testing::TempDir() + "memtrace_probes_" + std::to_string(getpid()); }
  ~ProbesTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }

  std::filesystem::path MakeEvent(const std::string& format) {
    auto events = std::filesystem::path(root_) / "sys/kernel/tracing/events";
    std::filesystem::create_directories(events / "kmem/one");
    std::ofstream(events / "kmem/one/format") << format;
    return events;
  }

  std::string root_;
  types::TypeTable types_;
  user::Programs programs_{types_, 0};
  diag::Diagnostics diagnostics_;
};

TEST(Glob, StarStandsForAnyCharacters) {
  EXPECT_TRUE(GlobMatches("mm_*", "mm_page_alloc"));
  EXPECT_TRUE(GlobMatches("*page*", "mm_page_alloc"));
  EXPECT_TRUE(GlobMatches("*", ""));
  EXPECT_TRUE(GlobMatches("a*b*c", "a_b_b_c"));
  EXPECT_FALSE(GlobMatches("mm_*x", "mm_page_alloc"));
  EXPECT_FALSE(GlobMatches("mm", "mm_page_alloc"));
  EXPECT_FALSE(GlobMatches("a.c", "abc"));
}

TEST(Providers, AreFoundInAnyCaseAndByAlias) {
  EXPECT_EQ(FindProvider("BEGIN"), FindProvider("begin"));
  EXPECT_EQ(FindProvider("T"), FindProvider("tracepoint"));
  EXPECT_EQ(FindProvider("u")->name, "uprobe");
  EXPECT_EQ(FindProvider("U")->name, "usdt");
  EXPECT_EQ(FindProvider("nothing"), nullptr);
}

TEST_F(ProbesTest, WhatMayNotBeReadNeedsRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to give up its rights";
  auto events = MakeEvent("");
  ASSERT_EQ(chmod(events.parent_path().c_str(), 0700), 0);
  kernel::Kernel kernel(kernel::Roots::Fixture(root_), types_);
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(setresuid(kNobody, kNobody, 0), 0);
  EXPECT_TRUE(Expand(Spec({"tracepoint", "kmem", "one"}), kernel, programs_, diagnostics_).empty());
  ASSERT_EQ(setresuid(0, 0, 0), 0);
  ASSERT_EQ(diagnostics_.all().size(), 1u);
  EXPECT_EQ(diagnostics_.all()[0].code, diag::Code::kNeedsRoot);
  EXPECT_EQ(diagnostics_.all()[0].message, "looking up tracepoints needs root");
}

TEST_F(ProbesTest, AFormatThatIsNoneIsReported) {
  MakeEvent("nonsense\n");
  kernel::Kernel kernel(kernel::Roots::Fixture(root_), types_);
  auto targets = Expand(Spec({"tracepoint", "kmem", "one"}), kernel, programs_, diagnostics_);
  ASSERT_EQ(targets.size(), 1u);
  EXPECT_TRUE(PlanAttach(targets, {}, kernel, diagnostics_).empty());
  ASSERT_EQ(diagnostics_.all().size(), 1u);
  EXPECT_EQ(diagnostics_.all()[0].code, diag::Code::kBadFormat);
}

TEST_F(ProbesTest, SoftwareEventsHaveTheNamesAndPeriodsOfPerf) {
  kernel::Kernel kernel(kernel::Roots::Fixture(root_), types_);
  auto targets = Expand(Spec({"software", "faults", ""}), kernel, programs_, diagnostics_);
  ASSERT_EQ(targets.size(), 1u);
  EXPECT_EQ(targets[0].event, "page-faults");
  EXPECT_EQ(targets[0].period, 1u);
  targets = Expand(Spec({"s", "cpu-clock"}), kernel, programs_, diagnostics_);
  ASSERT_EQ(targets.size(), 1u);
  EXPECT_EQ(targets[0].period, 1'000'000u);
  EXPECT_FALSE(diagnostics_.has_errors());
}

}  // namespace
}  // namespace memtrace::probes
