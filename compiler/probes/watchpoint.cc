// hardware and watchpoint: events that the processor itself raises.
#include <linux/perf_event.h>

#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "compiler/probes/expand.h"

namespace memtrace::probes {
namespace {

using diag::Code;

// An overflow of a counter is an interrupt: often enough to see something, and no burden.
constexpr uint64_t kManyPeriod = 1'000'000;
constexpr uint64_t kRarePeriod = 10'000;

struct HardwareEvent {
  std::string_view name;
  std::string_view alias;
  uint64_t config;
  uint64_t period;
};
constexpr HardwareEvent kHardwareEvents[] = {
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

const HardwareEvent* FindHardwareEvent(std::string_view name) {
  for (const HardwareEvent& event : kHardwareEvents) {
    if (event.name == name || (!event.alias.empty() && event.alias == name)) return &event;
  }
  return nullptr;
}

bool ReportUnknown(ExpandContext& context, const syntax::ProbePart& part) {
  if (context.quiet) return false;
  std::vector<std::string_view> names;
  std::string list;
  for (const HardwareEvent& event : kHardwareEvents) {
    names.push_back(event.name);
    if (!event.alias.empty()) names.push_back(event.alias);
    list += (list.empty() ? "" : ", ") + std::string(event.name);
  }
  auto builder = context.diagnostics.Error(Code::kUnknownHardwareEvent, part.span,
                                           fmt::format("no hardware event `{}`", part.text));
  std::string_view closest = diag::ClosestName(part.text, names);
  if (!closest.empty()) builder.Hint(fmt::format("did you mean `{}`?", closest));
  builder.Note("there are " + list);
  return false;
}

// ---- Watchpoints --------------------------------------------------------------------------------

// On both machines that memtrace knows, the kernel has the upper half of the addresses.
bool IsOfKernel(uint64_t address) { return address >> 63 != 0; }

bool IsMode(std::string_view text) {
  return !text.empty() && text.find_first_not_of("rwx") == text.npos;
}

// What the processor can't watch, in words; empty: it can.
std::string WhyNot(uint64_t address, uint64_t length, std::string_view mode) {
  bool reads = mode.find('r') != mode.npos, writes = mode.find('w') != mode.npos;
  bool executes = mode.find('x') != mode.npos;
  if (length != 1 && length != 2 && length != 4 && length != 8) {
    return fmt::format("{} bytes can't be watched: it is 1, 2, 4 or 8", length);
  }
  if (address % length != 0 && !executes) {
    return fmt::format("0x{:x} is no multiple of the {} bytes to watch", address, length);
  }
  if (executes && (reads || writes)) return "x goes with neither r nor w";
#if defined(__x86_64__)
  if (reads && !writes) return "this processor can't watch reads alone: rw sees both";
#endif
  return "";
}

}  // namespace

bool ExpandHardware(ExpandContext& context, const syntax::ProbeSpec& spec,
                    std::vector<Target>& targets) {
  const ProviderRow& row = *FindProvider(spec.parts[0].text);
  if (spec.parts.size() < 2 || spec.parts.size() > 3 || spec.parts[1].text.empty()) {
    return ReportForm(context, spec, row,
                      fmt::format("`{}` does not name one event", FullName(row, spec)));
  }
  const HardwareEvent* event = FindHardwareEvent(spec.parts[1].text);
  if (event == nullptr) return ReportUnknown(context, spec.parts[1]);
  uint64_t period = event->period;
  if (spec.parts.size() == 3 && !spec.parts[2].text.empty()) {
    std::optional<uint64_t> count = ParseOffset(spec.parts[2].text);
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

bool ExpandWatchpoint(ExpandContext& context, const syntax::ProbeSpec& spec,
                      std::vector<Target>& targets) {
  const ProviderRow& row = *FindProvider(spec.parts[0].text);
  std::optional<uint64_t> address, length;
  if (spec.parts.size() == 4) {
    address = ParseOffset(spec.parts[1].text);
    length = ParseOffset(spec.parts[2].text);
  }
  if (!address || !length || !IsMode(spec.parts[3].text)) {
    return ReportForm(context, spec, row,
                      fmt::format("`{}` does not say what to watch", FullName(row, spec)));
  }
  const std::string& mode = spec.parts[3].text;
  if (std::string reason = WhyNot(*address, *length, mode); !reason.empty()) {
    return ReportForm(context, spec, row, std::move(reason));
  }
  if (!IsOfKernel(*address) && !context.options.has_process) {
    if (!context.quiet) {
      context.diagnostics
          .Error(Code::kNeedsProcess, spec.parts[1].span,
                 fmt::format("0x{:x} is an address of a process, and none is named", *address))
          .Note("-p PID or -c COMMAND says whose memory it is");
    }
    return false;
  }
  targets.push_back({.provider = row.provider,
                     .span = spec.span,
                     .name = FullName(row, spec),
                     .event = mode,
                     .config = *address,
                     .offset = *length});
  return true;
}

}  // namespace memtrace::probes
