// begin, end, interval and profile: probes that need nothing looked up in the kernel.
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "compiler/probes/expand.h"

namespace memtrace::probes {
namespace {

using diag::Code;

struct TimeUnit {
  std::string_view name;
  uint64_t nanoseconds;  // 0: the number is a rate
};
constexpr TimeUnit kTimeUnits[] = {
    {"s", 1'000'000'000},  {"ms", 1'000'000}, {"us", 1'000}, {"ns", 1},
    {"m", 60'000'000'000}, {"hz", 0},
};

// Shorter periods cost more than they tell, and the kernel refuses a sampling period below 10 us
// anyway.
constexpr uint64_t kShortestPeriod = 10'000;

// Ten years: the kernel's timers take nanoseconds of 63 bits.
constexpr uint64_t kLongestPeriod = 315'360'000'000'000'000;

const TimeUnit* FindTimeUnit(std::string_view name) {
  for (const TimeUnit& unit : kTimeUnits) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

struct Timing {
  uint64_t period = 0, frequency = 0;
};

Timing TimingOf(const TimeUnit& unit, uint64_t count) {
  if (unit.nanoseconds == 0) return {.frequency = count};
  if (count > kLongestPeriod / unit.nanoseconds) return {.period = UINT64_MAX};
  return {.period = count * unit.nanoseconds};
}

// "1s", "250ms", "99hz".
std::optional<Timing> ParseWithUnit(std::string_view text) {
  size_t digits = text.find_first_not_of("0123456789_");
  if (digits == std::string_view::npos || digits == 0) return std::nullopt;
  const TimeUnit* unit = FindTimeUnit(text.substr(digits));
  auto count = ParseCount(text.substr(0, digits));
  if (unit == nullptr || !count) return std::nullopt;
  return TimingOf(*unit, *count);
}

// The parts behind the provider's name: {"1s"} or {"s", "1"}.
std::optional<Timing> ParseTiming(const syntax::ProbeSpec& spec) {
  if (spec.parts.size() == 2) return ParseWithUnit(spec.parts[1].text);
  if (spec.parts.size() != 3) return std::nullopt;
  const TimeUnit* unit = FindTimeUnit(spec.parts[1].text);
  auto count = ParseCount(spec.parts[2].text);
  if (unit == nullptr || !count) return std::nullopt;
  return TimingOf(*unit, *count);
}

bool AddTimed(ExpandContext& context, const syntax::ProbeSpec& spec, const ProviderRow& row,
              Timing timing, std::vector<Target>& targets) {
  uint64_t period = timing.frequency != 0 ? 1'000'000'000 / timing.frequency : timing.period;
  if (period < kShortestPeriod) {
    return ReportForm(context, spec, row,
                      fmt::format("{} runs at most every 10us", FullName(row, spec)));
  }
  if (period > kLongestPeriod) {
    return ReportForm(context, spec, row,
                      fmt::format("{} runs at least every ten years", FullName(row, spec)));
  }
  targets.push_back({.provider = row.provider,
                     .span = spec.span,
                     .name = FullName(row, spec),
                     .period = timing.period,
                     .frequency = timing.frequency});
  return true;
}

}  // namespace

std::optional<uint64_t> ParseCount(std::string_view text) {
  uint64_t count = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count == 0) return std::nullopt;
  return count;
}

uint64_t PeriodOf(std::string_view text) {
  std::optional<Timing> timing = ParseWithUnit(text);
  if (!timing) return 0;
  uint64_t period = timing->frequency != 0 ? 1'000'000'000 / timing->frequency : timing->period;
  return period < kShortestPeriod ? 0 : period;
}

bool ExpandMoment(ExpandContext& context, const syntax::ProbeSpec& spec,
                  std::vector<Target>& targets) {
  const ProviderRow& row = *FindProvider(spec.parts[0].text);
  if (spec.parts.size() != 1) {
    return ReportForm(context, spec, row, fmt::format("{} takes nothing behind it", row.name));
  }
  targets.push_back({.provider = row.provider, .span = spec.span, .name = std::string(row.name)});
  return true;
}

bool ExpandInterval(ExpandContext& context, const syntax::ProbeSpec& spec,
                    std::vector<Target>& targets) {
  const ProviderRow& row = *FindProvider(spec.parts[0].text);
  std::optional<Timing> timing = ParseTiming(spec);
  if (!timing) {
    return ReportForm(context, spec, row,
                      fmt::format("`{}` does not say how often", FullName(row, spec)));
  }
  if (timing->frequency != 0) timing = Timing{.period = 1'000'000'000 / timing->frequency};
  return AddTimed(context, spec, row, *timing, targets);
}

bool ExpandProfile(ExpandContext& context, const syntax::ProbeSpec& spec,
                   std::vector<Target>& targets) {
  const ProviderRow& row = *FindProvider(spec.parts[0].text);
  std::optional<Timing> timing = ParseTiming(spec);
  if (!timing && spec.parts.size() == 2) {
    if (auto rate = ParseCount(spec.parts[1].text)) timing = Timing{.frequency = *rate};
  }
  if (!timing) {
    return ReportForm(context, spec, row,
                      fmt::format("`{}` does not say how often", FullName(row, spec)));
  }
  return AddTimed(context, spec, row, *timing, targets);
}

}  // namespace memtrace::probes
