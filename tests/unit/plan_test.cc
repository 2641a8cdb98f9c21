#include "compiler/plan/plan.h"

#include <string>

#include <gtest/gtest.h>

namespace memtrace::plan {
namespace {

// Every vector has an element and most fields differ from their defaults.
Plan FullPlan() {
  Plan plan;
  plan.kernel_release = "6.18.44";
  plan.config = {.max_map_keys = 10,
                 .max_strlen = 64,
                 .ring_size = 8192,
                 .ring_wakeup = 100,
                 .max_stacks = 7,
                 .print_maps_on_exit = false};
  plan.cpu_slots = 4;
  plan.state_size = 4096;
  plan.window_offset = 16;
  plan.losses_offset = 24;
  plan.start_time_offset = 32;
  plan.types.push_back(
      {.kind = TypeKind::kEnum,
       .size = 4,
       .is_signed = true,
       .unit = Unit::kPages,
       .name = "zone_type",
       .element = 3,
       .count = 5,
       .fields = {{.name = "a", .type = 0, .offset = 8, .bit_offset = 3, .bit_size = 2}},
       .names = {{.value = INT64_MIN, .name = "LOW"}, {.value = 7, .name = "\"\n"}},
       .depth = 9});
  plan.maps.push_back({.name = "@",
                       .storage = Storage::kPerCpuHash,
                       .symbols = {"m0", "m0b"},
                       .offset = 1,
                       .slot_size = 2,
                       .copy_size = 3,
                       .window_offset = 4,
                       .key = {{.name = "", .type = 0, .offset = 0}},
                       .key_size = 8,
                       .value = ValueKind::kLinearHist,
                       .value_type = 0,
                       .value_size = 80,
                       .bucket_count = 10,
                       .hist_bits = 2,
                       .lhist_min = -5,
                       .lhist_max = 5,
                       .lhist_step = 1,
                       .max_entries = 100,
                       .preallocated = false,
                       .is_swapped = true,
                       .printed_at_exit = false});
  plan.actions.push_back({.kind = ActionKind::kJoin,
                          .line = 3,
                          .format = " ",
                          .pieces = {{.text = "x",
                                      .argument = 0,
                                      .conversion = 's',
                                      .left = true,
                                      .zero = true,
                                      .plus = true,
                                      .space = true,
                                      .alternate = true,
                                      .width = 10,
                                      .precision = 2,
                                      .width_argument = 1}},
                          .arguments = {{.name = "n", .type = 0, .offset = 8}},
                          .record_size = 16,
                          .map = 0,
                          .top = -1,
                          .div = 1000});
  plan.programs.push_back({.symbol = "p0",
                           .type = ProgramType::kTracing,
                           .tracing_target = TracingTarget::kEntry,
                           .attach_btf_id = 99,
                           .clause = 1,
                           .line = 2,
                           .swaps = {0}});
  plan.probes.push_back({.name = "tracepoint:a:b",
                         .program = 0,
                         .kind = AttachKind::kTracing,
                         .category = "a",
                         .event = "b",
                         .config = UINT64_MAX,
                         .period = 1,
                         .frequency = 99,
                         .covers = {"c"},
                         .refused = {{.what = "raw", .reason = "args"}},
                         .misses_are_countable = false});
  plan.probe_names = {"tracepoint:a:b"};
  plan.loss_sites.push_back({.cause = LossCause::kRetry, .subject = "@", .line = 2});
  plan.relocations = {"later"};
  return plan;
}

TEST(PlanJson, ComesBackAsItWasWritten) {
  std::string text = ToJson(FullPlan());
  Result<Plan> plan = FromJson(text);
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  EXPECT_EQ(ToJson(plan.value()), text);
  EXPECT_EQ(plan.value().probes[0].config, UINT64_MAX);
  EXPECT_EQ(plan.value().types[0].names[0].value, INT64_MIN);
  EXPECT_EQ(plan.value().maps[0].window_offset, 4u);
}

TEST(PlanJson, FieldsStandInTheOrderOfTheHeader) {
  std::string text = ToJson(Plan{});
  EXPECT_LT(text.find("\"version\""), text.find("\"config\""));
  EXPECT_LT(text.find("\"config\""), text.find("\"types\""));
  EXPECT_LT(text.find("\"programs\""), text.find("\"relocations\""));
}

TEST(PlanJson, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(FromJson("{").error().message(), "plan: not JSON");
  EXPECT_EQ(FromJson("[]").error().message(), "plan: not an object");
  auto message = [](std::string text, std::string_view from, std::string_view to) {
    text.replace(text.find(from), from.size(), to);
    return FromJson(text).error().message();
  };
  std::string text = ToJson(FullPlan());
  EXPECT_EQ(message(text, "\"version\": 1", "\"version\": 2"),
            "plan: version 2, this memtrace reads 1");
  EXPECT_EQ(message(text, "\"lhist\"", "\"ehist\""), "maps[0].value: not a known word");
  EXPECT_EQ(message(text, "\"max_strlen\": 64", "\"max_strlen\": -1"),
            "config.max_strlen: out of range");
  EXPECT_EQ(message(text, "\"cpu_slots\": 4", "\"cpu_slots\": true"), "cpu_slots: not an integer");
  EXPECT_EQ(message(text, "\"relocations\"", "\"relocation\""), "relocations: missing");
}

TEST(PlannedMemory, CountsStateRingAndBothCopiesOfASwappedMap) {
  Plan plan;
  plan.state_size = 4096;
  EXPECT_EQ(PlannedMemory(plan), 4096u);
  plan.actions.emplace_back();
  EXPECT_EQ(PlannedMemory(plan), 4096u + (4u << 20));
  Map map;
  map.symbols = {"a"};
  map.key_size = map.value_size = 8;
  map.max_entries = 1024;
  plan.maps.push_back(map);
  uint64_t one = PlannedMemory(plan);
  plan.maps[0].symbols.push_back("b");
  EXPECT_EQ(PlannedMemory(plan) - one, one - 4096 - (4u << 20));
  EXPECT_GE(one - 4096 - (4u << 20), 1024u * 16);
}

}  // namespace
}  // namespace memtrace::plan
