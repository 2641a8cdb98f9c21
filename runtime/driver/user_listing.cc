#include "runtime/driver/user_listing.h"

#include <optional>
#include <vector>

#include <fmt/format.h>

#include "compiler/probes/attach_plan.h"
#include "compiler/syntax/probe_text.h"
#include "runtime/driver/listing.h"

namespace memtrace::driver {
namespace {

using probes::Field;
using probes::Provider;

const probes::ProviderRow* RowOf(std::string_view pattern) {
  return probes::FindProvider(pattern.substr(0, pattern.find(':')));
}

std::string Arguments(const probes::Target& target, kernel::Kernel& kernel) {
  diag::Diagnostics ignored;
  probes::Usage all;
  all.args = all.retval = true;
  std::vector<probes::Group> groups = probes::PlanAttach({target}, all, kernel, ignored);
  if (groups.empty()) return "";
  const probes::Group& group = groups.front();
  std::string text;
  for (const Field& field : group.fields) text += Declared(field.type, field.name);
  if (group.result) text += Declared(group.result->type, group.result->name);
  if (!group.unknown_arguments.empty() && !group.result) {
    text += fmt::format("    arguments not known: {}\n", group.unknown_arguments);
  }
  return text;
}

}  // namespace

bool NamesProgram(std::string_view pattern) {
  const probes::ProviderRow* row = RowOf(pattern);
  return row != nullptr && pattern.find(':') != pattern.npos &&
         (row->provider == Provider::kUprobe || row->provider == Provider::kUretprobe ||
          row->provider == Provider::kUsdt);
}

Result<std::string> ListUserProbes(kernel::Kernel& kernel, user::Programs& programs,
                                   const std::string& pattern, bool with_arguments) {
  syntax::ProbeSpec spec;
  spec.parts = syntax::SplitProbe(pattern, {});
  if (spec.parts.size() == 2) spec.parts.push_back({.text = "*", .span = {}});
  if (spec.parts.back().text.empty()) spec.parts.back().text = "*";
  diag::Diagnostics diagnostics;
  std::vector<probes::Target> targets =
      probes::Expand(spec, kernel, programs, diagnostics, {.max_probes = UINT32_MAX});
  if (diagnostics.has_errors()) {
    const diag::Diagnostic& first = diagnostics.all().front();
    std::string hint = first.hint.empty() ? "" : "; " + first.hint;
    return Error(ErrorKind::kNotFound, first.message + hint);
  }
  std::string list;
  for (const probes::Target& target : targets) {
    list += target.name + "\n";
    if (with_arguments) list += Arguments(target, kernel);
  }
  return list;
}

}  // namespace memtrace::driver
