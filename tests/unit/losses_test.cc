#include "runtime/session/losses.h"

#include <gtest/gtest.h>

#include "runtime/session/notices.h"

namespace memtrace::session {
namespace {

using plan::LossCause;

plan::Plan LossyPlan() {
  plan::Plan plan;
  plan::Map map;
  map.name = "@";
  map.max_entries = 4096;
  plan.maps = {map};
  plan.loss_sites = {{.cause = LossCause::kReadFailed, .subject = "", .line = 5},
                     {.cause = LossCause::kRingFull, .subject = "printf", .line = 1},
                     {.cause = LossCause::kMapFull, .subject = "@", .line = 2},
                     {.cause = LossCause::kReadFailed, .subject = "", .line = 2},
                     {.cause = LossCause::kRingFull, .subject = "printf", .line = 3},
                     {.cause = LossCause::kTruncated, .subject = "", .line = 3}};
  plan.programs.resize(2);
  plan::Probe probe;
  probe.name = "tracepoint:a:b";
  plan.probes = {probe, probe, probe};
  plan.probes[2].program = 1;
  plan.probes[2].name = "profile:hz:99";
  return plan;
}

TEST(Losses, NothingIsNothing) {
  EXPECT_TRUE(GroupLosses(LossyPlan(), {0, 0, 0, 0, 0, 0}, {0, 0}).empty());
  EXPECT_EQ(LossLine({}), "nothing lost");
}

TEST(Losses, AreGroupedByCauseWithTheRemedy) {
  EXPECT_EQ(LossLine(GroupLosses(LossyPlan(), {1, 1000, 12, 2, 284, 1}, {0, 0})),
            "lost: 1284 events (ring full; --config ring_size=16MiB)"
            " · 12 keys (@ full at 4096; config max_map_keys)"
            " · 3 reads failed (lines 2, 5) · 1 string cut (line 3; config max_strlen)");
}

TEST(Losses, OneOfThemIsSingular) {
  EXPECT_EQ(LossLine(GroupLosses(LossyPlan(), {0, 1, 0, 1, 0, 0}, {0, 0})),
            "lost: 1 event (ring full; --config ring_size=16MiB) · 1 read failed (line 2)");
}

TEST(Losses, MissedRunsNameTheirProbes) {
  std::vector<Loss> losses = GroupLosses(LossyPlan(), {0, 0, 0, 0, 0, 0}, {3, 1});
  EXPECT_EQ(LossLine(losses),
            "lost: 3 events (tracepoint:a:b and 1 more, a program was running on that CPU)"
            " · 1 event (profile:hz:99, a program was running on that CPU)");
  EXPECT_EQ(losses[0].cause, "missed");
}

TEST(Notices, NameWhatIsAttachedAndHow) {
  plan::Plan plan;
  plan.probes.resize(5);
  EXPECT_EQ(TracingNotice(plan), "");
  for (plan::Probe& probe : plan.probes) {
    probe.kind = plan::AttachKind::kRawTracepoint;
    probe.name = "tracepoint:kmem:x";
    probe.event = "x";
  }
  plan.probes[0].kind = plan::AttachKind::kProfile;
  plan.probes[0].name = "profile:hz:99";
  plan.probes[0].frequency = 99;
  EXPECT_EQ(
      TracingNotice(plan),
      "tracing profile:hz:99 (cpu-clock, 99 Hz), kmem:x (raw_tp x), kmem:x (raw_tp x) and 2 more."
      " Ctrl-C to end.\n");
}

TEST(Notices, DurationsAreShort) {
  EXPECT_EQ(DurationText(1'500), "1 us");
  EXPECT_EQ(DurationText(250'000'000), "250 ms");
  EXPECT_EQ(DurationText(3'240'000'000), "3.2 s");
  EXPECT_EQ(DurationText(125'000'000'000), "2 min 5 s");
}

}  // namespace
}  // namespace memtrace::session
