#include "compiler/probes/user_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/kernel/registers.h"
#include "compiler/probes/function.h"
#include "compiler/user/usdt_argument.h"

namespace memtrace::probes {
namespace {

constexpr uint32_t kSlot = 8;  // bytes of a place on the stack

// Where the parameter lies, or why it can't be read.
Field FieldOf(const user::Parameter& parameter, size_t number) {
  Field field{.name = parameter.name, .type = parameter.type};
  if (field.name.empty()) field.name = fmt::format("arg{}", number);
  switch (parameter.place) {
    case user::ParameterPlace::kRegister:
      field.from = From::kRegister;
      field.index = parameter.number;
      break;
    case user::ParameterPlace::kStack:
      field.from = From::kUserStackArgument;
      field.offset = kernel::kFirstStackArgument + parameter.number * kSlot;
      break;
    case user::ParameterPlace::kUnknown:
      field.unreadable =
          "it is a floating-point number or a struct, or follows one: where it lies is not known";
      break;
  }
  return field;
}

Field FieldOf(const user::UsdtArgument& argument, size_t number, types::TypeTable& types) {
  Field field{.name = fmt::format("arg{}", number),
              .type = types.Int(argument.size, argument.is_signed)};
  field.unreadable = argument.problem;
  field.operand = {.base = argument.base, .shift = argument.shift, .constant = argument.constant};
  switch (argument.kind) {
    case user::OperandKind::kConstant:
      field.is_constant = true;
      field.constant = argument.constant;
      break;
    case user::OperandKind::kRegister:
      field.from = From::kUserRegister;
      break;
    case user::OperandKind::kMemory:
      field.from = From::kUserMemory;
      if (argument.index != user::UsdtArgument::kNoRegister) {
        field.operand.index = argument.index;
        field.operand.scale = argument.scale;
      }
      break;
  }
  return field;
}

}  // namespace

// What serves the target; nothing after an error.
std::optional<UserPlanner::Way> UserPlanner::FindWay(const Target& target) {
  kernel::Answer perf = kernel_.trials().Uprobe();
  if (!perf.works) {
    if (reported_ && *reported_ == target.span) return std::nullopt;
    reported_ = target.span;
    diagnostics_.Error(
        diag::Code::kCannotAttach, target.span,
        fmt::format("{} can't be attached: this kernel is built without uprobes ({})", target.name,
                    perf.refusal));
    return std::nullopt;
  }
  std::string reason = "asked for classic uprobes";
  if (!usage_.classic_only) {
    const kernel::Answer& multi = kernel_.trials().UprobeMulti();
    reason = multi.works ? "" : fmt::format("this kernel has none ({})", multi.refusal);
  }
  Way way{.is_multi = reason.empty(), .refused = {}};
  std::string_view name = IsExit(target.provider) ? "uretprobe.multi" : "uprobe.multi";
  if (!way.is_multi) {
    way.refused.push_back({.what = std::string(name), .reason = std::move(reason)});
  }
  return way;
}

void UserPlanner::AddFunction(const Target& target) {
  std::optional<Way> way = FindWay(target);
  if (!way) return;
  Group described;
  DescribeFunction(target, described);
  for (const TargetSymbol& symbol : target.symbols) Add(target, symbol, *way, described);
}

void UserPlanner::AddStatic(const Target& target) {
  std::optional<Way> way = FindWay(target);
  if (!way) return;
  for (const TargetSymbol& symbol : target.symbols) {
    Group described{.has_numbered_arguments = true};
    for (const user::UsdtArgument& argument :
         user::ParseUsdtArguments(symbol.arguments, kernel_.architecture())) {
      described.fields.push_back(FieldOf(argument, described.fields.size(), kernel_.types()));
    }
    Add(target, symbol, *way, std::move(described));
  }
}

void UserPlanner::DescribePrototype(const user::Prototype& prototype, bool is_exit, Group& group) {
  if (!is_exit) {
    group.has_numbered_arguments = true;
    for (const user::Parameter& parameter : prototype.parameters) {
      group.fields.push_back(FieldOf(parameter, group.fields.size()));
    }
  } else if (prototype.result.Is(types::Kind::kVoid)) {
    group.result.reset();
  } else {
    group.result->type = prototype.result;
    if (!prototype.result_is_in_register) {
      group.result->unreadable = "it is a floating-point number or a struct";
    }
  }
}

void UserPlanner::DescribeFunction(const Target& target, Group& group) {
  bool is_exit = IsExit(target.provider);
  if (is_exit) {
    group.result = Field{.name = "retval", .type = kernel_.types().Uint64(), .from = From::kResult};
  }
  if (is_exit ? !usage_.retval : !usage_.args) return;
  const TargetSymbol& symbol = target.symbols[0];
  bool is_inside = target.offset != 0 || target.binary->FunctionAt(symbol.address) == nullptr;
  if (is_inside) {
    group.unknown_arguments = "the probe is not where the function begins";
  } else if (target.symbols.size() > 1) {
    group.unknown_arguments =
        fmt::format("{} places are called {}", target.symbols.size(), target.function);
  } else if (auto prototype = target.binary->PrototypeAt(symbol.address)) {
    DescribePrototype(*prototype, is_exit, group);
  } else {
    group.unknown_arguments =
        fmt::format("{} has no debug information for it", target.binary->path());
  }
}

// Where a field lies and of what type it is. Structs of two files differ even when they have one
// name.
static std::string TextOf(const Field& field) {
  const Operand& operand = field.operand;
  return fmt::format("{}:{}:{}:{}:{}:{}:{}:{}:{}:{}:{}:{}", field.name, fmt::ptr(&*field.type),
                     static_cast<int>(field.from), field.index, field.offset, field.is_constant,
                     field.unreadable, operand.base, operand.shift, operand.index, operand.scale,
                     operand.constant);
}

// The attachment that takes the target's places: with uprobe.multi one for each file.
plan::Probe& UserPlanner::ProbeFor(Group& group, const Target& target, const Way& way) {
  const std::string& path = target.binary->path();
  auto same = std::find_if(group.probes.begin(), group.probes.end(),
                           [&](const plan::Probe& probe) { return probe.path == path; });
  if (way.is_multi && same != group.probes.end()) {
    if (group.targets.back().name == target.name) return *same;
    if (same->covers.empty()) same->covers.push_back(same->name);
    same->covers.push_back(target.name);
    same->may_be_missing = same->may_be_missing && target.is_from_wildcard;
    return *same;
  }
  // Of perf one for each target, which has its places in it.
  if (!way.is_multi && !group.targets.empty() && group.targets.back().name == target.name) {
    return group.probes.back();
  }
  bool is_exit = IsExit(target.provider);
  plan::AttachKind kind =
      way.is_multi ? (is_exit ? plan::AttachKind::kUretprobeMulti : plan::AttachKind::kUprobeMulti)
                   : (is_exit ? plan::AttachKind::kUretprobe : plan::AttachKind::kUprobe);
  group.probes.push_back({.name = target.name,
                          .kind = kind,
                          .event = target.function,
                          .refused = way.refused,
                          .misses_are_countable = way.is_multi || kernel_.CountsMisses(),
                          .functions = {},
                          .path = path,
                          .may_be_missing = target.is_from_wildcard});
  return group.probes.back();
}

void UserPlanner::Add(const Target& target, const TargetSymbol& symbol, const Way& way,
                      Group described) {
  described.type = way.is_multi ? plan::ProgramType::kUprobeMulti : plan::ProgramType::kKprobe;
  described.is_user = true;
  std::string key = fmt::format("{} {} {}{}", way.is_multi, target.function.empty(),
                                IsExit(target.provider), ArgumentsKey(usage_, described, TextOf));
  auto [found, is_new] = by_key_.emplace(std::move(key), groups_.size());
  if (is_new) groups_.push_back(std::move(described));
  Group& group = groups_[found->second];
  plan::Probe& probe = ProbeFor(group, target, way);
  if (group.targets.empty() || group.targets.back().name != target.name) {
    group.targets.push_back(target);
  }
  // The compiler of the plan puts in the cookie, by the target's number.
  probe.functions.push_back({.symbol = symbol.name,
                             .address = symbol.place,
                             .cookie = group.targets.size() - 1,
                             .semaphore = symbol.semaphore});
}

}  // namespace memtrace::probes
