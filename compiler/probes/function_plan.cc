#include "compiler/probes/function_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/kernel/registers.h"
#include "compiler/probes/function.h"

namespace memtrace::probes {
namespace {

// Up to here each function of a clause gets a trampoline of its own.
constexpr size_t kFewFunctions = 4;
// Returns are worth more trampolines where there is no kprobe.multi: a kretprobe of perf misses
// returns when more calls are open than it has room for, and cannot count what it missed.
constexpr size_t kFewReturns = 32;

constexpr uint32_t kSlot = 8;  // bytes of a register, and of a place on the stack

std::string_view SpellingOf(bool is_exit) { return is_exit ? "fexit" : "fentry"; }

uint32_t SlotsOf(types::Type type) { return std::max(1u, (type->size + kSlot - 1) / kSlot); }

// Arguments as a trampoline stores them: one behind the other, in whole slots.
uint32_t PlaceInSlots(const kernel::FunctionPrototype& prototype, std::vector<Field>& fields) {
  uint32_t slot = 0;
  for (const kernel::FunctionParameter& parameter : prototype.parameters) {
    fields.push_back(
        {.name = parameter.name, .type = parameter.type, .from = From::kArgument, .index = slot});
    slot += SlotsOf(parameter.type);
  }
  return slot;
}

// Arguments as the calling convention passes them: what does not fit into the registers that are
// left lies on the stack, and a struct of more than two registers always does.
void PlaceInRegisters(const kernel::FunctionPrototype& prototype, std::vector<Field>& fields) {
  uint32_t used = 0, offset = kernel::kFirstStackArgument;
  for (const kernel::FunctionParameter& parameter : prototype.parameters) {
    Field field{.name = parameter.name, .type = parameter.type};
    uint32_t slots = SlotsOf(parameter.type);
    if (slots <= 2 && used + slots <= kernel::kArgumentRegisterCount) {
      field.from = From::kRegister;
      field.index = used;
      used += slots;
    } else {
      field.from = From::kStackArgument;
      field.offset = offset;
      offset += slots * kSlot;
    }
    fields.push_back(std::move(field));
  }
}

// Whether a trampoline for such a function can be built on any kernel that has trampolines.
bool IsPlain(const kernel::FunctionPrototype& prototype) {
  constexpr size_t kAlwaysInRegisters = 6;
  return prototype.parameters.size() <= kAlwaysInRegisters && !prototype.is_variadic &&
         std::none_of(prototype.parameters.begin(), prototype.parameters.end(),
                      [](const auto& parameter) { return parameter.type.IsStruct(); });
}

}  // namespace

Field UntypedArgument(uint32_t number, bool is_user, types::TypeTable& types) {
  Field field{.name = fmt::format("arg{}", number), .type = types.Uint64()};
  if (number < kernel::kArgumentRegisterCount) {
    field.from = From::kRegister;
    field.index = number;
  } else {
    field.from = is_user ? From::kUserStackArgument : From::kStackArgument;
    field.offset = kernel::kFirstStackArgument + (number - kernel::kArgumentRegisterCount) * kSlot;
  }
  return field;
}

FunctionPlanner::FunctionPlanner(const std::vector<Target>& targets, const Usage& usage,
                                 kernel::Kernel& kernel, diag::Diagnostics& diagnostics,
                                 std::vector<Group>& groups)
    : usage_(usage), kernel_(kernel), diagnostics_(diagnostics), groups_(groups) {
  for (const Target& target : targets) {
    if (target.function.empty() || target.binary != nullptr) continue;
    (IsExit(target.provider) ? exits_ : entries_) += target.symbols.size();
  }
}

// What to try, the best first.
std::vector<FunctionPlanner::Way> FunctionPlanner::WaysFor(const Target& target) const {
  if (IsTyped(target.provider)) return {Way::kTyped};
  if (!IsExit(target.provider)) {
    if (entries_ <= kFewFunctions) return {Way::kTyped, Way::kMulti, Way::kPerf};
    return {Way::kMulti, Way::kPerf, Way::kTyped};
  }
  // Where a function returns, its arguments are only left in a trampoline.
  if (usage_.args) return {Way::kTyped};
  if (exits_ <= kFewFunctions) return {Way::kTyped, Way::kMulti, Way::kPerf};
  if (exits_ <= kFewReturns) return {Way::kMulti, Way::kTyped, Way::kPerf};
  return {Way::kMulti, Way::kPerf, Way::kTyped};
}

std::string FunctionPlanner::WhyNot(Way way, const Target& target) {
  switch (way) {
    case Way::kTyped:
      return WhyNotTyped(target);
    case Way::kMulti:
      return WhyNotMulti(target);
    case Way::kPerf:
      return WhyNotPerf(target);
  }
  return "";
}

const FunctionPlanner::Signature& FunctionPlanner::SignatureOf(const Target& target) {
  auto [found, is_new] = signatures_.try_emplace(target.module + ":" + target.function);
  Signature& signature = found->second;
  if (!is_new) return signature;
  auto btf = kernel_.LoadBtf(target.module);
  if (!btf.ok()) {
    signature.why_not = btf.error().message();
    return signature;
  }
  auto prototype = btf.value()->Prototype(target.function);
  if (!prototype.ok()) {
    signature.why_not = prototype.error().message();
    return signature;
  }
  signature.btf_id = btf.value()->FindId(target.function, kernel::BtfKind::kFunc);
  signature.prototype = std::move(prototype).value();
  return signature;
}

std::string FunctionPlanner::WhyNotTyped(const Target& target) {
  bool is_exit = IsExit(target.provider);
  if (target.offset != 0) return "it begins where the function does";
  if (!IsTyped(target.provider)) {
    if (usage_.classic_only) return "asked for classic kprobes";
    if (usage_.registers) return "it has no registers for ctx";
  }
  if (auto refusal = typed_refusal_.find(is_exit); refusal != typed_refusal_.end()) {
    return refusal->second;
  }
  if (target.symbols.size() > 1) {
    return fmt::format("{} places are called {}", target.symbols.size(), target.function);
  }
  if (target.symbols[0].name != target.function) {
    return fmt::format("the code is called {}", target.symbols[0].name);
  }
  const Signature& signature = SignatureOf(target);
  if (signature.btf_id == 0) return signature.why_not;
  if (!kernel_.functions().IsTraceable(target.function)) return "ftrace can't trace the function";
  kernel::TypedFunction function{.name = target.function,
                                 .btf_id = signature.btf_id,
                                 .module = target.module,
                                 .is_exit = is_exit};
  kernel::Answer answer = kernel_.trials().LoadsTyped(function);
  // Attaching is tried where loading says too little.
  bool is_sure = IsPlain(signature.prototype) && kernel_.functions().knows_traceable();
  if (answer.works && !is_sure) answer = kernel_.trials().AttachesTyped(function);
  if (answer.works) return "";
  std::string reason =
      fmt::format("this kernel refuses {} ({})", SpellingOf(is_exit), answer.refusal);
  // Rights and configuration don't depend on the function.
  if (answer.refusal == "EPERM") typed_refusal_[is_exit] = reason;
  return reason;
}

std::string FunctionPlanner::WhyNotMulti(const Target& target) {
  if (target.offset != 0) return "it begins where the function does";
  if (usage_.classic_only) return "asked for classic kprobes";
  if (std::string reason = WhyNotPerf(target); !reason.empty()) return reason;
  const kernel::Answer& multi = kernel_.trials().KprobeMulti();
  if (!multi.works) return fmt::format("this kernel has none ({})", multi.refusal);
  for (const TargetSymbol& symbol : target.symbols) {
    if (!target.is_from_wildcard && !kernel_.functions().IsTraceable(symbol.name)) {
      return "ftrace can't trace the function";
    }
  }
  return "";
}

std::string FunctionPlanner::WhyNotPerf(const Target&) {
  std::string reason = WhyNoKprobes(kernel_);
  return reason.empty() ? "" : "this kernel " + reason;
}

void FunctionPlanner::Add(const Target& target) {
  static constexpr std::string_view kNames[] = {"", "kprobe.multi", "kprobe of perf"};
  std::vector<plan::Refused> refused;
  for (Way way : WaysFor(target)) {
    std::string reason = WhyNot(way, target);
    if (reason.empty()) {
      for (const std::string& part : target.partial) {
        refused.push_back({.what = part, .reason = "its beginning is a part of its callers"});
      }
      return way == Way::kTyped ? AddTyped(target, std::move(refused))
                                : AddKprobe(way, target, std::move(refused));
    }
    std::string_view name =
        way == Way::kTyped ? SpellingOf(IsExit(target.provider)) : kNames[static_cast<int>(way)];
    refused.push_back({.what = std::string(name), .reason = std::move(reason)});
  }
  ReportNoWay(target, refused);
}

bool FunctionPlanner::NeedsSignature() const { return usage_.args || usage_.retval; }

void FunctionPlanner::AddTyped(const Target& target, std::vector<plan::Refused> refused) {
  const Signature& signature = SignatureOf(target);
  bool is_exit = IsExit(target.provider);
  Group group{.type = plan::ProgramType::kTracing,
              .targets = {target},
              .has_numbered_arguments = true,
              .tracing_target = is_exit ? plan::TracingTarget::kExit : plan::TracingTarget::kEntry,
              .attach_btf_id = signature.btf_id,
              .attach_module = target.module};
  uint32_t slots = PlaceInSlots(signature.prototype, group.fields);
  if (is_exit && !signature.prototype.result.Is(types::Kind::kVoid)) {
    group.result = Field{.name = "retval",
                         .type = signature.prototype.result,
                         .from = From::kArgument,
                         .index = slots};
  }
  group.probes.push_back({.name = target.name,
                          .kind = plan::AttachKind::kTracing,
                          .event = target.function,
                          .refused = std::move(refused),
                          .may_be_missing = target.is_from_wildcard});
  groups_.push_back(std::move(group));
}

void FunctionPlanner::DescribeArguments(const Target& target, Group& group) {
  bool is_exit = IsExit(target.provider);
  if (is_exit) {
    group.result = Field{.name = "retval", .type = kernel_.types().Uint64(), .from = From::kResult};
  }
  if (!NeedsSignature()) return;
  const Signature& signature = SignatureOf(target);
  if (signature.btf_id == 0) {
    group.unknown_arguments = signature.why_not;
    return;
  }
  if (!is_exit) {
    group.has_numbered_arguments = true;
    PlaceInRegisters(signature.prototype, group.fields);
  } else if (signature.prototype.result.Is(types::Kind::kVoid)) {
    group.result.reset();
  } else {
    group.result->type = signature.prototype.result;
  }
}

void FunctionPlanner::AddKprobe(Way way, const Target& target, std::vector<plan::Refused> refused) {
  bool is_exit = IsExit(target.provider), is_multi = way == Way::kMulti;
  Group described{.type = is_multi ? plan::ProgramType::kKprobeMulti : plan::ProgramType::kKprobe};
  DescribeArguments(target, described);
  auto text_of = [](const Field& field) {
    return fmt::format("{}:{}:{}:{}", field.name, field.type.Name(), field.index, field.offset);
  };
  std::string key =
      fmt::format("{} {}{}", is_multi, is_exit, ArgumentsKey(usage_, described, text_of));
  auto [found, is_new] = by_key_.emplace(std::move(key), groups_.size());
  if (is_new) groups_.push_back(std::move(described));
  Group& group = groups_[found->second];
  if (is_new || !is_multi) {
    plan::AttachKind kind =
        is_multi ? (is_exit ? plan::AttachKind::kKretprobeMulti : plan::AttachKind::kKprobeMulti)
                 : (is_exit ? plan::AttachKind::kKretprobe : plan::AttachKind::kKprobe);
    group.probes.push_back({.name = target.name,
                            .kind = kind,
                            .event = target.function,
                            .refused = std::move(refused),
                            .misses_are_countable = kernel_.CountsMisses(),
                            .offset = target.offset,
                            .may_be_missing = target.is_from_wildcard});
  }
  plan::Probe& probe = group.probes.back();
  // The compiler of the plan puts in the cookie, by the target's number.
  for (const TargetSymbol& symbol : target.symbols) {
    std::string name = target.module.empty() ? symbol.name : target.module + ":" + symbol.name;
    // By its name where that is enough: an address is only good until the next boot.
    bool by_address = is_multi || target.symbols.size() > 1;
    probe.functions.push_back({.symbol = std::move(name),
                               .address = by_address ? symbol.address : 0,
                               .cookie = group.targets.size()});
  }
  group.targets.push_back(target);
  if (is_multi) {
    if (group.targets.size() == 2) probe.covers.push_back(group.targets[0].name);
    if (group.targets.size() >= 2) probe.covers.push_back(target.name);
    probe.may_be_missing = probe.may_be_missing && target.is_from_wildcard;
  }
}

void FunctionPlanner::ReportNoWay(const Target& target, const std::vector<plan::Refused>& refused) {
  if (reported_ && *reported_ == target.span) return;
  reported_ = target.span;
  std::string kprobes = IsTyped(target.provider) ? "" : WhyNoKprobes(kernel_);
  std::string reason;
  auto add = [&](std::string_view part) {
    if (reason.find(part) != reason.npos) return;
    reason += (reason.empty() ? "" : " and ") + std::string(part);
  };
  if (!kprobes.empty()) add("this kernel " + kprobes);
  for (const plan::Refused& one : refused) {
    std::string_view text = one.reason;
    if (!kprobes.empty() && text == "this kernel " + kprobes) continue;
    // "this kernel is built without … and refuses …"
    constexpr std::string_view kSubject = "this kernel ";
    if (!reason.empty() && text.starts_with(kSubject)) text.remove_prefix(kSubject.size());
    add(text);
  }
  auto builder = diagnostics_.Error(diag::Code::kCannotAttach, target.span,
                                    fmt::format("{} can't be attached: {}", target.name, reason));
  if (std::string nearest = NearestTracepointOf(kernel_, target.function, IsExit(target.provider));
      !nearest.empty()) {
    builder.Note(fmt::format("the same moment is {}", nearest));
  }
  if (IsTyped(target.provider) && WhyNoKprobes(kernel_).empty()) {
    builder.Note(fmt::format("{}:{} works here", IsExit(target.provider) ? "kretprobe" : "kprobe",
                             target.function));
  } else if (IsExit(target.provider) && usage_.args) {
    builder.Note("where a function returns, args need fexit; without them a kretprobe may serve");
  }
}

}  // namespace memtrace::probes
