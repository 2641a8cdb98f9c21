#include "compiler/probes/attach_plan.h"

#include <map>
#include <optional>

#include <fmt/format.h>

#include "compiler/kernel/syscalls.h"
#include "compiler/probes/function_plan.h"
#include "compiler/probes/iterator.h"
#include "compiler/probes/raw_fields.h"
#include "compiler/probes/user_plan.h"

namespace memtrace::probes {
namespace {

constexpr std::string_view kSyscallCategory = "syscalls";
constexpr std::string_view kEnterPrefix = "sys_enter_";
constexpr std::string_view kExitPrefix = "sys_exit_";

// Spells what has to be equal for two probes to share a program.
std::string FieldKey(const std::vector<Field>& fields, const std::set<std::string>& used) {
  std::string key;
  for (const Field& field : fields) {
    if (!used.contains(field.name)) continue;
    key += fmt::format("{}:{}:{}:{}:{}:{} ", field.name, field.type.Name(), field.index,
                       field.offset, field.is_data_loc, field.is_relative_loc);
  }
  return key;
}

std::vector<Field> RecordFields(const kernel::TracepointFormat& format) {
  std::vector<Field> fields;
  for (const types::Member& member : format.members) {
    fields.push_back({.name = member.name,
                      .type = member.type,
                      .from = From::kRecord,
                      .offset = member.offset,
                      .bit_offset = member.bit_offset,
                      .bit_size = member.bit_size,
                      .is_data_loc = member.is_data_loc,
                      .is_relative_loc = member.is_relative_loc});
  }
  return fields;
}

class Planner {
 public:
  Planner(const std::vector<Target>& targets, const Usage& usage, kernel::Kernel& kernel,
          diag::Diagnostics& diagnostics)
      : targets_(targets),
        usage_(usage),
        kernel_(kernel),
        diagnostics_(diagnostics),
        functions_(targets, usage, kernel, diagnostics, groups_),
        users_(usage, kernel, diagnostics, groups_) {}

  std::vector<Group> Run() {
    DecideDispatch();
    for (const Target& target : targets_) Add(target);
    return std::move(groups_);
  }

 private:
  void Add(const Target& target) {
    switch (target.provider) {
      case Provider::kBegin:
        return AddPlain("begin", plan::ProgramType::kRawTracepoint, plan::AttachKind::kBegin,
                        target);
      case Provider::kEnd:
        return AddPlain("end", plan::ProgramType::kRawTracepoint, plan::AttachKind::kEnd, target);
      case Provider::kInterval:
        return AddPlain("interval", plan::ProgramType::kRawTracepoint, plan::AttachKind::kInterval,
                        target);
      case Provider::kProfile:
        return AddPlain("perf", plan::ProgramType::kPerfEvent, plan::AttachKind::kProfile, target);
      case Provider::kSoftware:
        return AddPlain("perf", plan::ProgramType::kPerfEvent, plan::AttachKind::kSoftware, target);
      case Provider::kRawTracepoint:
        return AddRawTracepoint(target);
      case Provider::kTracepoint:
        return AddTracepoint(target);
      case Provider::kSelf:
        return AddPlain("self", plan::ProgramType::kRawTracepoint, plan::AttachKind::kSignal,
                        target);
      case Provider::kIterator:
        return AddIterator(target);
      case Provider::kKprobe:
      case Provider::kKretprobe:
      case Provider::kFentry:
      case Provider::kFexit:
        return functions_.Add(target);
      case Provider::kUprobe:
      case Provider::kUretprobe:
        return users_.AddFunction(target);
      case Provider::kUsdt:
        return users_.AddStatic(target);
      case Provider::kHardware:
        return AddHardware(target);
      case Provider::kWatchpoint:
        return AddPlain("perf", plan::ProgramType::kPerfEvent, plan::AttachKind::kWatchpoint,
                        target);
      case Provider::kUnsupported:
        return;
    }
  }

  static plan::Probe ProbeOf(const Target& target, plan::AttachKind kind) {
    return {.name = target.name,
            .kind = kind,
            .category = target.category,
            .event = target.event,
            .config = target.config,
            .period = target.period,
            .frequency = target.frequency,
            .offset = target.offset};
  }

  // The group for `key`, made when there is none. A program that knows its probe serves only that
  // one.
  Group& GroupFor(std::string key, const Target& target, plan::ProgramType type) {
    if (usage_.probe_name) key += " of " + target.name;
    auto [found, is_new] = by_key_.emplace(std::move(key), groups_.size());
    if (is_new) groups_.push_back({.type = type});
    return groups_[found->second];
  }

  void AddPlain(std::string key, plan::ProgramType type, plan::AttachKind kind,
                const Target& target) {
    Group& group = GroupFor(std::move(key), target, type);
    group.targets.push_back(target);
    group.probes.push_back(ProbeOf(target, kind));
  }

  void AddHardware(const Target& target) {
    kernel::Answer answer = kernel_.trials().Hardware(target.config);
    if (answer.works) {
      return AddPlain("perf", plan::ProgramType::kPerfEvent, plan::AttachKind::kHardware, target);
    }
    auto builder =
        diagnostics_.Error(diag::Code::kCannotAttach, target.span,
                           fmt::format("{} can't be counted: this machine has no such counter ({})",
                                       target.name, answer.refusal));
    if (!kernel_.trials().HasPerfDevice("cpu")) {
      builder.Note("it shows none of its processor's counters, as virtual machines often do");
    }
    builder.Note("software:cpu-clock is a clock that every machine has");
  }

  // What lies where in the context is what the iterator's function says; `meta` is its own affair.
  void AddIterator(const Target& target) {
    auto btf = kernel_.LoadBtf();
    if (!btf.ok()) return;  // the target would not exist
    std::string function = IteratorFunction(target.event);
    auto prototype = btf.value()->Prototype(function);
    if (!prototype.ok()) return;
    Group& group = GroupFor(target.name, target, plan::ProgramType::kTracing);
    group.targets.push_back(target);
    group.probes.push_back(ProbeOf(target, plan::AttachKind::kIterator));
    group.tracing_target = plan::TracingTarget::kIterator;
    group.attach_btf_id = btf.value()->FindId(function, kernel::BtfKind::kFunc);
    uint32_t index = 0;
    for (const kernel::FunctionParameter& parameter : prototype.value().parameters) {
      if (index != 0) {
        group.fields.push_back({.name = parameter.name,
                                .type = parameter.type,
                                .from = From::kArgument,
                                .index = index});
      }
      ++index;
    }
  }

  void AddRawTracepoint(const Target& target) {
    std::string key = "raw " + (usage_.args ? target.name : std::string());
    Group& group = GroupFor(std::move(key), target, plan::ProgramType::kRawTracepoint);
    group.targets.push_back(target);
    group.probes.push_back(ProbeOf(target, plan::AttachKind::kRawTracepoint));
    if (!usage_.args) return;
    auto btf = kernel_.LoadBtf();
    if (!btf.ok()) return;  // the target would not exist
    auto prototype = btf.value()->RawTracepoint(target.event);
    if (!prototype.ok()) {
      diagnostics_
          .Error(diag::Code::kBadFormat, target.span,
                 fmt::format("the arguments of {} are not known", target.name))
          .Note(prototype.error().message());
      return;
    }
    group.has_numbered_arguments = true;
    uint32_t index = 0;
    for (const kernel::FunctionParameter& parameter : prototype.value().parameters) {
      group.fields.push_back({.name = parameter.name,
                              .type = parameter.type,
                              .from = From::kArgument,
                              .index = index++});
    }
  }

  void AddTracepoint(const Target& target) {
    if (target.category == kSyscallCategory) {
      if (AddDispatched(target)) return;
    } else if (AddRaw(target)) {
      return;
    }
    AddClassic(target);
  }

  // A raw tracepoint, when what the clause uses can be had there.
  bool AddRaw(const Target& target) {
    std::vector<Field> fields;
    std::string reason = WhyNotRaw(target, fields);
    if (!reason.empty()) {
      refused_ = {.what = "raw tracepoint", .reason = std::move(reason)};
      return false;
    }
    std::string key = "raw " + (usage_.args ? target.name : std::string());
    Group& group = GroupFor(std::move(key), target, plan::ProgramType::kRawTracepoint);
    group.targets.push_back(target);
    group.probes.push_back(ProbeOf(target, plan::AttachKind::kRawTracepoint));
    group.probes.back().event = RawName(target);
    if (usage_.args) group.fields = std::move(fields);
    return true;
  }

  static std::string RawName(const Target& target) {
    const kernel::RawRow* row = kernel::FindRawRow({target.category, target.event});
    return row != nullptr ? std::string(row->raw_name) : target.event;
  }

  std::string WhyNotRaw(const Target& target, std::vector<Field>& fields) {
    if (usage_.classic_only) return "asked for classic tracepoints";
    auto btf = kernel_.LoadBtf();
    if (!btf.ok()) return "no BTF: " + btf.error().message();
    std::string raw_name = RawName(target);
    if (btf.value()->FindId("btf_trace_" + raw_name, kernel::BtfKind::kTypedef) == 0) {
      return fmt::format("BTF has no btf_trace_{}", raw_name);
    }
    if (!usage_.args) return "";
    const kernel::RawRow* row = kernel::FindRawRow({target.category, target.event});
    if (row == nullptr) return "no proven row says which of its arguments args are";
    auto resolved = kernel::ResolveRawRow(*row, *btf.value());
    if (!resolved.ok()) return resolved.error().message();
    auto format = kernel_.Format({target.category, target.event});
    if (!format.ok()) return format.error().message();
    fields = RecordFields(*format.value());
    for (Field& field : fields) {
      if (!usage_.fields.contains(field.name)) continue;
      if (!ProvenRawField(resolved.value(), field)) {
        return fmt::format("args.{} has no proven raw argument", field.name);
      }
    }
    // Fields that are not used keep their place in the record, which this program does not have; a
    // field that does not exist is reported by the checker.
    std::erase_if(fields,
                  [this](const Field& field) { return !usage_.fields.contains(field.name); });
    return fields.size() == usage_.fields.size() ? "" : "a field of args does not exist";
  }

  // ---- System calls --------------------------------------------------------------------------

  struct Dispatch {
    bool taken = false;
    std::string reason;  // why not
    std::vector<Field> fields;
    std::optional<size_t> group;
  };

  static bool IsEnter(const Target& target) { return target.event.starts_with(kEnterPrefix); }
  static std::string_view CallOf(const Target& target) {
    std::string_view event = target.event;
    for (std::string_view prefix : {kEnterPrefix, kExitPrefix}) {
      if (event.starts_with(prefix)) return event.substr(prefix.size());
    }
    return {};
  }

  void DecideDispatch() {
    for (bool is_enter : {true, false}) {
      Dispatch& dispatch = dispatch_[is_enter];
      dispatch.reason = WhyNotDispatched(is_enter, dispatch);
      dispatch.taken = dispatch.reason.empty();
    }
  }

  std::string WhyNotDispatched(bool is_enter, Dispatch& dispatch) {
    if (usage_.classic_only) return "asked for classic tracepoints";
    std::vector<const Target*> calls;
    for (const Target& target : targets_) {
      if (target.category != kSyscallCategory || CallOf(target).empty()) continue;
      if (IsEnter(target) == is_enter && kernel::SyscallNumber(CallOf(target)))
        calls.push_back(&target);
    }
    if (calls.size() < kSyscallDispatchThreshold) {
      return fmt::format("pays from {} system calls on", kSyscallDispatchThreshold);
    }
    auto btf = kernel_.LoadBtf();
    if (!btf.ok()) return "no BTF: " + btf.error().message();
    if (!usage_.args) return "";
    std::optional<std::string> shared;
    for (const Target* target : calls) {
      auto format = kernel_.Format({target->category, target->event});
      if (!format.ok()) return format.error().message();
      std::vector<Field> fields = RecordFields(*format.value());
      if (!SyscallFields(is_enter, kernel_.architecture(), fields)) {
        return fmt::format("the registers of {} are not known", kernel_.architecture());
      }
      std::string key = FieldKey(fields, usage_.fields);
      if (shared && *shared != key) return "the system calls have different arguments";
      shared = std::move(key);
      dispatch.fields = std::move(fields);
    }
    return "";
  }

  bool AddDispatched(const Target& target) {
    std::string_view call = CallOf(target);
    if (call.empty()) {
      refused_ = {.what = "raw tracepoint", .reason = "not a system call's entry or exit"};
      return false;
    }
    bool is_enter = IsEnter(target);
    Dispatch& dispatch = dispatch_[is_enter];
    auto number = kernel::SyscallNumber(call);
    std::string_view what = is_enter ? "one raw sys_enter" : "one raw sys_exit";
    if (!dispatch.taken || !number) {
      refused_ = {.what = std::string(what),
                  .reason = number ? dispatch.reason : fmt::format("{} has no known number", call)};
      return false;
    }
    if (!dispatch.group) {
      dispatch.group = groups_.size();
      Group group{.type = plan::ProgramType::kRawTracepoint,
                  .fields = dispatch.fields,
                  .is_sys_enter = is_enter};
      group.probes.push_back({.name = target.name,
                              .kind = plan::AttachKind::kRawTracepoint,
                              .category = "raw_syscalls",
                              .event = is_enter ? "sys_enter" : "sys_exit"});
      groups_.push_back(std::move(group));
    }
    Group& group = groups_[*dispatch.group];
    group.calls.push_back({.number = *number, .target = group.targets.size()});
    group.targets.push_back(target);
    group.probes[0].covers.push_back(target.name);
    return true;
  }

  // ---- Classic -------------------------------------------------------------------------------

  void AddClassic(const Target& target) {
    auto format = kernel_.Format({target.category, target.event});
    if (!format.ok()) {
      bool needs_root = format.error().kind() == ErrorKind::kPermission;
      diagnostics_
          .Error(needs_root ? diag::Code::kNeedsRoot : diag::Code::kBadFormat, target.span,
                 needs_root ? fmt::format("reading the format of {} needs root", target.name)
                            : fmt::format("the format of {} can't be read", target.name))
          .Note(format.error().message());
      return;
    }
    std::vector<Field> fields = RecordFields(*format.value());
    std::string key = "classic ";
    if (usage_.args) key += FieldKey(fields, usage_.fields);
    Group& group = GroupFor(std::move(key), target, plan::ProgramType::kTracepoint);
    plan::Probe probe = ProbeOf(target, plan::AttachKind::kTracepoint);
    probe.config = format.value()->id;
    probe.misses_are_countable = kernel_.CountsMisses();
    probe.refused.push_back(refused_);
    group.targets.push_back(target);
    group.probes.push_back(std::move(probe));
    if (group.fields.empty()) group.fields = std::move(fields);
  }

  const std::vector<Target>& targets_;
  const Usage& usage_;
  kernel::Kernel& kernel_;
  diag::Diagnostics& diagnostics_;
  std::vector<Group> groups_;
  FunctionPlanner functions_;
  UserPlanner users_;
  std::map<std::string, size_t> by_key_;
  Dispatch dispatch_[2];   // sys_exit, sys_enter
  plan::Refused refused_;  // what was tried last for the probe at hand
};

}  // namespace

std::string ArgumentsKey(const Usage& usage, const Group& group,
                         const std::function<std::string(const Field&)>& text_of) {
  std::string key;
  auto add = [&](const Field& field) { key += " " + text_of(field); };
  for (size_t i = 0; i < group.fields.size(); ++i) {
    bool is_numbered = usage.numbered.contains(static_cast<uint32_t>(i));
    if (is_numbered) key += fmt::format(" {}=", i);
    if (is_numbered || usage.fields.contains(group.fields[i].name)) add(group.fields[i]);
  }
  for (uint32_t number : usage.numbered) {
    if (number >= group.fields.size()) key += fmt::format(" no{}", number);
  }
  if (usage.retval && group.result) add(*group.result);
  if (usage.retval && !group.result) key += " void";
  if (usage.args && !group.unknown_arguments.empty()) key += " unknown";
  return key;
}

std::vector<Group> PlanAttach(const std::vector<Target>& targets, const Usage& usage,
                              kernel::Kernel& kernel, diag::Diagnostics& diagnostics) {
  return Planner(targets, usage, kernel, diagnostics).Run();
}

}  // namespace memtrace::probes
