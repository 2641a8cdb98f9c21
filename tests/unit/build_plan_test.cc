// Where maps lie, how records look, and what can be lost.
#include <gtest/gtest.h>

#include "compiler/sema/check.h"
#include "compiler/syntax/parser.h"
#include "compiler/syntax/token.h"

namespace memtrace::sema {
namespace {

plan::Plan PlanOf(std::string text) {
  types::TypeTable types;
  kernel::Kernel kernel(kernel::Roots::Fixture(MT_SOURCE_DIR "/tests/fixture"), types);
  diag::SourceMap sources;
  diag::Diagnostics diagnostics;
  diag::Span span = sources.Add("-e", std::move(text));
  syntax::TokenBuffer tokens = syntax::Lex(sources, span, diagnostics);
  syntax::Ast ast = syntax::Parse(sources, tokens, diagnostics);
  TypedProgram program = Check(ast, sources, kernel, {}, diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << diag::Render(diagnostics, sources, false);
  return BuildPlan(program, sources);
}

const plan::Map& MapNamed(const plan::Plan& plan, std::string_view name) {
  for (const plan::Map& map : plan.maps) {
    if (map.name == name) return map;
  }
  ADD_FAILURE() << "no map " << name;
  return plan.maps[0];
}

constexpr const char* kMaps =
    "tracepoint:kmem:mm_page_alloc { @scalar = 1; @count = count(); @hist = hist(args.order); "
    "@text = comm; @by_comm[comm] = count(); @hist_by[comm] = hist(args.order, 5); @set[pid, comm] "
    "= 1; }";

TEST(BuildPlan, ChoosesWhereMapsLie) {
  plan::Plan plan = PlanOf(kMaps);
  EXPECT_EQ(MapNamed(plan, "@scalar").storage, plan::Storage::kState);
  EXPECT_EQ(MapNamed(plan, "@count").storage, plan::Storage::kStatePerCpu);
  EXPECT_EQ(MapNamed(plan, "@hist").storage, plan::Storage::kStatePerCpu);
  EXPECT_EQ(MapNamed(plan, "@by_comm").storage, plan::Storage::kPerCpuHash);
  EXPECT_EQ(MapNamed(plan, "@set").storage, plan::Storage::kHash);
  const plan::Map& text = MapNamed(plan, "@text");
  EXPECT_EQ(text.storage, plan::Storage::kHash);
  EXPECT_EQ(text.key_size, 8u);
  EXPECT_EQ(text.max_entries, 1u);
  const plan::Map& hist = MapNamed(plan, "@hist_by");
  EXPECT_EQ(hist.storage, plan::Storage::kHash);
  EXPECT_FALSE(hist.preallocated);
}

TEST(BuildPlan, LaysOutStateWithoutOverlap) {
  plan::Plan plan = PlanOf(kMaps);
  uint32_t end = plan.losses_offset + 8 * static_cast<uint32_t>(plan.loss_sites.size());
  EXPECT_GE(plan.window_offset, plan.start_time_offset + 8);
  EXPECT_GE(plan.losses_offset, plan.window_offset + 4);
  for (const plan::Map& map : plan.maps) {
    if (!map.symbols.empty()) continue;
    EXPECT_EQ(map.offset % 64, 0u) << map.name;
    EXPECT_EQ(map.slot_size % 64, 0u) << map.name;
    EXPECT_GE(map.offset, end) << map.name;
    EXPECT_GE(map.slot_size, map.value_size + 8) << map.name;
    end = map.offset + map.copy_size;
  }
  EXPECT_GE(plan.state_size, end);
}

TEST(BuildPlan, GivesEachIntervalThatExchangesMapsItsWindow) {
  plan::Plan plan = PlanOf(
      "tracepoint:kmem:mm_page_alloc { @a = count(); @b[comm] = count(); @c = count(); } "
      "interval:1s { print(@a); clear(@a); print(@b); clear(@b); } interval:5s { print(@c); "
      "clear(@c); }");
  const plan::Map& a = MapNamed(plan, "@a");
  const plan::Map& b = MapNamed(plan, "@b");
  const plan::Map& c = MapNamed(plan, "@c");
  EXPECT_TRUE(a.is_swapped && b.is_swapped && c.is_swapped);
  EXPECT_EQ(a.window_offset, b.window_offset);
  EXPECT_NE(a.window_offset, c.window_offset);
  EXPECT_LT(c.window_offset, plan.losses_offset);
  EXPECT_EQ(b.symbols.size(), 2u);
  EXPECT_EQ(plan.programs[1].swaps, (std::vector<plan::Index>{0, 1}));
}

TEST(BuildPlan, AlignsTheArgumentsOfRecords) {
  plan::Plan plan =
      PlanOf("tracepoint:kmem:mm_page_alloc { printf(\"%d %s %d\", pid, comm, nsecs); }");
  ASSERT_EQ(plan.actions.size(), 1u);
  const plan::Action& action = plan.actions[0];
  ASSERT_EQ(action.arguments.size(), 3u);
  EXPECT_EQ(action.arguments[0].offset, 8u);
  EXPECT_EQ(action.arguments[1].offset, 12u);
  EXPECT_EQ(action.arguments[2].offset, 32u);
  EXPECT_EQ(action.record_size, 40u);
}

TEST(BuildPlan, CountsEachLossWhereItHappens) {
  plan::Plan plan = PlanOf(
      "tracepoint:kmem:mm_page_alloc {\n  @[comm] = max(curtask.mm.total_vm);\n  "
      "print(kstack);\n}");
  auto has = [&](plan::LossCause cause, std::string_view subject, uint32_t line) {
    return plan::FindLossSite(plan, cause, subject, line) != plan::kNoIndex;
  };
  EXPECT_TRUE(has(plan::LossCause::kMapFull, "@", 0));
  EXPECT_TRUE(has(plan::LossCause::kRingFull, "print", 3));
  EXPECT_TRUE(has(plan::LossCause::kReadFailed, "", 2));
  EXPECT_TRUE(has(plan::LossCause::kRetry, "", 0));
  EXPECT_TRUE(has(plan::LossCause::kScratchBusy, "", 0));
  EXPECT_TRUE(has(plan::LossCause::kStackCollision, "", 0));
  EXPECT_FALSE(has(plan::LossCause::kTruncated, "", 2));
}

}  // namespace
}  // namespace memtrace::sema
