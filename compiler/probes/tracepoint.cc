// tracepoint and rawtracepoint: probes whose existence only the kernel knows.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/probes/expand.h"

namespace memtrace::probes {
namespace {

using diag::Code;
using kernel::TracepointName;

// Events that got another name. Both directions are of use: which one exists depends on the kernel.
struct Renamed {
  std::string_view category;
  std::string_view older, newer;
};
constexpr Renamed kRenamed[] = {
    {"vmscan", "mm_vmscan_writepage", "mm_vmscan_write_folio"},
    {"kmem", "mm_page_free_direct", "mm_page_free"},
    {"kmem", "mm_pagevec_free", "mm_page_free_batched"},
    {"kmem", "kmalloc_node", "kmalloc"},
    {"kmem", "kmem_cache_alloc_node", "kmem_cache_alloc"},
};

void ReportEnvironment(ExpandContext& context, const syntax::ProbeSpec& spec, const Error& error) {
  if (context.quiet) return;
  switch (error.kind()) {
    case ErrorKind::kPermission:
      context.diagnostics.Error(Code::kNeedsRoot, spec.span, "looking up tracepoints needs root")
          .Note(error.message());
      return;
    case ErrorKind::kNotFound:
      context.diagnostics.Error(Code::kNoTracefs, spec.span, "this kernel shows no tracepoints")
          .Note(error.message());
      return;
    case ErrorKind::kOther:
    case ErrorKind::kUnsupported:
    case ErrorKind::kInvalid:
    case ErrorKind::kRejected:
    case ErrorKind::kBusy:
      context.diagnostics.Error(Code::kNoTracefs, spec.span, "tracepoints can't be looked up")
          .Note(error.message());
      return;
  }
}

std::vector<std::string_view> CategoriesOf(const std::vector<TracepointName>& all) {
  std::vector<std::string_view> categories;
  for (const TracepointName& name : all) {
    if (categories.empty() || categories.back() != name.category)
      categories.push_back(name.category);
  }
  return categories;
}

std::vector<std::string_view> EventsIn(const std::vector<TracepointName>& all,
                                       std::string_view category) {
  std::vector<std::string_view> events;
  for (const TracepointName& name : all) {
    if (name.category == category) events.push_back(name.event);
  }
  return events;
}

const TracepointName* FindEvent(const std::vector<TracepointName>& all, std::string_view category,
                                std::string_view event) {
  for (const TracepointName& name : all) {
    if (name.event == event && (category.empty() || name.category == category)) return &name;
  }
  return nullptr;
}

// The note for an event that has another name on this kernel, or nothing.
std::string RenameNote(const std::vector<TracepointName>& all, std::string_view category,
                       std::string_view event) {
  for (const Renamed& renamed : kRenamed) {
    if (renamed.category != category) continue;
    std::string_view other = renamed.older == event   ? renamed.newer
                             : renamed.newer == event ? renamed.older
                                                      : std::string_view();
    if (!other.empty() && FindEvent(all, category, other) != nullptr) {
      return fmt::format("this kernel has {}:{}", category, other);
    }
  }
  return "";
}

void ReportUnknownEvent(ExpandContext& context, const std::vector<TracepointName>& all,
                        const syntax::ProbePart& category, const syntax::ProbePart& event) {
  std::vector<std::string_view> events = EventsIn(all, category.text);
  if (events.empty()) {
    auto builder = context.diagnostics.Error(
        Code::kUnknownTracepoint, category.span,
        fmt::format("no tracepoints are called {}:… on this kernel", category.text));
    std::string_view closest = diag::ClosestName(category.text, CategoriesOf(all));
    if (!closest.empty()) builder.Hint(fmt::format("did you mean `{}`?", closest));
    if (const TracepointName* same = FindEvent(all, "", event.text)) {
      builder.Note(fmt::format("there is {}:{}", same->category, same->event));
    }
    return;
  }
  auto builder = context.diagnostics.Error(
      Code::kUnknownTracepoint, event.span,
      fmt::format("no tracepoint {}:{} on this kernel", category.text, event.text));
  if (std::string note = RenameNote(all, category.text, event.text); !note.empty()) {
    builder.Note(note);
    return;
  }
  std::string_view closest = diag::ClosestName(event.text, events);
  if (!closest.empty()) {
    builder.Hint(fmt::format("did you mean `{}`?", closest));
  } else if (const TracepointName* same = FindEvent(all, "", event.text)) {
    builder.Note(fmt::format("there is {}:{}", same->category, same->event));
  }
}

bool ReportNoMatch(ExpandContext& context, const syntax::ProbeSpec& spec) {
  if (!context.quiet) {
    std::string pattern = spec.parts[1].text;
    for (size_t i = 2; i < spec.parts.size(); ++i) pattern += ":" + spec.parts[i].text;
    context.diagnostics
        .Error(Code::kNoMatch, spec.parts[1].span.To(spec.parts.back().span),
               fmt::format("no tracepoint fits {} on this kernel", pattern))
        .Note("a `?` behind the probe makes it optional");
  }
  return false;
}

Target TracepointTarget(const syntax::ProbeSpec& spec, const TracepointName& name) {
  return {.provider = Provider::kTracepoint,
          .span = spec.span,
          .name = fmt::format("tracepoint:{}:{}", name.category, name.event),
          .category = name.category,
          .event = name.event};
}

Target RawTarget(const syntax::ProbeSpec& spec, std::string_view event) {
  return {.provider = Provider::kRawTracepoint,
          .span = spec.span,
          .name = fmt::format("rawtracepoint:{}", event),
          .event = std::string(event)};
}

bool ReportMissingCategory(ExpandContext& context, const syntax::ProbeSpec& spec,
                           const ProviderRow& row) {
  if (spec.parts.size() == 2 && !context.quiet) {
    auto all = context.kernel.Tracepoints();
    if (all.ok()) {
      if (const TracepointName* same = FindEvent(*all.value(), "", spec.parts[1].text)) {
        context.diagnostics
            .Error(Code::kBadProbeForm, spec.span,
                   fmt::format("`{}` has no category", FullName(row, spec)))
            .Note(fmt::format("the event is tracepoint:{}:{}", same->category, same->event));
        return false;
      }
    }
  }
  return ReportForm(context, spec, row,
                    fmt::format("`{}` does not name one event", FullName(row, spec)));
}

}  // namespace

bool ExpandTracepoint(ExpandContext& context, const syntax::ProbeSpec& spec,
                      std::vector<Target>& targets) {
  const ProviderRow& row = *FindProvider(spec.parts[0].text);
  if (spec.parts.size() != 3 || spec.parts[1].text.empty() || spec.parts[2].text.empty()) {
    return ReportMissingCategory(context, spec, row);
  }
  const syntax::ProbePart& category = spec.parts[1];
  const syntax::ProbePart& event = spec.parts[2];
  bool is_glob = IsGlob(category.text) || IsGlob(event.text);
  if (!is_glob) {
    TracepointName name{category.text, event.text};
    auto exists = context.kernel.HasTracepoint(name);
    if (!exists.ok()) {
      ReportEnvironment(context, spec, exists.error());
      return false;
    }
    if (exists.value()) {
      targets.push_back(TracepointTarget(spec, name));
      return true;
    }
  }
  auto all = context.kernel.Tracepoints();
  if (!all.ok()) {
    ReportEnvironment(context, spec, all.error());
    return false;
  }
  if (!is_glob) {
    if (!context.quiet) ReportUnknownEvent(context, *all.value(), category, event);
    return false;
  }
  size_t before = targets.size();
  for (const TracepointName& name : *all.value()) {
    if (GlobMatches(category.text, name.category) && GlobMatches(event.text, name.event)) {
      targets.push_back(TracepointTarget(spec, name));
    }
  }
  return targets.size() > before || ReportNoMatch(context, spec);
}

bool ExpandRawTracepoint(ExpandContext& context, const syntax::ProbeSpec& spec,
                         std::vector<Target>& targets) {
  const ProviderRow& row = *FindProvider(spec.parts[0].text);
  // People who come from tracepoint: write the category, too.
  bool has_category = spec.parts.size() == 3;
  if (spec.parts.size() < 2 || spec.parts.size() > 3 || spec.parts.back().text.empty()) {
    return ReportForm(context, spec, row,
                      fmt::format("`{}` does not name one event", FullName(row, spec)));
  }
  if (has_category) {
    return ReportForm(context, spec, row, "a raw tracepoint has no category");
  }
  auto btf = context.kernel.LoadBtf();
  if (!btf.ok()) {
    if (!context.quiet) {
      context.diagnostics
          .Error(Code::kNoBtf, spec.span,
                 "raw tracepoints are looked up in BTF, which this kernel lacks")
          .Note(btf.error().message());
    }
    return false;
  }
  const syntax::ProbePart& event = spec.parts[1];
  if (!IsGlob(event.text) &&
      btf.value()->FindId("btf_trace_" + event.text, kernel::BtfKind::kTypedef) != 0) {
    targets.push_back(RawTarget(spec, event.text));
    return true;
  }
  std::vector<std::string> all = btf.value()->RawTracepoints();
  if (IsGlob(event.text)) {
    size_t before = targets.size();
    for (const std::string& name : all) {
      if (GlobMatches(event.text, name)) targets.push_back(RawTarget(spec, name));
    }
    return targets.size() > before || ReportNoMatch(context, spec);
  }
  if (!context.quiet) {
    std::vector<std::string_view> names(all.begin(), all.end());
    auto builder =
        context.diagnostics.Error(Code::kUnknownTracepoint, event.span,
                                  fmt::format("no raw tracepoint {} on this kernel", event.text));
    std::string_view closest = diag::ClosestName(event.text, names);
    if (!closest.empty()) builder.Hint(fmt::format("did you mean `{}`?", closest));
  }
  return false;
}

}  // namespace memtrace::probes
