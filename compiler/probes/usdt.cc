// usdt: which static probes of which files a spec names, and what is said when there is none.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "compiler/probes/expand.h"
#include "compiler/probes/user.h"

namespace memtrace::probes {
namespace {

using diag::Code;
using user::UsdtNote;

constexpr size_t kNamed = 8;  // probes in one note

// "usdt:BINARY:PROVIDER:NAME", taken apart.
struct Wanted {
  std::string provider = "*";
  std::string name = "*";
  bool has_provider = false;
  diag::Span span;  // of what names the probe

  bool IsWild() const { return (has_provider && IsGlob(provider)) || IsGlob(name); }
  bool Fits(const UsdtNote& note) const {
    return GlobMatches(provider, note.provider) && GlobMatches(name, note.name);
  }
};

std::string NameOf(const UsdtNote& note) { return note.provider + ":" + note.name; }

// Each probe once, by "provider:name".
std::vector<std::string> NamesOf(const std::vector<UsdtNote>& notes) {
  std::set<std::string> names;
  for (const UsdtNote& note : notes) names.insert(NameOf(note));
  return {names.begin(), names.end()};
}

void ReportUnknown(ExpandContext& context, const Wanted& wanted, const std::string& file,
                   const std::vector<UsdtNote>& notes) {
  std::string text = (wanted.has_provider ? wanted.provider + ":" : "") + wanted.name;
  if (notes.empty()) {
    context.diagnostics
        .Error(Code::kUnknownStaticProbe, wanted.span, fmt::format("{} has no static probes", file))
        .Note("they are what <sys/sdt.h> leaves in section .note.stapsdt");
    return;
  }
  auto builder = context.diagnostics.Error(Code::kUnknownStaticProbe, wanted.span,
                                           fmt::format("no static probe {} in {}", text, file));
  std::vector<std::string> names = NamesOf(notes);
  std::vector<std::string_view> candidates(names.begin(), names.end());
  if (!wanted.has_provider) {
    for (const UsdtNote& note : notes) candidates.push_back(note.name);
  }
  std::string_view closest = diag::ClosestName(text, candidates);
  if (!closest.empty()) {
    builder.Hint(fmt::format("did you mean `{}`?", closest));
  } else {
    builder.Note("there are " + SomeOf(names, kNamed));
  }
}

bool ReportAmbiguous(ExpandContext& context, const Wanted& wanted, const std::string& file,
                     const std::vector<std::string>& names) {
  if (context.quiet) return false;
  context.diagnostics
      .Error(Code::kAmbiguousFunction, wanted.span,
             fmt::format("several providers of {} have a probe {}", file, wanted.name))
      .Note("there are " + SomeOf(names, kNamed));
  return false;
}

// The places of a probe are one target.
void AddPlace(const user::Binary& binary, const UsdtNote& note, Target& target) {
  std::optional<uint64_t> place = binary.FileOffset(note.address);
  if (!place) return;
  std::optional<uint64_t> semaphore;
  if (note.semaphore != 0) semaphore = binary.DataOffset(note.semaphore);
  target.symbols.push_back({.name = NameOf(note),
                            .address = note.address,
                            .place = *place,
                            .semaphore = semaphore.value_or(0),
                            .arguments = note.arguments});
}

bool ExpandIn(ExpandContext& context, const syntax::ProbeSpec& spec, const ProviderRow& row,
              const Wanted& wanted, user::Binary& binary, bool may_be_elsewhere,
              std::vector<Target>& targets) {
  std::string file = BinaryName(spec.parts[1], binary);
  auto notes = binary.UsdtNotes();
  if (!notes.ok()) {
    if (!context.quiet) {
      context.diagnostics.Error(Code::kUnknownProgram, spec.parts[1].span, notes.error().message());
    }
    return false;
  }
  std::vector<UsdtNote> fitting;
  for (const UsdtNote& note : notes.value()) {
    if (wanted.Fits(note)) fitting.push_back(note);
  }
  std::vector<std::string> names = NamesOf(fitting);
  if (names.empty()) {
    if (!context.quiet && !may_be_elsewhere) ReportUnknown(context, wanted, file, notes.value());
    return false;
  }
  if (names.size() > 1 && !wanted.IsWild()) return ReportAmbiguous(context, wanted, file, names);
  for (const std::string& name : names) {
    size_t colon = name.find(':');
    bool is_spelled_out = wanted.IsWild() || IsGlob(spec.parts[1].text);
    Target target{.provider = row.provider,
                  .span = spec.span,
                  .name = is_spelled_out ? fmt::format("{}:{}:{}", row.name, file, name)
                                         : FullName(row, spec),
                  .category = name.substr(0, colon),
                  .event = name.substr(colon + 1),
                  .is_from_wildcard = wanted.IsWild(),
                  .binary = &binary};
    for (const UsdtNote& note : fitting) {
      if (NameOf(note) == name) AddPlace(binary, note, target);
    }
    if (!target.symbols.empty()) targets.push_back(std::move(target));
  }
  return true;
}

}  // namespace

bool ExpandUsdt(ExpandContext& context, const syntax::ProbeSpec& spec,
                std::vector<Target>& targets) {
  const ProviderRow& row = *FindProvider(spec.parts[0].text);
  size_t count = spec.parts.size();
  if (count < 3 || count > 4 || spec.parts[1].text.empty() || spec.parts.back().text.empty()) {
    return ReportForm(
        context, spec, row,
        fmt::format("`{}` does not name a static probe of a binary", FullName(row, spec)));
  }
  Wanted wanted{.name = spec.parts.back().text,
                .has_provider = count == 4 && !spec.parts[2].text.empty(),
                .span = {spec.parts[2].span.begin, spec.parts.back().span.end}};
  if (wanted.has_provider) wanted.provider = spec.parts[2].text;
  std::vector<user::Binary*> binaries = FindBinaries(context, spec.parts[1]);
  size_t errors = context.diagnostics.error_count();
  bool found = false;
  for (user::Binary* binary : binaries) {
    found |= ExpandIn(context, spec, row, wanted, *binary, binaries.size() > 1, targets);
  }
  bool is_told = binaries.empty() || context.diagnostics.error_count() > errors;
  if (!found && !context.quiet && !is_told) {
    context.diagnostics.Error(
        Code::kUnknownStaticProbe, wanted.span,
        fmt::format("none of {} files has a static probe {}", binaries.size(), wanted.name));
  }
  return found;
}

}  // namespace memtrace::probes
