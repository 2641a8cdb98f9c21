// software and hardware: what perf counts, every so many events.
#include <linux/perf_event.h>

#include <optional>
#include <span>

#include <fmt/format.h>

#include "compiler/probes/expand.h"

namespace memtrace::probes {
namespace {

using diag::Code;

struct PerfEvent {
  std::string_view name;
  std::string_view alias;
  uint64_t config;
  uint64_t period;  // when the script says none
};

constexpr uint64_t kClockPeriod = 1'000'000;  // ns: a thousand samples a second
constexpr PerfEvent kSoftwareEvents[] = {
    {"cpu-clock", "cpu", PERF_COUNT_SW_CPU_CLOCK, kClockPeriod},
    {"task-clock", "", PERF_COUNT_SW_TASK_CLOCK, kClockPeriod},
    {"page-faults", "faults", PERF_COUNT_SW_PAGE_FAULTS, 1},
    {"minor-faults", "", PERF_COUNT_SW_PAGE_FAULTS_MIN, 1},
    {"major-faults", "", PERF_COUNT_SW_PAGE_FAULTS_MAJ, 1},
    {"context-switches", "cs", PERF_COUNT_SW_CONTEXT_SWITCHES, 1},
    {"cpu-migrations", "migrations", PERF_COUNT_SW_CPU_MIGRATIONS, 1},
    {"alignment-faults", "", PERF_COUNT_SW_ALIGNMENT_FAULTS, 1},
    {"emulation-faults", "", PERF_COUNT_SW_EMULATION_FAULTS, 1},
    {"bpf-output", "", PERF_COUNT_SW_BPF_OUTPUT, 1},
    {"dummy", "", PERF_COUNT_SW_DUMMY, 1},
};

// An overflow of a counter is an interrupt: often enough to see something, and no burden.
constexpr uint64_t kManyPeriod = 1'000'000;
constexpr uint64_t kRarePeriod = 10'000;
constexpr PerfEvent kHardwareEvents[] = {
    {"cpu-cycles", "cycles", PERF_COUNT_HW_CPU_CYCLES, kManyPeriod},
    {"instructions", "", PERF_COUNT_HW_INSTRUCTIONS, kManyPeriod},
    {"cache-references", "", PERF_COUNT_HW_CACHE_REFERENCES, kManyPeriod},
    {"cache-misses", "", PERF_COUNT_HW_CACHE_MISSES, kRarePeriod},
    {"branch-instructions", "branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS, kManyPeriod},
    {"branch-misses", "", PERF_COUNT_HW_BRANCH_MISSES, kRarePeriod},
    {"bus-cycles", "", PERF_COUNT_HW_BUS_CYCLES, kManyPeriod},
    {"frontend-stalls", "", PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, kManyPeriod},
    {"backend-stalls", "", PERF_COUNT_HW_STALLED_CYCLES_BACKEND, kManyPeriod},
    {"ref-cycles", "", PERF_COUNT_HW_REF_CPU_CYCLES, kManyPeriod},
};

// The events of one provider.
struct Kind {
  std::span<const PerfEvent> events;
  Code unknown;
  std::optional<uint64_t> (*parse_period)(std::string_view);
};

const PerfEvent* Find(const Kind& kind, std::string_view name) {
  for (const PerfEvent& event : kind.events) {
    if (event.name == name || (!event.alias.empty() && event.alias == name)) return &event;
  }
  return nullptr;
}

bool ReportUnknown(ExpandContext& context, const ProviderRow& row, const Kind& kind,
                   const syntax::ProbePart& part) {
  if (context.quiet) return false;
  std::vector<std::string_view> names;
  std::string list;
  for (const PerfEvent& event : kind.events) {
    names.push_back(event.name);
    if (!event.alias.empty()) names.push_back(event.alias);
    list += (list.empty() ? "" : ", ") + std::string(event.name);
  }
  auto builder = context.diagnostics.Error(kind.unknown, part.span,
                                           fmt::format("no {} event `{}`", row.name, part.text));
  std::string_view closest = diag::ClosestName(part.text, names);
  if (!closest.empty()) builder.Hint(fmt::format("did you mean `{}`?", closest));
  builder.Note("there are " + list);
  return false;
}

bool ExpandPerfEvent(ExpandContext& context, const syntax::ProbeSpec& spec, const Kind& kind,
                     std::vector<Target>& targets) {
  const ProviderRow& row = *FindProvider(spec.parts[0].text);
  if (spec.parts.size() < 2 || spec.parts.size() > 3 || spec.parts[1].text.empty()) {
    return ReportForm(context, spec, row,
                      fmt::format("`{}` does not name one event", FullName(row, spec)));
  }
  const PerfEvent* event = Find(kind, spec.parts[1].text);
  if (event == nullptr) return ReportUnknown(context, row, kind, spec.parts[1]);
  uint64_t period = event->period;
  if (spec.parts.size() == 3 && !spec.parts[2].text.empty()) {
    std::optional<uint64_t> count = kind.parse_period(spec.parts[2].text);
    if (!count || *count == 0) {
      return ReportForm(context, spec, row, fmt::format("`{}` is no period", spec.parts[2].text));
    }
    period = *count;
  }
  targets.push_back({.provider = row.provider,
                     .span = spec.span,
                     .name = FullName(row, spec),
                     .event = std::string(event->name),
                     .config = event->config,
                     .period = period});
  return true;
}

}  // namespace

std::vector<std::string> SoftwareEventNames() {
  std::vector<std::string> names;
  for (const PerfEvent& event : kSoftwareEvents) names.emplace_back(event.name);
  return names;
}

bool ExpandSoftware(ExpandContext& context, const syntax::ProbeSpec& spec,
                    std::vector<Target>& targets) {
  return ExpandPerfEvent(context, spec, {kSoftwareEvents, Code::kUnknownSoftwareEvent, ParseCount},
                         targets);
}

bool ExpandHardware(ExpandContext& context, const syntax::ProbeSpec& spec,
                    std::vector<Target>& targets) {
  return ExpandPerfEvent(context, spec, {kHardwareEvents, Code::kUnknownHardwareEvent, ParseOffset},
                         targets);
}

}  // namespace memtrace::probes
