// iter and self: programs that memtrace runs over the kernel's own lists, and upon a signal.
#include <csignal>

#include <fmt/format.h>

#include "compiler/probes/expand.h"
#include "compiler/probes/iterator.h"

namespace memtrace::probes {
namespace {

using diag::Code;

constexpr std::string_view kPrefix = "bpf_iter_";

// They walk over one map, which a script has no name for.
constexpr std::string_view kOfOneMap[] = {"bpf_map_elem", "bpf_sk_storage_map", "sockmap"};

bool IsOfOneMap(std::string_view name) {
  for (std::string_view other : kOfOneMap) {
    if (other == name) return true;
  }
  return false;
}

// An iterator's program is described by a function that is given a struct bpf_iter_meta and then
// the object; other functions have names that begin like it.
bool IsIterator(kernel::Btf& btf, std::string_view name) {
  auto prototype = btf.Prototype(std::string(kPrefix) + std::string(name));
  if (!prototype.ok() || IsOfOneMap(name)) return false;
  const auto& parameters = prototype.value().parameters;
  return parameters.size() > 1 && parameters[0].type.IsPointer() &&
         parameters[1].type.IsPointer() &&
         parameters[0].type->target.Name() == "struct bpf_iter_meta";
}

void AddIterator(const syntax::ProbeSpec& spec, const ProviderRow& row, std::string_view name,
                 uint64_t period, std::vector<Target>& targets) {
  std::string full = fmt::format("{}:{}", row.name, name);
  if (spec.parts.size() == 3) full += ":" + spec.parts[2].text;
  targets.push_back({.provider = row.provider,
                     .span = spec.span,
                     .name = std::move(full),
                     .event = std::string(name),
                     .period = period});
}

struct SignalName {
  std::string_view name;
  int number;
};
// Those that mean nothing else to memtrace.
constexpr SignalName kSignals[] = {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}};

}  // namespace

std::vector<std::string> IteratorNames(kernel::Btf& btf) {
  std::vector<std::string> names;
  for (const std::string& function : btf.Functions()) {
    if (!function.starts_with(kPrefix)) continue;
    std::string name = function.substr(kPrefix.size());
    if (IsIterator(btf, name)) names.push_back(std::move(name));
  }
  return names;
}

std::string IteratorFunction(std::string_view name) {
  return std::string(kPrefix) + std::string(name);
}

bool ExpandIterator(ExpandContext& context, const syntax::ProbeSpec& spec,
                    std::vector<Target>& targets) {
  const ProviderRow& row = *FindProvider(spec.parts[0].text);
  if (spec.parts.size() < 2 || spec.parts.size() > 3 || spec.parts[1].text.empty()) {
    return ReportForm(context, spec, row,
                      fmt::format("`{}` does not name one iterator", FullName(row, spec)));
  }
  uint64_t period = 0;
  if (spec.parts.size() == 3) {
    period = PeriodOf(spec.parts[2].text);
    if (period == 0) {
      return ReportForm(context, spec, row,
                        fmt::format("`{}` does not say how often", spec.parts[2].text));
    }
  }
  auto btf = context.kernel.LoadBtf();
  if (!btf.ok()) {
    if (!context.quiet) {
      context.diagnostics
          .Error(Code::kNoBtf, spec.span, "iterators are found by BTF, which this kernel lacks")
          .Note(btf.error().message());
    }
    return false;
  }
  const std::string& wanted = spec.parts[1].text;
  if (IsGlob(wanted)) {
    for (const std::string& name : IteratorNames(*btf.value())) {
      if (GlobMatches(wanted, name)) AddIterator(spec, row, name, period, targets);
    }
    if (!targets.empty()) return true;
  } else if (IsIterator(*btf.value(), wanted)) {
    AddIterator(spec, row, wanted, period, targets);
    return true;
  }
  if (context.quiet) return false;
  std::vector<std::string> names = IteratorNames(*btf.value());
  auto builder = context.diagnostics.Error(Code::kUnknownIterator, spec.parts[1].span,
                                           fmt::format("this kernel has no iterator `{}`", wanted));
  std::string_view closest =
      diag::ClosestName(wanted, std::vector<std::string_view>(names.begin(), names.end()));
  if (IsOfOneMap(wanted)) {
    builder.Note("it walks over one map, which a script can't name");
  } else if (!closest.empty()) {
    builder.Hint(fmt::format("did you mean `{}`?", closest));
  } else {
    builder.Note(fmt::format("there are {}", fmt::join(names, ", ")));
  }
  return false;
}

bool ExpandSelf(ExpandContext& context, const syntax::ProbeSpec& spec,
                std::vector<Target>& targets) {
  const ProviderRow& row = *FindProvider(spec.parts[0].text);
  if (spec.parts.size() != 3 || spec.parts[1].text != "signal") {
    return ReportForm(context, spec, row,
                      fmt::format("`{}` does not name a signal", FullName(row, spec)));
  }
  std::string_view wanted = spec.parts[2].text;
  if (wanted.starts_with("SIG")) wanted.remove_prefix(3);
  for (const SignalName& signal : kSignals) {
    if (signal.name != wanted) continue;
    targets.push_back({.provider = row.provider,
                       .span = spec.span,
                       .name = FullName(row, spec),
                       .event = std::string(signal.name),
                       .config = static_cast<uint64_t>(signal.number)});
    return true;
  }
  return ReportForm(context, spec, row,
                    fmt::format("{} is not one of the signals that run a clause, USR1 and USR2",
                                spec.parts[2].text));
}

}  // namespace memtrace::probes
