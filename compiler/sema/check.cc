#include "compiler/sema/check.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>

#include <fmt/format.h>

#include "compiler/sema/checker.h"

namespace memtrace::sema {
namespace {

// The types of maps and variables grow at most this often; only a program that keeps wrapping a
// value in itself gets there, and is told by the clash that follows.
constexpr int kMaxWalks = 16;

// A setting of config = { … } or --config.
struct Setting {
  std::string_view name;
  // Exactly one of the two is set.
  uint32_t plan::Config::* number;
  bool plan::Config::* flag;
  uint32_t least, most;
};
constexpr Setting kSettings[] = {
    {"max_map_keys", &plan::Config::max_map_keys, nullptr, 1, 1u << 24},
    // A string is copied through scratch memory whose slots are this large.
    {"max_strlen", &plan::Config::max_strlen, nullptr, 8, 16384},
    {"ring_size", &plan::Config::ring_size, nullptr, 4096, 1u << 30},
    {"ring_wakeup", &plan::Config::ring_wakeup, nullptr, 0, 1u << 30},
    {"max_stacks", &plan::Config::max_stacks, nullptr, 1, 1u << 22},
    {"max_probes", &plan::Config::max_probes, nullptr, 1, 1u << 20},
    {"print_maps_on_exit", nullptr, &plan::Config::print_maps_on_exit, 0, 1},
};
constexpr std::string_view kAttach = "attach";  // --config attach=classic

constexpr std::string_view kMissingProbes = "missing_probes";
constexpr std::pair<std::string_view, plan::MissingProbes> kMissingWords[] = {
    {"default", plan::MissingProbes::kDefault},
    {"error", plan::MissingProbes::kError},
    {"warn", plan::MissingProbes::kWarn},
    {"ignore", plan::MissingProbes::kIgnore}};

bool IsValidNumber(const Setting& setting, uint64_t value) {
  bool must_be_power_of_two = setting.number == &plan::Config::ring_size;
  return value >= setting.least && value <= setting.most &&
         (!must_be_power_of_two || std::has_single_bit(value));
}

// "16", "4096", "true"; also with KiB, MiB, GiB behind it, as --config is not parsed as a script.
bool ParseSetting(std::string_view text, uint64_t& value) {
  if (text == "true" || text == "false") {
    value = text == "true";
    return true;
  }
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return false;
  std::string_view suffix(end, text.data() + text.size());
  static constexpr std::pair<std::string_view, int> kSuffixes[] = {
      {"", 0}, {"KiB", 10}, {"K", 10}, {"MiB", 20}, {"M", 20}, {"GiB", 30}, {"G", 30}};
  for (const auto& [name, shift] : kSuffixes) {
    if (suffix != name) continue;
    value <<= shift;
    return true;
  }
  return false;
}

constexpr size_t kMaxSymbol = 64;

std::string SymbolFor(const probes::Target& target, size_t number) {
  std::string symbol = target.category.empty() ? target.name : target.category + "_" + target.event;
  // Signatures of C++ are longer than what the kernel takes as a name.
  if (symbol.size() > kMaxSymbol) symbol.resize(kMaxSymbol);
  for (char& c : symbol) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return fmt::format("{}_{}", symbol, number);
}

// Where task_struct says that a system call came through a 32-bit entry; x86 only.
uint32_t CompatStatusOffset(kernel::Kernel& kernel) {
  auto btf = kernel.LoadBtf();
  Type task = btf.ok() ? btf.value()->TypeNamed("struct task_struct") : Type();
  uint32_t offset = 0;
  for (std::string_view name : {"thread_info", "status"}) {
    if (!task || !task.IsStruct()) return SyscallDispatch::kNoCompat;
    btf.value()->Complete(task);
    types::FoundMember found = types::FindMember(task, name);
    if (!found.found) return SyscallDispatch::kNoCompat;
    offset += found.member.offset;
    task = found.member.type;
  }
  return offset;
}

}  // namespace

Checker::Checker(const syntax::Ast& ast, kernel::Kernel& kernel, const CheckOptions& options,
                 diag::Diagnostics& diagnostics)
    : ast_(ast),
      kernel_(kernel),
      programs_(kernel.types(), options.process, kernel.program_root()),
      options_(options),
      diagnostics_(diagnostics),
      classic_only_(options.classic_only) {}

TypedProgram Checker::Run() {
  is_quiet_ = false;
  ReadConfig();
  DeclareMaps();
  ExpandClauses();
  is_quiet_ = true;
  for (int walk = 0; walk < kMaxWalks; ++walk) {
    changed_ = false;
    CheckClauses();
    if (!changed_) break;
  }
  is_quiet_ = false;
  CheckClauses();
  AddFollowProgram();
  FinishMaps();
  product_.config = config_;
  product_.kernel_release = kernel_.release();
  product_.possible_cpus = kernel_.possible_cpus();
  return std::move(product_);
}

bool Checker::FirstReport(diag::Code code, Span span, const std::string& message) {
  if (is_quiet_) return false;
  return reported_.emplace(code, span.begin, span.end, message).second;
}

diag::DiagnosticBuilder Checker::Error(diag::Code code, Span span, std::string message) {
  if (!FirstReport(code, span, message)) {
    discarded_ = {};
    return diag::DiagnosticBuilder(discarded_);
  }
  return diagnostics_.Error(code, span, std::move(message));
}

void Checker::WarnOnce(diag::Code code, Span span, std::string message) {
  for (const diag::Diagnostic& said : diagnostics_.all()) {
    if (said.code == code && said.message == message) return;
  }
  Warning(code, span, std::move(message));
}

diag::DiagnosticBuilder Checker::Warning(diag::Code code, Span span, std::string message) {
  if (!FirstReport(code, span, message)) {
    discarded_ = {};
    return diag::DiagnosticBuilder(discarded_);
  }
  return diagnostics_.Warning(code, span, std::move(message));
}

void Checker::SetConfig(std::string_view name, Span span, const std::string& text) {
  if (name == kAttach) {
    classic_only_ = text == "classic";
    if (!classic_only_ && text != "cheapest") {
      Error(diag::Code::kBadConfig, span, fmt::format("attach can't be `{}`", text))
          .Note("it is `cheapest` or `classic`");
    }
    return;
  }
  if (name == kMissingProbes) {
    auto word = std::find_if(std::begin(kMissingWords), std::end(kMissingWords),
                             [&](const auto& one) { return one.first == text; });
    if (word != std::end(kMissingWords)) {
      config_.missing_probes = word->second;
    } else {
      Error(diag::Code::kBadConfig, span, fmt::format("missing_probes can't be `{}`", text))
          .Note("it is `error`, `warn`, `ignore` or `default`");
    }
    return;
  }
  std::vector<std::string_view> names = {kAttach, kMissingProbes};
  for (const Setting& setting : kSettings) {
    names.push_back(setting.name);
    if (setting.name != name) continue;
    uint64_t value = 0;
    if (!ParseSetting(text, value) || !IsValidNumber(setting, value)) {
      auto builder =
          Error(diag::Code::kBadConfig, span, fmt::format("{} can't be `{}`", name, text));
      if (setting.flag != nullptr) {
        builder.Note("it is true or false");
      } else {
        builder.Note(
            fmt::format("it is a number from {} to {}{}", setting.least, setting.most,
                        setting.number == &plan::Config::ring_size ? ", a power of two" : ""));
      }
      return;
    }
    if (setting.flag != nullptr) {
      config_.*setting.flag = value != 0;
    } else {
      config_.*setting.number = static_cast<uint32_t>(value);
    }
    return;
  }
  auto builder =
      Error(diag::Code::kUnknownConfig, span, fmt::format("no setting is called `{}`", name));
  std::string_view closest = diag::ClosestName(name, names);
  if (!closest.empty()) builder.Hint(fmt::format("did you mean `{}`?", closest));
}

void Checker::ReadConfig() {
  for (const syntax::ConfigItem& item : ast_.config) {
    std::string text;
    switch (item.value->kind) {
      case syntax::ExprKind::kInteger:
        text = std::to_string(static_cast<const syntax::Integer*>(item.value)->value);
        break;
      case syntax::ExprKind::kBool:
        text = static_cast<const syntax::Bool*>(item.value)->value ? "true" : "false";
        break;
      case syntax::ExprKind::kName:
        text = static_cast<const syntax::Name*>(item.value)->name;
        break;
      case syntax::ExprKind::kString:
        text = static_cast<const syntax::String*>(item.value)->value;
        break;
      default:
        Error(diag::Code::kBadConfig, item.value->span,
              fmt::format("the value of {} is not a constant", item.name));
        continue;
    }
    SetConfig(item.name, item.name_span, text);
  }
  for (const ConfigOption& option : options_.config) {
    SetConfig(option.name, option.span, option.value);
  }
}

void Checker::DeclareMaps() {
  for (const syntax::MapDecl& decl : ast_.map_declarations) {
    if (map_ids_.contains(decl.name)) {
      Error(diag::Code::kRedeclared, decl.name_span, fmt::format("{} is declared twice", decl.name))
          .Label(maps_[map_ids_[decl.name]].first_use, "first declared here");
      continue;
    }
    Id id = MapNamed(decl.name, decl.name_span);
    static constexpr std::string_view kKinds[] = {"hash", "percpuhash"};
    if (std::find(std::begin(kKinds), std::end(kKinds), decl.kind) == std::end(kKinds)) {
      Error(diag::Code::kBadMapKind, decl.span,
            fmt::format("no kind of map is called `{}`", decl.kind))
          .Note(
              "written as let @name = hash(1000); whether it is kept per CPU is decided by its "
              "use");
    }
    int64_t entries = 0;
    if (decl.max_entries != nullptr &&
        CheckConstant(*decl.max_entries, "the size of a map", 1, 1 << 24, entries)) {
      maps_[id].max_entries = static_cast<uint32_t>(entries);
    }
  }
}

// `written` with the script's arguments in the place of $1 and its like. A probe of an argument
// that was not given stands back behind its alternatives; that of one that was given has none.
syntax::ProbeSpec Checker::WithPositionals(const syntax::ProbeSpec& written) {
  syntax::ProbeSpec spec = written;
  bool uses_any = false, uses_missing = false;
  for (syntax::ProbePart& part : spec.parts) {
    size_t index = 0;
    const char* end = part.text.data() + part.text.size();
    if (!part.text.starts_with('$')) continue;
    auto [stop, error] = std::from_chars(part.text.data() + 1, end, index);
    if (error != std::errc() || stop != end || index == 0) continue;
    uses_any = true;
    uses_missing = uses_missing || index > options_.positional.size();
    part.text = index > options_.positional.size() ? "" : options_.positional[index - 1];
  }
  if (!uses_any) return spec;
  if (!uses_missing) {
    spec.alternatives.clear();
  } else if (!spec.alternatives.empty()) {
    syntax::ProbeSpec next = WithPositionals(spec.alternatives.front());
    next.alternatives.assign(spec.alternatives.begin() + 1, spec.alternatives.end());
    return next;
  }
  return spec;
}

void Checker::ExpandClauses() {
  for (const syntax::Clause& clause : ast_.clauses) {
    // What has() rules out is not looked for.
    if (clause.predicate != nullptr && Decide(*clause.predicate) == false) continue;
    CheckedClause checked{.clause = &clause};
    probes::Usage usage = UsageOf(clause);
    usage.classic_only = classic_only_;
    std::vector<probes::Target> targets;
    size_t errors = diagnostics_.error_count();
    probes::ExpandOptions options{.max_probes = config_.max_probes,
                                  .missing = config_.missing_probes,
                                  .has_process = options_.processes != plan::ProcessScope::kAll,
                                  .allow_unsafe = options_.allow_unsafe};
    for (const syntax::ProbeSpec& written : clause.probes) {
      syntax::ProbeSpec spec = WithPositionals(written);
      for (probes::Target& target :
           probes::Expand(spec, kernel_, programs_, diagnostics_, options)) {
        bool is_new =
            std::none_of(targets.begin(), targets.end(),
                         [&](const probes::Target& other) { return other.name == target.name; });
        if (is_new) targets.push_back(std::move(target));
      }
    }
    checked.groups = probes::PlanAttach(targets, usage, kernel_, diagnostics_);
    checked.unknown_probes = diagnostics_.error_count() > errors || targets.empty();
    bool is_interval = !targets.empty();
    for (const probes::Target& target : targets) {
      is_interval = is_interval && (target.provider == probes::Provider::kInterval ||
                                    target.provider == probes::Provider::kSelf);
    }
    if (is_interval && clause.body != nullptr) FindSwaps(*clause.body, swaps_);
    clauses_.push_back(std::move(checked));
  }
}

void Checker::CheckClauses() {
  product_ = {};
  product_.scope.processes = options_.processes;
  product_.scope.cgroup = options_.cgroup;
  program_number_ = 0;
  for (size_t i = 0; i < clauses_.size(); ++i) {
    const CheckedClause& clause = clauses_[i];
    if (clause.unknown_probes) {
      static const probes::Group kNone;
      size_t actions = product_.actions.size();
      CheckProgram(clause, i, kNone);
      product_.programs.pop_back();
      // Nobody will write its records.
      product_.actions.resize(actions);
      continue;
    }
    for (const probes::Group& group : clause.groups) CheckProgram(clause, i, group);
  }
}

uint64_t Checker::NameIndex(const std::string& name) {
  auto& names = product_.probe_names;
  auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) found = names.insert(names.end(), name);
  return static_cast<uint64_t>(found - names.begin());
}

void Checker::FillProbes(Program& program, const probes::Group& group) {
  if (group.tracing_target == plan::TracingTarget::kIterator) {
    for (const probes::Field& field : group.fields) {
      if (field.type.IsPointer()) program.iterator_objects.push_back(field.index);
      if (field.name == "task") program.iterator_task = field.index;
    }
  }
  for (const plan::Probe& probe : group.probes) {
    program.probes.push_back({.probe = probe, .name_index = NameIndex(probe.name)});
    for (plan::Function& function : program.probes.back().probe.functions) {
      const probes::Target& target = group.targets[function.cookie];
      function.cookie = NameIndex(target.name);
      if (group.names_by_cookie() && !target.function.empty())
        function.cookie |= NameIndex(target.function) << 32;
    }
  }
  program.names_by_cookie = group.names_by_cookie();
  program.syscalls.is_enter = group.is_sys_enter;
  if (!group.calls.empty()) program.syscalls.compat_status_offset = CompatStatusOffset(kernel_);
  for (const probes::DispatchedCall& call : group.calls) {
    program.syscalls.calls.push_back(
        {.number = call.number, .name_index = NameIndex(group.targets[call.target].name)});
  }
}

void Checker::CheckProgram(const CheckedClause& clause, size_t index, const probes::Group& group) {
  clause_ = &clause;
  group_ = &group;
  unknown_probes_ = clause.unknown_probes;
  const syntax::Expr* predicate = clause.clause->predicate;
  if (!unknown_probes_ && predicate != nullptr && Decide(*predicate) == false) {
    ++program_number_;
    return;
  }
  Program program{
      .type = group.type, .clause = static_cast<uint32_t>(index), .span = clause.clause->span};
  program.tracing_target = group.tracing_target;
  program.attach_btf_id = group.attach_btf_id;
  program.attach_module = group.attach_module;
  if (!group.targets.empty())
    program.symbol = SymbolFor(group.targets[0], product_.programs.size());
  FillProbes(program, group);
  program_ = &program;
  scopes_.assign(1, {});
  closed_.clear();
  loop_depth_ = 0;
  if (clause.clause->predicate != nullptr) {
    program.predicate = CheckCondition(*clause.clause->predicate);
  }
  if (clause.clause->body != nullptr) program.body = CheckBlock(*clause.clause->body);
  // Declared and never set: nobody asks for its type, but it has a place.
  for (LocalVariable& variable : program.variables) {
    if (variable.type.IsError()) variable.type = types().Int64();
  }
  SetFilters(program);
  program_ = nullptr;
  product_.programs.push_back(std::move(program));
  ++program_number_;
}

// A BPF program may use 64 maps (MAX_USED_MAPS in include/linux/bpf.h); ring, stacks, state,
// scratch, zeros and constants are some, and a map that an interval exchanges is two.
void Checker::CheckMapCount() {
  constexpr size_t kMaxMaps = 56;
  size_t count = 0;
  for (const MapState& map : maps_) {
    bool is_memory = map.keys.empty() && map.value.type && !map.value.type.Is(types::Kind::kString);
    if (!is_memory) count += map.is_swapped ? 2 : 1;
    if (count <= kMaxMaps) continue;
    Error(diag::Code::kOutOfRange, map.first_use,
          fmt::format("a script has {} maps with keys at most", kMaxMaps))
        .Note("a key of several parts can tell apart what several maps would: @[\"reads\", comm]");
    return;
  }
}

void Checker::FinishMaps() {
  CheckMapCount();
  for (MapState& map : maps_) {
    if (!map.is_assigned && map.first_use != Span{}) {
      auto builder = Error(diag::Code::kMapNeverAssigned, map.first_use,
                           fmt::format("{} is never assigned", map.name));
      std::vector<std::string_view> names;
      for (const MapState& other : maps_) {
        if (other.is_assigned) names.push_back(other.name);
      }
      std::string_view closest = diag::ClosestName(map.name, names);
      if (!closest.empty()) builder.Hint(fmt::format("did you mean `{}`?", closest));
    }
    bool is_known = map.value.type && std::all_of(map.keys.begin(), map.keys.end(), [](auto& key) {
                      return static_cast<bool>(key.type);
                    });
    if (!is_known && map.is_assigned && !diagnostics_.has_errors()) {
      Error(diag::Code::kTypeClash, map.first_use,
            fmt::format("what {} holds is never said", map.name))
          .Note("all that is assigned to it comes from itself");
    }
    MapInfo info{.name = map.name,
                 .first_use = map.first_use,
                 .value = map.value.type ? map.value.type : types().Error(),
                 .max_entries = map.max_entries,
                 .is_swapped = map.is_swapped,
                 .printed_at_exit = config_.print_maps_on_exit};
    for (const Inferred& key : map.keys) info.keys.push_back(key.type ? key.type : types().Error());
    product_.maps.push_back(std::move(info));
  }
}

TypedProgram Check(const syntax::Ast& ast, const diag::SourceMap&, kernel::Kernel& kernel,
                   const CheckOptions& options, diag::Diagnostics& diagnostics) {
  return Checker(ast, kernel, options, diagnostics).Run();
}

}  // namespace memtrace::sema
