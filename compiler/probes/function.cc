// kprobe, kretprobe, fentry and fexit: which functions a spec names, and what is said when there is
// none.
#include "compiler/probes/function.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "compiler/probes/expand.h"
#include "compiler/probes/function_tables.h"

namespace memtrace::probes {
namespace {

using diag::Code;
using kernel::FunctionSymbol;

// "kprobe:MODULE:FUNCTION+OFFSET", taken apart.
struct Wanted {
  std::string module;  // empty: not given
  std::string function;
  uint64_t offset = 0;
  std::string offset_text;  // "+0x10", as it was written
  diag::Span span;          // of the function's name
};

std::string NameOf(const ProviderRow& row, const Wanted& wanted) {
  std::string name(row.name);
  if (!wanted.module.empty()) name += ":" + wanted.module;
  return name + ":" + wanted.function + wanted.offset_text;
}

std::optional<Wanted> Understand(ExpandContext& context, const syntax::ProbeSpec& spec,
                                 const ProviderRow& row) {
  if (spec.parts.size() < 2 || spec.parts.size() > 3 || spec.parts.back().text.empty()) {
    ReportForm(context, spec, row,
               fmt::format("`{}` does not name one function", FullName(row, spec)));
    return std::nullopt;
  }
  Wanted wanted{.function = spec.parts.back().text, .span = spec.parts.back().span};
  if (spec.parts.size() == 3) wanted.module = spec.parts[1].text;
  size_t plus = wanted.function.find('+');
  if (plus == std::string::npos) return wanted;
  std::optional<uint64_t> offset = ParseOffset(std::string_view(wanted.function).substr(plus + 1));
  if (!offset || row.provider != Provider::kKprobe || IsGlob(wanted.function)) {
    ReportForm(context, spec, row,
               offset ? fmt::format("only kprobe takes an offset, of one function")
                      : fmt::format("`{}` is no offset", wanted.function.substr(plus + 1)));
    return std::nullopt;
  }
  wanted.offset = *offset;
  wanted.offset_text = wanted.function.substr(plus);
  wanted.function.resize(plus);
  return wanted;
}

bool FitsModule(const Wanted& wanted, std::string_view module) {
  if (wanted.module.empty()) return true;
  return wanted.module == "vmlinux" ? module.empty() : GlobMatches(wanted.module, module);
}

Target NewTarget(const syntax::ProbeSpec& spec, const ProviderRow& row, const Wanted& wanted) {
  return {.provider = row.provider,
          .span = spec.span,
          .name = NameOf(row, wanted),
          .function = wanted.function,
          .offset = wanted.offset};
}

bool HasPrototype(kernel::Kernel& kernel, const std::string& function, const std::string& module) {
  auto btf = kernel.LoadBtf(module);
  return btf.ok() && btf.value()->FindId(function, kernel::BtfKind::kFunc) != 0;
}

// ---- What is said when there is no such function ------------------------------------------------

bool HasSymbol(kernel::Kernel& kernel, std::string_view function) {
  return !kernel.functions().Named(function).empty();
}

std::string RenameNote(kernel::Kernel& kernel, const ProviderRow& row, std::string_view function) {
  for (const RenamedFunction& renamed : RenamedFunctions()) {
    std::string_view other = renamed.older == function   ? renamed.newer
                             : renamed.newer == function ? renamed.older
                                                         : std::string_view();
    if (other.empty() || !HasSymbol(kernel, other)) continue;
    return fmt::format("this kernel has {}:{}; `{}:{} | {}:{}` takes what there is", row.name,
                       other, row.name, function, row.name, other);
  }
  return "";
}

void ReportUnknown(ExpandContext& context, const ProviderRow& row, const Wanted& wanted) {
  kernel::Kernel& kernel = context.kernel;
  const std::string& function = wanted.function;
  if (HasPrototype(kernel, function, "")) {
    auto builder = context.diagnostics.Error(
        Code::kUnknownKernelFunction, wanted.span,
        fmt::format("{} has no code of its own on this kernel", function));
    builder.Note("the compiler put it into its callers, or left it out");
    if (std::string nearest = NearestTracepointOf(kernel, function, IsExit(row.provider));
        !nearest.empty()) {
      builder.Note(fmt::format("the same moment is {}", nearest));
    }
    return;
  }
  std::string where = wanted.module.empty() ? "" : fmt::format(" in module {}", wanted.module);
  auto builder =
      context.diagnostics.Error(Code::kUnknownKernelFunction, wanted.span,
                                fmt::format("no function {}{} on this kernel", function, where));
  if (std::string note = RenameNote(kernel, row, function); !note.empty()) {
    builder.Note(note);
    return;
  }
  if (std::string nearest = NearestTracepointOf(kernel, function, IsExit(row.provider));
      !nearest.empty()) {
    builder.Note(fmt::format("the same moment is {}", nearest));
    return;
  }
  std::vector<std::string_view> names;
  for (const FunctionSymbol& symbol : kernel.functions().All()) {
    if (FitsModule(wanted, symbol.module)) names.push_back(symbol.name);
  }
  std::string_view closest = diag::ClosestName(function, names);
  if (!closest.empty()) {
    builder.Hint(fmt::format("did you mean `{}`?", closest));
  } else if (names.empty() && !wanted.module.empty()) {
    builder.Note(fmt::format("no module {} is loaded", wanted.module));
  }
}

// ---- One function -------------------------------------------------------------------------------

// The symbols that are the function, sorted into the target; false when none is.
bool TakeSymbols(const std::vector<FunctionSymbol>& symbols, const Wanted& wanted, Target& target) {
  for (const FunctionSymbol& symbol : symbols) {
    if (!FitsModule(wanted, symbol.module)) continue;
    bool is_named = symbol.name == wanted.function;
    kernel::Suffix suffix = is_named ? kernel::Suffix::kNone : kernel::SuffixOf(symbol.name);
    switch (suffix) {
      case kernel::Suffix::kNone:
      case kernel::Suffix::kCopy:
        target.symbols.push_back({.name = std::string(symbol.name), .address = symbol.address});
        break;
      case kernel::Suffix::kPart:
        target.partial.emplace_back(symbol.name);
        break;
      case kernel::Suffix::kCold:
        break;
    }
  }
  return !target.symbols.empty();
}

// The modules that have the function, vmlinux ("") among them.
std::vector<std::string> ModulesOf(const std::vector<FunctionSymbol>& symbols,
                                   const Wanted& wanted) {
  std::vector<std::string> modules;
  for (const FunctionSymbol& symbol : symbols) {
    if (!FitsModule(wanted, symbol.module)) continue;
    kernel::Suffix suffix = kernel::SuffixOf(symbol.name);
    if (symbol.name != wanted.function && suffix != kernel::Suffix::kCopy) continue;
    modules.emplace_back(symbol.module);
  }
  std::sort(modules.begin(), modules.end());
  modules.erase(std::unique(modules.begin(), modules.end()), modules.end());
  return modules;
}

bool ReportPartial(ExpandContext& context, const ProviderRow& row, const Wanted& wanted,
                   const Target& target) {
  if (context.quiet) return false;
  context.diagnostics
      .Error(Code::kUnknownKernelFunction, wanted.span,
             fmt::format("only a part of {} has code of its own on this kernel", wanted.function))
      .Note(fmt::format("the compiler put its beginning into its callers; {}:{} is what follows",
                        row.name, target.partial.front()));
  return false;
}

bool ReportAmbiguous(ExpandContext& context, const ProviderRow& row, const Wanted& wanted,
                     const std::vector<std::string>& modules) {
  if (context.quiet) return false;
  std::string list;
  for (const std::string& module : modules) {
    list += fmt::format("{}{}:{}:{}", list.empty() ? "" : ", ", row.name,
                        module.empty() ? "vmlinux" : module, wanted.function);
  }
  context.diagnostics
      .Error(Code::kAmbiguousFunction, wanted.span,
             fmt::format("several modules have a function {}", wanted.function))
      .Note("there are " + list);
  return false;
}

bool ExpandOneFunction(ExpandContext& context, const syntax::ProbeSpec& spec,
                       const ProviderRow& row, const Wanted& wanted, std::vector<Target>& targets) {
  kernel::Functions& functions = context.kernel.functions();
  Target target = NewTarget(spec, row, wanted);
  if (!functions.has_symbols()) {
    // Only BTF can tell, and only of vmlinux.
    if (!HasPrototype(context.kernel, wanted.function, "")) {
      if (!context.quiet) ReportUnknown(context, row, wanted);
      return false;
    }
    target.symbols.push_back({.name = wanted.function});
    targets.push_back(std::move(target));
    return true;
  }
  std::vector<FunctionSymbol> symbols = functions.Named(wanted.function);
  std::vector<std::string> modules = ModulesOf(symbols, wanted);
  bool in_vmlinux = std::find(modules.begin(), modules.end(), "") != modules.end();
  if (modules.size() > 1 && !in_vmlinux) return ReportAmbiguous(context, row, wanted, modules);
  // Who names no module means the kernel itself where it has the function.
  if (in_vmlinux) std::erase_if(symbols, [](auto& symbol) { return !symbol.module.empty(); });
  if (!TakeSymbols(symbols, wanted, target)) {
    if (!target.partial.empty()) return ReportPartial(context, row, wanted, target);
    if (!context.quiet) ReportUnknown(context, row, wanted);
    return false;
  }
  target.module = in_vmlinux || modules.empty() ? "" : modules.front();
  if (wanted.offset != 0 && target.symbols.size() > 1) {
    // Each copy has its own code.
    return ReportForm(context, spec, row,
                      fmt::format("an offset into {} could be in {} places", wanted.function,
                                  target.symbols.size()));
  }
  targets.push_back(std::move(target));
  return true;
}

// ---- Wildcards ----------------------------------------------------------------------------------

// Functions of BTF, for a kernel that shows no symbols.
std::vector<FunctionSymbol> FunctionsOfBtf(kernel::Kernel& kernel) {
  std::vector<FunctionSymbol> all;
  auto btf = kernel.LoadBtf();
  if (!btf.ok()) return all;
  for (std::string_view name : btf.value()->NamesOf(kernel::BtfKind::kFunc)) {
    all.push_back({.name = name});
  }
  std::sort(all.begin(), all.end(),
            [](const auto& left, const auto& right) { return left.name < right.name; });
  return all;
}

bool ReportTooMany(ExpandContext& context, const ProviderRow& row, const Wanted& wanted,
                   size_t count) {
  if (!context.quiet) {
    context.diagnostics
        .Error(Code::kTooManyProbes, wanted.span,
               fmt::format("{}:{} names {} functions", row.name, wanted.function, count))
        .Note(fmt::format("at most {} are attached to; --max-probes changes that",
                          context.options.max_probes));
  }
  return false;
}

bool ReportNoMatch(ExpandContext& context, const Wanted& wanted) {
  if (!context.quiet) {
    context.diagnostics
        .Error(Code::kNoMatch, wanted.span,
               fmt::format("no function fits {} on this kernel", wanted.function))
        .Note("a `?` behind the probe makes it optional");
  }
  return false;
}

}  // namespace

std::vector<FunctionSymbol> MatchFunctions(kernel::Kernel& kernel, std::string_view module,
                                           std::string_view function, bool needs_prototype) {
  kernel::Functions& functions = kernel.functions();
  Wanted wanted{.module = std::string(module), .function = std::string(function)};
  // Without ftrace's list much of kallsyms cannot be attached to: what BTF describes mostly can.
  bool ask_btf = needs_prototype || !functions.knows_traceable();
  std::vector<FunctionSymbol> fitting, of_btf;
  if (!functions.has_symbols() && !functions.knows_traceable()) {
    of_btf = FunctionsOfBtf(kernel);
    ask_btf = false;
  }
  for (const FunctionSymbol& symbol : of_btf.empty() ? functions.All() : of_btf) {
    if (!FitsModule(wanted, symbol.module) || !GlobMatches(function, symbol.name)) continue;
    if (ask_btf && !HasPrototype(kernel, std::string(symbol.name), std::string(symbol.module))) {
      continue;
    }
    fitting.push_back(symbol);
  }
  return fitting;
}

static bool ExpandWildcard(ExpandContext& context, const syntax::ProbeSpec& spec,
                           const ProviderRow& row, const Wanted& wanted,
                           std::vector<Target>& targets) {
  std::vector<FunctionSymbol> fitting =
      MatchFunctions(context.kernel, wanted.module, wanted.function, IsTyped(row.provider));
  if (fitting.empty()) return ReportNoMatch(context, wanted);
  if (fitting.size() > context.options.max_probes) {
    return ReportTooMany(context, row, wanted, fitting.size());
  }
  size_t before = targets.size();
  for (const FunctionSymbol& symbol : fitting) {
    std::string module(symbol.module), name(symbol.name);
    Target* last = targets.size() > before ? &targets.back() : nullptr;
    if (last == nullptr || last->function != name || last->module != module) {
      Wanted one{.module = module, .function = name};
      last = &targets.emplace_back(NewTarget(spec, row, one));
      last->module = module;
      last->is_from_wildcard = true;
    }
    last->symbols.push_back({.name = name, .address = symbol.address});
  }
  return true;
}

std::optional<uint64_t> ParseOffset(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x")) {
    base = 16;
    text.remove_prefix(2);
  }
  uint64_t offset = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), offset, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return offset;
}

bool IsTyped(Provider provider) {
  return provider == Provider::kFentry || provider == Provider::kFexit;
}

std::string WhyNoKprobes(kernel::Kernel& kernel) {
  kernel::Answer answer = kernel.trials().Kprobe();
  return answer.works ? "" : fmt::format("is built without kprobes ({})", answer.refusal);
}

std::string WhyNoTyped(kernel::Kernel& kernel, const std::string& function,
                       const std::string& module, bool is_exit) {
  auto btf = kernel.LoadBtf(module);
  if (!btf.ok()) return "describes no functions: " + btf.error().message();
  uint32_t id = btf.value()->FindId(function, kernel::BtfKind::kFunc);
  if (id == 0) return fmt::format("has no prototype of {} in its BTF", function);
  kernel::Answer answer = kernel.trials().LoadsTyped(
      {.name = function, .btf_id = id, .module = module, .is_exit = is_exit});
  return answer.works
             ? ""
             : fmt::format("refuses {} ({})", is_exit ? "fexit" : "fentry", answer.refusal);
}

// The event that stands at the end of what `event` begins; empty: none.
static std::string EndOf(std::string_view event) {
  constexpr std::string_view kEnter = "sys_enter_", kBegin = "_begin";
  if (event.starts_with(kEnter)) return fmt::format("sys_exit_{}", event.substr(kEnter.size()));
  if (!event.ends_with(kBegin)) return "";
  return fmt::format("{}_end", event.substr(0, event.size() - kBegin.size()));
}

std::string NearestTracepointOf(kernel::Kernel& kernel, std::string_view function, bool is_exit) {
  for (const NearestTracepoint& nearest : NearestTracepoints()) {
    if (nearest.function != function) continue;
    std::string event = is_exit ? EndOf(nearest.event) : std::string(nearest.event);
    if (event.empty()) continue;
    auto exists = kernel.HasTracepoint({std::string(nearest.category), event});
    if (exists.ok() && exists.value()) {
      return fmt::format("tracepoint:{}:{}", nearest.category, event);
    }
  }
  return "";
}

bool ExpandFunction(ExpandContext& context, const syntax::ProbeSpec& spec,
                    std::vector<Target>& targets) {
  const ProviderRow& row = *FindProvider(spec.parts[0].text);
  std::optional<Wanted> wanted = Understand(context, spec, row);
  if (!wanted) return false;
  size_t before = targets.size();
  bool is_glob = IsGlob(wanted->function) || IsGlob(wanted->module);
  bool exists = is_glob ? ExpandWildcard(context, spec, row, *wanted, targets)
                        : ExpandOneFunction(context, spec, row, *wanted, targets);
  if (!exists || !context.quiet) return exists;
  // An alternative that nothing can serve is none.
  const Target& first = targets[before];
  bool has_kprobes = !IsTyped(row.provider) && WhyNoKprobes(context.kernel).empty();
  if (has_kprobes ||
      WhyNoTyped(context.kernel, first.function, first.module, IsExit(row.provider)).empty()) {
    return true;
  }
  targets.resize(before);
  return false;
}

}  // namespace memtrace::probes
