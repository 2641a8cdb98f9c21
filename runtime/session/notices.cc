#include "runtime/session/notices.h"

#include <string_view>

#include <fmt/format.h>

namespace memtrace::session {
namespace {

bool IsRunByReader(const plan::Probe& probe) {
  return probe.kind == plan::AttachKind::kBegin || probe.kind == plan::AttachKind::kEnd ||
         probe.kind == plan::AttachKind::kInterval || probe.kind == plan::AttachKind::kIterator ||
         probe.kind == plan::AttachKind::kSignal;
}

// Of the script, not one of our own.
bool IsAttached(const plan::Plan& plan, const plan::Probe& probe) {
  return !IsRunByReader(probe) && probe.program != plan.scope.follow_program;
}

// "tracepoint:kmem:mm_page_alloc" is "kmem:mm_page_alloc" to whoever just typed it; other providers
// stay.
std::string_view ShortName(const plan::Probe& probe) {
  std::string_view name = probe.name;
  constexpr std::string_view kPrefix = "tracepoint:";
  return name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
}

// How it is attached: "raw_tp mm_page_alloc".
std::string Recipe(const plan::Plan& plan, const plan::Probe& probe) {
  switch (probe.kind) {
    case plan::AttachKind::kBegin:
    case plan::AttachKind::kEnd:
      return "run by memtrace";
    case plan::AttachKind::kInterval:
      return "run by memtrace every " + DurationText(probe.period);
    case plan::AttachKind::kRawTracepoint:
      return "raw_tp " + probe.event;
    case plan::AttachKind::kTracepoint:
      return "perf tracepoint";
    case plan::AttachKind::kSoftware:
      return fmt::format("perf software event, every {}", probe.period);
    case plan::AttachKind::kProfile:
      return probe.frequency != 0 ? fmt::format("cpu-clock, {} Hz", probe.frequency)
                                  : "cpu-clock, every " + DurationText(probe.period);
    case plan::AttachKind::kIterator:
      return probe.period == 0
                 ? "run by memtrace over the kernel's list, once"
                 : "run by memtrace over the kernel's list every " + DurationText(probe.period);
    case plan::AttachKind::kSignal:
      return "run by memtrace at SIG" + probe.event;
    case plan::AttachKind::kTracing:
      switch (plan.programs[probe.program].tracing_target) {
        case plan::TracingTarget::kEntry:
          return "fentry " + probe.event;
        case plan::TracingTarget::kExit:
          return "fexit " + probe.event;
        case plan::TracingTarget::kTypedTracepoint:
        case plan::TracingTarget::kIterator:
        case plan::TracingTarget::kNone:
          return "tp_btf " + probe.event;
      }
      MT_UNREACHABLE("a tracing target outside its enum");
    case plan::AttachKind::kKprobe:
      return "perf kprobe";
    case plan::AttachKind::kKretprobe:
      return "perf kretprobe";
    case plan::AttachKind::kKprobeMulti:
    case plan::AttachKind::kKretprobeMulti:
      return fmt::format("{}.multi, {} function{}",
                         probe.kind == plan::AttachKind::kKprobeMulti ? "kprobe" : "kretprobe",
                         probe.functions.size(), probe.functions.size() == 1 ? "" : "s");
    case plan::AttachKind::kHardware:
      return fmt::format("perf hardware event, every {}", probe.period);
    case plan::AttachKind::kWatchpoint:
      return fmt::format("hardware breakpoint, {} byte{}", probe.offset,
                         probe.offset == 1 ? "" : "s");
    case plan::AttachKind::kUprobe:
      return "perf uprobe in " + probe.path;
    case plan::AttachKind::kUretprobe:
      return "perf uretprobe in " + probe.path;
    case plan::AttachKind::kUprobeMulti:
    case plan::AttachKind::kUretprobeMulti:
      return fmt::format("{}.multi, {} place{} in {}",
                         probe.kind == plan::AttachKind::kUprobeMulti ? "uprobe" : "uretprobe",
                         probe.functions.size(), probe.functions.size() == 1 ? "" : "s",
                         probe.path);
  }
  MT_UNREACHABLE("an attach kind outside its enum");
}

}  // namespace

std::string TracingNotice(const plan::Plan& plan, const ScopeOptions& scope) {
  constexpr size_t kShown = 3;
  std::string text;
  size_t count = 0;
  for (const plan::Probe& probe : plan.probes) {
    if (!IsAttached(plan, probe) || ++count > kShown) continue;
    text +=
        fmt::format("{}{} ({})", text.empty() ? "" : ", ", ShortName(probe), Recipe(plan, probe));
  }
  if (count > kShown) text += fmt::format(" and {} more", count - kShown);
  if (text.empty()) return "";
  std::string only = ScopeText(plan, scope);
  return "tracing " + text + (only.empty() ? "" : ", " + only) + ". Ctrl-C to end.\n";
}

std::string MissingNotice(const std::vector<attach::Failure>& failures) {
  constexpr size_t kNamed = 8;
  std::string text = fmt::format("warning: {} probe{} could not be attached: ", failures.size(),
                                 failures.size() == 1 ? "" : "s");
  for (size_t i = 0; i < failures.size() && i < kNamed; ++i) {
    text += fmt::format("{}{} ({})", i > 0 ? ", " : "", failures[i].name, failures[i].reason);
  }
  if (failures.size() > kNamed) text += fmt::format(" and {} more", failures.size() - kNamed);
  return text + "\n";
}

std::string AttachDetails(const plan::Plan& plan, const ScopeOptions& scope) {
  std::string text = fmt::format("kernel memory at most {:.1f} MiB\n",
                                 static_cast<double>(plan::PlannedMemory(plan)) / (1 << 20));
  if (std::string only = ScopeText(plan, scope); !only.empty()) text += only + "\n";
  return text + Attachments(plan);
}

std::string Attachments(const plan::Plan& plan) {
  std::string text;
  for (const plan::Probe& probe : plan.probes) {
    if (probe.program == plan.scope.follow_program) {
      text += fmt::format("forks are followed at {}\n", probe.event);
      continue;
    }
    text += fmt::format("{}: {}\n", probe.name, Recipe(plan, probe));
    if (plan.programs[probe.program].excludes_self) text += "  without memtrace's own events\n";
    if (!probe.covers.empty()) text += fmt::format("  serves {}\n", fmt::join(probe.covers, ", "));
    for (const plan::Refused& refused : probe.refused) {
      text += fmt::format("  not {}: {}\n", refused.what, refused.reason);
    }
    if (!probe.misses_are_countable) text += "  misses not countable on this kernel\n";
  }
  return text;
}

std::string StatisticsLines(const plan::Plan& plan,
                            const std::vector<bpf::ProgramCounters>& counters) {
  std::string text;
  for (const plan::Probe& probe : plan.probes) {
    if (IsRunByReader(probe)) continue;
    const bpf::ProgramCounters& counter = counters[probe.program];
    uint64_t per_run = counter.runs == 0 ? 0 : counter.run_time_ns / counter.runs;
    text += fmt::format("stats: {}: run_cnt {} run_time_ns {} ns/event {}\n", probe.name,
                        counter.runs, counter.run_time_ns, per_run);
  }
  return text;
}

std::string DurationText(uint64_t ns) {
  if (ns < 1'000'000) return fmt::format("{} us", ns / 1000);
  if (ns < 1'000'000'000) return fmt::format("{} ms", ns / 1'000'000);
  if (ns < 60'000'000'000) return fmt::format("{:.1f} s", static_cast<double>(ns) / 1e9);
  uint64_t seconds = ns / 1'000'000'000;
  return fmt::format("{} min {} s", seconds / 60, seconds % 60);
}

}  // namespace memtrace::session
