#include "runtime/session/losses.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace memtrace::session {
namespace {

// Sites that are told as one: of one cause and, where the subject matters to people, of one
// subject.
struct Group {
  plan::LossCause cause;
  std::string subject;
  uint64_t count = 0;
  std::vector<uint32_t> lines;
};

bool IsToldPerSubject(plan::LossCause cause) {
  return cause == plan::LossCause::kMapFull || cause == plan::LossCause::kRetry;
}

std::vector<Group> GroupSites(const plan::Plan& plan, const std::vector<uint64_t>& counts) {
  std::vector<Group> groups;
  for (size_t i = 0; i < plan.loss_sites.size(); ++i) {
    const plan::LossSite& site = plan.loss_sites[i];
    if (counts[i] == 0) continue;
    std::string subject = IsToldPerSubject(site.cause) ? site.subject : "";
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& other) {
      return other.cause == site.cause && other.subject == subject;
    });
    if (group == groups.end()) {
      group = groups.insert(groups.end(),
                            {.cause = site.cause, .subject = subject, .count = 0, .lines = {}});
    }
    group->count += counts[i];
    if (site.line != 0) group->lines.push_back(site.line);
  }
  // In the order of the causes, whatever order the compiler made the sites in.
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.cause < b.cause; });
  return groups;
}

// " (line 2)", " (lines 2, 5)" or nothing; `more` follows inside the parentheses.
std::string Place(std::vector<uint32_t> lines, std::string_view more = "") {
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  std::string text;
  if (!lines.empty()) {
    text = fmt::format("line{} {}", lines.size() > 1 ? "s" : "", fmt::join(lines, ", "));
  }
  if (!more.empty()) text += (text.empty() ? "" : "; ") + std::string(more);
  return text.empty() ? "" : " (" + text + ")";
}

std::string_view Plural(uint64_t count) { return count == 1 ? "" : "s"; }

std::string Bytes(uint64_t bytes) {
  if (bytes >= 1 << 20) return fmt::format("{}MiB", bytes >> 20);
  return fmt::format("{}KiB", bytes >> 10);
}

uint32_t EntriesOf(const plan::Plan& plan, const std::string& map) {
  for (const plan::Map& candidate : plan.maps) {
    if (candidate.name == map) return candidate.max_entries;
  }
  return 0;
}

Loss Describe(const plan::Plan& plan, const Group& group) {
  uint64_t n = group.count;
  std::string_view s = Plural(n);
  auto loss = [&](const char* cause, std::string text) {
    return Loss{.cause = cause, .subject = group.subject, .count = n, .text = std::move(text)};
  };
  switch (group.cause) {
    case plan::LossCause::kRingFull:
      return loss("ring_full", fmt::format("{} event{} (ring full; --config ring_size={})", n, s,
                                           Bytes(uint64_t{4} * plan.config.ring_size)));
    case plan::LossCause::kMapFull:
      return loss("map_full", fmt::format("{} key{} ({} full at {}; config max_map_keys)", n, s,
                                          group.subject, EntriesOf(plan, group.subject)));
    case plan::LossCause::kReadFailed:
      return loss("read_failed", fmt::format("{} read{} failed{}", n, s, Place(group.lines)));
    case plan::LossCause::kTruncated:
      return loss("truncated",
                  fmt::format("{} string{} cut{}", n, s, Place(group.lines, "config max_strlen")));
    case plan::LossCause::kScratchBusy:
      return loss("scratch_busy", fmt::format("{} event{} (nested too deep)", n, s));
    case plan::LossCause::kStackFailed:
      return loss("stack_failed", fmt::format("{} stack{} refused{}", n, s, Place(group.lines)));
    case plan::LossCause::kStackTableFull:
      return loss("stack_table_full",
                  fmt::format("{} stack{} (table full at {}; config max_stacks)", n, s,
                              plan.config.max_stacks));
    case plan::LossCause::kStackCollision:
      return loss("stack_collision", fmt::format("{} stack{} (hash collision)", n, s));
    case plan::LossCause::kRetry:
      return loss("retry", fmt::format("{} update{} of {} (contended)", n, s, group.subject));
    case plan::LossCause::kLoopLimit:
      return loss("loop_limit", fmt::format("{} loop{} cut short{}", n, s, Place(group.lines)));
  }
  MT_UNREACHABLE("a loss cause outside its enum");
}

// The first probe of a program and how many more it serves.
std::string ProbesOf(const plan::Plan& plan, size_t program) {
  std::string first;
  size_t count = 0;
  for (const plan::Probe& probe : plan.probes) {
    if (probe.program != program) continue;
    if (count++ == 0) first = probe.name;
  }
  return count > 1 ? fmt::format("{} and {} more", first, count - 1) : first;
}

}  // namespace

std::vector<Loss> GroupLosses(const plan::Plan& plan, const std::vector<uint64_t>& site_counts,
                              const std::vector<uint64_t>& missed) {
  std::vector<Loss> losses;
  for (const Group& group : GroupSites(plan, site_counts)) losses.push_back(Describe(plan, group));
  for (size_t i = 0; i < missed.size(); ++i) {
    if (missed[i] == 0) continue;
    std::string probes = ProbesOf(plan, i);
    losses.push_back({.cause = "missed",
                      .subject = probes,
                      .count = missed[i],
                      .text = fmt::format("{} event{} ({}, a program was running on that CPU)",
                                          missed[i], Plural(missed[i]), probes)});
  }
  return losses;
}

std::string LossLine(const std::vector<Loss>& losses, bool counts_misses) {
  if (losses.empty())
    return counts_misses ? "nothing lost" : "nothing lost that this kernel counts";
  std::string line = "lost: ";
  for (size_t i = 0; i < losses.size(); ++i) line += (i > 0 ? " · " : "") + losses[i].text;
  return line;
}

}  // namespace memtrace::session
