#include "runtime/driver/listing.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include <fnmatch.h>
#include <strings.h>

#include <fmt/format.h>

#include "compiler/compile.h"
#include "compiler/probes/iterator.h"
#include "compiler/probes/provider.h"
#include "runtime/driver/user_listing.h"
#include "runtime/session/notices.h"

namespace memtrace::driver {
namespace {

using probes::Provider;

struct Pattern {
  std::string provider = "*";
  std::string category = "*";
  std::string event = "*";
  bool has_category = false;
};

std::vector<std::string> SplitAtColons(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(':', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool NamesProvider(const std::string& text) {
  return text.find('*') != std::string::npos || probes::FindProvider(text) != nullptr;
}

// "tracepoint:kmem:x", "t:kmem:x", "kprobe:x", "kmem:x", "x".
Pattern ReadPattern(const std::string& text) {
  std::vector<std::string> parts = SplitAtColons(text);
  Pattern pattern;
  bool has_provider = parts.size() >= 3 || (parts.size() == 2 && NamesProvider(parts.front()));
  if (has_provider) {
    const probes::ProviderRow* row = probes::FindProvider(parts.front());
    pattern.provider = row != nullptr ? std::string(row->name) : parts.front();
    parts.erase(parts.begin());
  }
  pattern.has_category = parts.size() >= 2;
  if (pattern.has_category) pattern.category = parts[0];
  if (!parts.empty() && !parts.back().empty()) pattern.event = parts.back();
  return pattern;
}

bool Fits(const std::string& pattern, std::string_view text) {
  return ::fnmatch(pattern.c_str(), std::string(text).c_str(), FNM_CASEFOLD) == 0;
}

std::string Parameters(const kernel::FunctionPrototype& prototype) {
  std::string text;
  for (const kernel::FunctionParameter& parameter : prototype.parameters) {
    text += Declared(parameter.type, parameter.name);
  }
  return text;
}

std::string Fields(const kernel::TracepointFormat& format) {
  std::string text;
  for (const types::Member& member : format.members) {
    text += Declared(member.type, member.name);
  }
  return text;
}

Result<Done> AddTracepoints(kernel::Kernel& kernel, const Pattern& pattern, bool with_arguments,
                            std::string& list) {
  MT_ASSIGN_OR_RETURN(const std::vector<kernel::TracepointName>* names, kernel.Tracepoints());
  for (const kernel::TracepointName& name : *names) {
    if (!Fits(pattern.category, name.category) || !Fits(pattern.event, name.event)) continue;
    list += fmt::format("tracepoint:{}:{}\n", name.category, name.event);
    if (!with_arguments) continue;
    MT_ASSIGN_OR_RETURN(const kernel::TracepointFormat* format, kernel.Format(name));
    list += Fields(*format);
  }
  return Done{};
}

Result<Done> AddRawTracepoints(kernel::Kernel& kernel, const Pattern& pattern, bool with_arguments,
                               std::string& list) {
  MT_ASSIGN_OR_RETURN(kernel::Btf * btf, kernel.LoadBtf());
  for (const std::string& name : btf->RawTracepoints()) {
    if (!Fits(pattern.event, name)) continue;
    list += fmt::format("rawtracepoint:{}\n", name);
    auto prototype = btf->RawTracepoint(name);
    if (with_arguments && prototype.ok()) list += Parameters(prototype.value());
  }
  return Done{};
}

Result<Done> AddIterators(kernel::Kernel& kernel, const Pattern& pattern, bool with_arguments,
                          std::string& list) {
  MT_ASSIGN_OR_RETURN(kernel::Btf * btf, kernel.LoadBtf());
  for (const std::string& name : probes::IteratorNames(*btf)) {
    if (!Fits(pattern.event, name)) continue;
    list += fmt::format("iter:{}\n", name);
    auto prototype = btf->Prototype(probes::IteratorFunction(name));
    if (with_arguments && prototype.ok()) list += Parameters(prototype.value());
  }
  return Done{};
}

Result<Done> AddSoftwareEvents(kernel::Kernel&, const Pattern& pattern, bool, std::string& list) {
  for (const std::string& name : probes::SoftwareEventNames()) {
    if (Fits(pattern.event, name)) list += fmt::format("software:{}\n", name);
  }
  return Done{};
}

// What the kernel lists by kind. `add` appends to its list those that fit, with their arguments or
// without.
struct EventKind {
  std::string_view provider;
  std::string_view plural;
  bool has_category;
  Result<Done> (*add)(kernel::Kernel&, const Pattern&, bool, std::string&);
};
constexpr EventKind kEventKinds[] = {{"tracepoint", "tracepoints", true, AddTracepoints},
                                     {"rawtracepoint", "raw tracepoints", false, AddRawTracepoints},
                                     {"software", "software events", false, AddSoftwareEvents},
                                     {"iter", "iterators", false, AddIterators}};

// Kinds of probes on functions, and which part of a prototype each has.
struct FunctionKind {
  std::string_view name;
  bool needs_prototype, has_arguments, has_result;
};
constexpr std::array<FunctionKind, 4> kFunctionKinds = {{{"kprobe", false, true, false},
                                                         {"kretprobe", false, false, true},
                                                         {"fentry", true, true, false},
                                                         {"fexit", true, true, true}}};

std::string Arguments(kernel::Kernel& kernel, const kernel::FunctionSymbol& function,
                      const FunctionKind& kind) {
  auto btf = kernel.LoadBtf(std::string(function.module));
  auto prototype = btf.ok() ? btf.value()->Prototype(function.name)
                            : Result<kernel::FunctionPrototype>(btf.error());
  if (!prototype.ok()) return "    arguments not known: no prototype in BTF\n";
  std::string text;
  for (const kernel::FunctionParameter& parameter : prototype.value().parameters) {
    if (!kind.has_arguments) break;
    text += Declared(parameter.type, parameter.name);
  }
  if (kind.has_result && !prototype.value().result.Is(types::Kind::kVoid)) {
    text += Declared(prototype.value().result, "retval");
  }
  return text;
}

// How a clause on all functions that match would be attached, or why it can't be.
std::string HowAttached(kernel::Kernel& kernel, const std::string& probe) {
  diag::SourceMap sources;
  diag::Span text = sources.Add("-l", probe + " { @ = count(); }");
  diag::Diagnostics diagnostics;
  std::optional<plan::Plan> plan = MakePlan(sources, text, kernel, {}, diagnostics);
  std::string lines;
  if (plan) {
    lines = session::Attachments(*plan);
  } else {
    for (const diag::Diagnostic& diagnostic : diagnostics.all()) {
      lines += diagnostic.message + "\n";
      for (const std::string& note : diagnostic.notes) lines += "  " + note + "\n";
    }
  }
  std::string shown = "how they are attached:\n";
  for (size_t begin = 0; begin < lines.size();) {
    size_t end = lines.find('\n', begin) + 1;
    shown += "    " + lines.substr(begin, end - begin);
    begin = end;
  }
  return shown;
}

void AddFunctions(kernel::Kernel& kernel, const Pattern& pattern, bool with_arguments,
                  const FunctionKind& kind, std::string& list) {
  std::string module = pattern.has_category ? pattern.category : "";
  const kernel::FunctionSymbol* last = nullptr;
  std::vector<kernel::FunctionSymbol> functions =
      probes::MatchFunctions(kernel, module, pattern.event, kind.needs_prototype);
  for (const kernel::FunctionSymbol& function : functions) {
    bool is_same =
        last != nullptr && last->name == function.name && last->module == function.module;
    last = &function;
    if (is_same) continue;
    list += kind.name;
    list += ':';
    if (!function.module.empty()) {
      list += function.module;
      list += ':';
    }
    list += function.name;
    list += '\n';
    if (with_arguments) list += Arguments(kernel, function, kind);
  }
  // Of more nobody makes one clause without asking for it.
  if (!with_arguments || functions.empty() ||
      functions.size() > probes::ExpandOptions().max_probes) {
    return;
  }
  std::string probe(kind.name);
  if (pattern.has_category) probe += ":" + pattern.category;
  list += HowAttached(kernel, probe + ":" + pattern.event);
}

}  // namespace

std::string Declared(types::Type type, std::string_view name) {
  std::string text = type.Name();
  if (!text.ends_with('*')) text += ' ';
  return fmt::format("    {}{}\n", text, name);
}

Result<Listing> ListProbes(kernel::Kernel& kernel, user::Programs& programs,
                           const std::string& text, bool with_arguments) {
  if (NamesProgram(text)) {
    MT_ASSIGN_OR_RETURN(std::string list, ListUserProbes(kernel, programs, text, with_arguments));
    return Listing{.text = std::move(list), .left_out = {}};
  }
  Pattern pattern = ReadPattern(text);
  Listing listing;
  for (const EventKind& kind : kEventKinds) {
    if (!Fits(pattern.provider, kind.provider)) continue;
    if (pattern.has_category && !kind.has_category) continue;
    Result<Done> added = kind.add(kernel, pattern, with_arguments, listing.text);
    if (added.ok()) continue;
    if (pattern.provider == kind.provider) return added.error();
    // Who asks for everything sees what there is, and hears of the rest.
    listing.left_out += fmt::format("{} are left out: {}\n", kind.plural, added.error().message());
  }
  for (const FunctionKind& kind : kFunctionKinds) {
    // Unnamed, each function is shown once.
    bool is_wanted = pattern.provider == "*" ? kind.name == "kprobe" && !pattern.has_category
                                             : Fits(pattern.provider, kind.name);
    if (is_wanted) AddFunctions(kernel, pattern, with_arguments, kind, listing.text);
  }
  return listing;
}

}  // namespace memtrace::driver
