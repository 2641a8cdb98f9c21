// uprobe and uretprobe: which functions of which files a spec names, and what is said when there is
// none.
#include "compiler/probes/user.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "compiler/base/file.h"
#include "compiler/probes/expand.h"
#include "compiler/probes/function.h"
#include "compiler/probes/user_symbols.h"

namespace memtrace::probes {
namespace {

using diag::Code;
using user::Symbol;
using user::SymbolKind;

constexpr size_t kNamed = 6;  // functions in one note

// "uprobe:BINARY:FUNCTION+OFFSET", taken apart.
struct Wanted {
  syntax::ProbePart binary;
  std::string function;
  uint64_t offset = 0;
  std::string offset_text;          // "+0x10", as it was written
  std::optional<uint64_t> address;  // instead of a function
  diag::Span span;                  // of the function's name
  bool may_be_elsewhere = false;    // one of several binaries: what one lacks another may have
};

// Unquoted C++ names were split at their colons.
std::string Joined(const syntax::ProbeSpec& spec, size_t from) {
  std::string text = spec.parts[from].text;
  for (size_t i = from + 1; i < spec.parts.size(); ++i) text += ":" + spec.parts[i].text;
  return text;
}

bool IsNumber(std::string_view text) { return text[0] >= '0' && text[0] <= '9'; }

// Takes "+OFFSET" off the function's name; false after an error.
bool TakeOffset(ExpandContext& context, const syntax::ProbeSpec& spec, const ProviderRow& row,
                Wanted& wanted) {
  size_t plus = wanted.function.rfind('+');
  if (plus == std::string::npos || plus == 0) return true;
  std::string_view text = std::string_view(wanted.function).substr(plus + 1);
  std::optional<uint64_t> offset = ParseOffset(text);
  bool is_operator = wanted.function.find("operator") != std::string::npos;
  if (!offset && is_operator) return true;
  if (!offset) return ReportForm(context, spec, row, fmt::format("`{}` is no offset", text));
  if (IsExit(row.provider) || IsGlob(wanted.function)) {
    return ReportForm(context, spec, row, "only uprobe takes an offset, of one function");
  }
  wanted.offset = *offset;
  wanted.offset_text = wanted.function.substr(plus);
  wanted.function.resize(plus);
  return true;
}

std::optional<Wanted> Understand(ExpandContext& context, const syntax::ProbeSpec& spec,
                                 const ProviderRow& row) {
  bool has_language = spec.parts.size() > 3 && spec.parts[2].text == "cpp";
  size_t first = has_language ? 3 : 2;
  if (spec.parts.size() <= first || spec.parts[1].text.empty() || spec.parts[first].text.empty()) {
    ReportForm(context, spec, row,
               fmt::format("`{}` does not name a function of a binary", FullName(row, spec)));
    return std::nullopt;
  }
  Wanted wanted{.binary = spec.parts[1],
                .function = Joined(spec, first),
                .span = {spec.parts[first].span.begin, spec.parts.back().span.end}};
  if (IsNumber(wanted.function)) {
    wanted.address = ParseOffset(wanted.function);
    if (!wanted.address) {
      ReportForm(context, spec, row, fmt::format("`{}` is no address", wanted.function));
      return std::nullopt;
    }
    return wanted;
  }
  if (!TakeOffset(context, spec, row, wanted)) return std::nullopt;
  return wanted;
}

Target NewTarget(const syntax::ProbeSpec& spec, const ProviderRow& row, const Wanted& wanted,
                 user::Binary& binary, std::string function) {
  std::string name = fmt::format("{}:{}:{}{}", row.name, BinaryName(wanted.binary, binary),
                                 function, wanted.offset_text);
  return {.provider = row.provider,
          .span = spec.span,
          .name = std::move(name),
          .function = std::move(function),
          .offset = wanted.offset,
          .binary = &binary};
}

// ---- What is said when there is no such function ------------------------------------------------

// Functions whose code a program may choose when it starts are called like the name they serve.
std::string ImplementationsOf(user::Binary& binary, const std::string& name) {
  std::vector<std::string> names;
  for (const Symbol* symbol : FunctionsMatching(binary, "*" + name + "_*")) {
    names.push_back(symbol->name);
  }
  return SomeOf(names, kNamed);
}

// The library that has the function which `binary` only calls.
std::string HomeOf(ExpandContext& context, user::Binary& binary, const std::string& name) {
  for (const std::string& library : binary.Needed()) {
    auto opened = context.programs.Open(library);
    if (opened.ok() && !FunctionsNamed(*opened.value(), name).empty()) return library;
  }
  return "";
}

// The symbol of that name which is no function of the binary's own.
bool ReportOtherSymbol(ExpandContext& context, const ProviderRow& row, const Wanted& wanted,
                       user::Binary& binary) {
  const std::string& name = wanted.function;
  std::string file = BinaryName(wanted.binary, binary);
  for (const Symbol& symbol : binary.symbols()) {
    if (symbol.name != name) continue;
    switch (symbol.kind) {
      case SymbolKind::kFunction:
        break;
      case SymbolKind::kData:
        context.diagnostics.Error(Code::kUnknownUserFunction, wanted.span,
                                  fmt::format("{} is data of {} and not a function", name, file));
        return true;
      case SymbolKind::kIndirect: {
        auto builder = context.diagnostics.Error(
            Code::kUnknownUserFunction, wanted.span,
            fmt::format("which code {} is in {} is chosen when a program starts", name, file));
        std::string list = ImplementationsOf(binary, name);
        builder.Note(list.empty() ? "the functions it chooses from have no symbols here; debug "
                                    "symbols of the library would name them"
                                  : "it may be " + list);
        return true;
      }
      case SymbolKind::kUndefined: {
        auto builder =
            context.diagnostics.Error(Code::kUnknownUserFunction, wanted.span,
                                      fmt::format("{} calls {} but does not have it", file, name));
        std::string home = HomeOf(context, binary, name);
        if (!home.empty()) builder.Note(fmt::format("that is {}:{}:{}", row.name, home, name));
        return true;
      }
    }
  }
  return false;
}

void ReportUnknown(ExpandContext& context, const ProviderRow& row, const Wanted& wanted,
                   user::Binary& binary) {
  if (ReportOtherSymbol(context, row, wanted, binary)) return;
  const std::string& name = wanted.function;
  std::string file = BinaryName(wanted.binary, binary);
  if (binary.IsInlined(name)) {
    context.diagnostics
        .Error(Code::kUnknownUserFunction, wanted.span,
               fmt::format("{} has no code of its own in {}", name, file))
        .Note("the compiler put it into its callers");
    return;
  }
  auto builder = context.diagnostics.Error(Code::kUnknownUserFunction, wanted.span,
                                           fmt::format("no function {} in {}", name, file));
  // The same function with other parameters.
  std::string plain(user::WithoutParameters(name));
  std::vector<const Symbol*> overloads;
  if (plain != name) overloads = FunctionsNamed(binary, plain);
  if (!overloads.empty()) {
    builder.Hint(fmt::format("did you mean `{}`?", DisplayName(*overloads[0])));
    return;
  }
  std::vector<std::string> names;
  for (const Symbol& symbol : binary.symbols()) {
    if (symbol.kind != SymbolKind::kFunction) continue;
    names.push_back(symbol.name);
    if (!symbol.name.starts_with("_Z")) continue;
    names.push_back(DisplayName(symbol));
    names.emplace_back(user::WithoutParameters(names.back()));
  }
  std::string_view closest = diag::ClosestName(name, {names.begin(), names.end()});
  if (!closest.empty()) builder.Hint(fmt::format("did you mean `{}`?", closest));
  if (std::string note = StrippedNote(binary); !note.empty()) builder.Note(note);
}

bool ReportAmbiguous(ExpandContext& context, const ProviderRow& row, const Wanted& wanted,
                     user::Binary& binary, const std::set<std::string>& signatures) {
  if (context.quiet) return false;
  std::string file = BinaryName(wanted.binary, binary);
  std::vector<std::string> quoted;
  for (const std::string& signature : signatures) quoted.push_back("\"" + signature + "\"");
  context.diagnostics
      .Error(Code::kAmbiguousFunction, wanted.span,
             fmt::format("{} has several functions {}", file, wanted.function))
      .Note("there are " + SomeOf(quoted, kNamed))
      .Note(fmt::format("{}:{}:\"{}(*\" takes them all", row.name, file, wanted.function));
  return false;
}

bool ReportNoCode(ExpandContext& context, const Wanted& wanted, user::Binary& binary) {
  if (!context.quiet) {
    context.diagnostics.Error(Code::kUnknownUserFunction, wanted.span,
                              fmt::format("{}{} is no address of code in {}", wanted.function,
                                          wanted.offset_text, BinaryName(wanted.binary, binary)));
  }
  return false;
}

// ---- One function, one address ------------------------------------------------------------------

// A breakpoint inside of an instruction makes another one of it.
bool MayBreakCode(ExpandContext& context, const Wanted& wanted, user::Binary& binary,
                  uint64_t address) {
  bool is_start = binary.FunctionAt(address) != nullptr || binary.IsLineStart(address);
  if (is_start || context.options.allow_unsafe) return false;
  if (!context.quiet) {
    context.diagnostics
        .Error(Code::kInstructionStart, wanted.span,
               fmt::format("whether an instruction begins at {}{} is not known", wanted.function,
                           wanted.offset_text))
        .Note("a probe inside of an instruction breaks the program; --unsafe puts it there")
        .Note("with debug information, where a line of the source begins is known");
  }
  return true;
}

// The kernel has bugs, too, and a program that computes something else is the worst of them.
bool MayBeMisread(ExpandContext& context, const Wanted& wanted, user::Binary& binary,
                  uint64_t place) {
  if (context.options.allow_unsafe || !IsMisread(binary, place)) return false;
  if (!context.quiet) {
    context.diagnostics
        .Error(
            Code::kCannotAttach, wanted.span,
            fmt::format("{}{} begins with an instruction of AVX that the kernel takes for another",
                        wanted.function, wanted.offset_text))
        .Note("a probe there would break the program; --unsafe puts it there");
  }
  return true;
}

bool ExpandAddress(ExpandContext& context, const syntax::ProbeSpec& spec, const ProviderRow& row,
                   const Wanted& wanted, user::Binary& binary, std::vector<Target>& targets) {
  uint64_t address = *wanted.address;
  std::optional<uint64_t> place = binary.FileOffset(address);
  if (!place) return ReportNoCode(context, wanted, binary);
  const Symbol* symbol = binary.FunctionAt(address);
  if (MayBreakCode(context, wanted, binary, address)) return false;
  if (MayBeMisread(context, wanted, binary, *place)) return false;
  Target target = NewTarget(spec, row, wanted, binary, wanted.function);
  if (symbol != nullptr) target.function = DisplayName(*symbol);
  target.symbols.push_back({.name = wanted.function, .address = address, .place = *place});
  targets.push_back(std::move(target));
  return true;
}

bool ExpandOneFunction(ExpandContext& context, const syntax::ProbeSpec& spec,
                       const ProviderRow& row, const Wanted& wanted, user::Binary& binary,
                       std::vector<Target>& targets) {
  std::vector<const Symbol*> symbols = FunctionsNamed(binary, wanted.function);
  if (symbols.empty()) {
    if (!context.quiet && !wanted.may_be_elsewhere) ReportUnknown(context, row, wanted, binary);
    return false;
  }
  std::set<std::string> signatures;
  for (const Symbol* symbol : symbols) signatures.insert(DisplayName(*symbol));
  bool is_cpp = symbols[0]->name != wanted.function && symbols[0]->name.starts_with("_Z");
  if (is_cpp && signatures.size() > 1) {
    return ReportAmbiguous(context, row, wanted, binary, signatures);
  }
  if (wanted.offset != 0 && symbols.size() > 1) {
    return ReportForm(
        context, spec, row,
        fmt::format("an offset into {} could be in {} places", wanted.function, symbols.size()));
  }
  Target target = NewTarget(spec, row, wanted, binary, wanted.function);
  if (is_cpp) target.function = *signatures.begin();
  for (const Symbol* symbol : symbols) {
    uint64_t address = symbol->address + wanted.offset;
    std::optional<uint64_t> place = binary.FileOffset(address);
    bool is_inside = wanted.offset == 0 || symbol->size == 0 || wanted.offset < symbol->size;
    if (!place || !is_inside) return ReportNoCode(context, wanted, binary);
    if (wanted.offset != 0 && MayBreakCode(context, wanted, binary, address)) return false;
    if (MayBeMisread(context, wanted, binary, *place)) return false;
    target.symbols.push_back({.name = symbol->name, .address = address, .place = *place});
  }
  targets.push_back(std::move(target));
  return true;
}

// ---- Wildcards ----------------------------------------------------------------------------------

bool ExpandWildcard(ExpandContext& context, const syntax::ProbeSpec& spec, const ProviderRow& row,
                    const Wanted& wanted, user::Binary& binary, std::vector<Target>& targets) {
  std::vector<const Symbol*> fitting = FunctionsMatching(binary, wanted.function);
  if (fitting.empty()) {
    if (context.quiet || wanted.may_be_elsewhere) return false;
    auto builder =
        context.diagnostics.Error(Code::kNoMatch, wanted.span,
                                  fmt::format("no function of {} fits {}",
                                              BinaryName(wanted.binary, binary), wanted.function));
    if (std::string note = StrippedNote(binary); !note.empty()) builder.Note(note);
    builder.Note("a `?` behind the probe makes it optional");
    return false;
  }
  if (fitting.size() > context.options.max_probes) {
    if (!context.quiet) {
      context.diagnostics
          .Error(Code::kTooManyProbes, wanted.span,
                 fmt::format("{} names {} functions", FullName(row, spec), fitting.size()))
          .Note(fmt::format("at most {} are attached to; --max-probes changes that",
                            context.options.max_probes));
    }
    return false;
  }
  size_t before = targets.size();
  for (const Symbol* symbol : fitting) {
    std::optional<uint64_t> place = binary.FileOffset(symbol->address);
    if (!place || IsMisread(binary, *place)) continue;
    Target target = NewTarget(spec, row, wanted, binary, DisplayName(*symbol));
    // Static functions of one name in several files are one probe.
    Target* last = targets.size() > before ? &targets.back() : nullptr;
    if (last == nullptr || last->name != target.name) {
      target.is_from_wildcard = true;
      last = &targets.emplace_back(std::move(target));
    }
    last->symbols.push_back({.name = symbol->name, .address = symbol->address, .place = *place});
  }
  return targets.size() > before;
}

bool ExpandIn(ExpandContext& context, const syntax::ProbeSpec& spec, const ProviderRow& row,
              const Wanted& wanted, user::Binary& binary, std::vector<Target>& targets) {
  if (wanted.address) return ExpandAddress(context, spec, row, wanted, binary, targets);
  if (IsGlob(wanted.function)) {
    return ExpandWildcard(context, spec, row, wanted, binary, targets);
  }
  return ExpandOneFunction(context, spec, row, wanted, binary, targets);
}

void ReportNoBinary(ExpandContext& context, const syntax::ProbePart& part, const Error& error) {
  if (context.quiet) return;
  bool needs_root = error.kind() == ErrorKind::kPermission;
  auto builder = context.diagnostics.Error(needs_root ? Code::kNeedsRoot : Code::kUnknownProgram,
                                           part.span, error.message());
  size_t slash = part.text.rfind('/');
  if (slash == std::string::npos || error.kind() != ErrorKind::kNotFound) return;
  std::string folder = part.text.substr(0, slash + 1);
  if (folder[0] == '/') folder = context.programs.root() + folder;
  auto names = ListDirectory(folder);
  if (!names.ok()) return;
  std::string_view closest = diag::ClosestName(std::string_view(part.text).substr(slash + 1),
                                               {names.value().begin(), names.value().end()});
  if (closest.empty()) return;
  builder.Hint(fmt::format("did you mean `{}{}`?", part.text.substr(0, slash + 1), closest));
}

}  // namespace

std::string BinaryName(const syntax::ProbePart& part, const user::Binary& binary) {
  return IsGlob(part.text) ? binary.path() : part.text;
}

std::string StrippedNote(user::Binary& binary) {
  if (!binary.is_stripped()) return "";
  return "the file is stripped: only what it exports has a name; its debug symbols, below "
         "/usr/lib/debug or in the file, would name the rest";
}

std::vector<user::Binary*> FindBinaries(ExpandContext& context, const syntax::ProbePart& part) {
  if (!IsGlob(part.text)) {
    auto binary = context.programs.Open(part.text);
    if (binary.ok()) return {binary.value()};
    ReportNoBinary(context, part, binary.error());
    return {};
  }
  bool is_path = part.text.find('/') != std::string::npos;
  auto binaries = is_path && context.programs.process() == 0 ? context.programs.Matching(part.text)
                                                             : context.programs.Mapped();
  if (!binaries.ok()) {
    ReportNoBinary(context, part, binaries.error());
    return {};
  }
  if (context.programs.process() != 0) {
    std::erase_if(binaries.value(), [&](const user::Binary* binary) {
      std::string_view path = binary->path();
      path.remove_prefix(std::min(path.size(), context.programs.root().size()));
      return !GlobMatches(part.text, is_path ? path : path.substr(path.rfind('/') + 1));
    });
  }
  if (binaries.value().empty() && !context.quiet) {
    context.diagnostics.Error(Code::kUnknownProgram, part.span,
                              fmt::format("no program or library fits {}", part.text));
  }
  return std::move(binaries).value();
}

bool ExpandUser(ExpandContext& context, const syntax::ProbeSpec& spec,
                std::vector<Target>& targets) {
  const ProviderRow& row = *FindProvider(spec.parts[0].text);
  std::optional<Wanted> wanted = Understand(context, spec, row);
  if (!wanted) return false;
  std::vector<user::Binary*> binaries = FindBinaries(context, wanted->binary);
  if (binaries.empty()) return false;
  wanted->may_be_elsewhere = binaries.size() > 1;
  size_t errors = context.diagnostics.error_count();
  bool found = false;
  for (user::Binary* binary : binaries) {
    found |= ExpandIn(context, spec, row, *wanted, *binary, targets);
  }
  if (!found && !context.quiet && context.diagnostics.error_count() == errors) {
    context.diagnostics.Error(
        Code::kUnknownUserFunction, wanted->span,
        fmt::format("none of {} files has a function {}", binaries.size(), wanted->function));
  }
  return found;
}

}  // namespace memtrace::probes
