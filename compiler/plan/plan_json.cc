// Plan as JSON. Each struct lists its fields once, in Visit(); Writer and Reader walk the same
// list, so that what is written can be read back by construction.
#include <array>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include "compiler/plan/plan.h"

namespace memtrace::plan {
namespace {

using Json = nlohmann::ordered_json;

// ---- Enums as words, in the order of their values -----------------------------------------------

template <typename E>
struct Words;

#define MT_WORDS(Enum, ...)                                                 \
  template <>                                                               \
  struct Words<Enum> {                                                      \
    static constexpr auto kAll = std::to_array<const char*>({__VA_ARGS__}); \
  }

MT_WORDS(TypeKind, "none", "bool", "int", "enum", "string", "buffer", "pointer", "array", "struct",
         "tuple", "record", "kernel_stack", "user_stack", "kernel_symbol", "user_symbol",
         "timestamp", "user_name", "group_name", "cgroup_path", "memcg_path", "load_average",
         "probe_name");
MT_WORDS(Unit, "none", "ns", "bytes", "pages");
MT_WORDS(ValueKind, "scalar", "count", "sum", "min", "max", "avg", "stats", "hist", "lhist");
MT_WORDS(Storage, "state", "state_per_cpu", "hash", "per_cpu_hash");
MT_WORDS(ActionKind, "printf", "errorf", "time", "print_map", "print_value", "clear", "zero",
         "exit", "join", "cat");
MT_WORDS(ProgramType, "raw_tracepoint", "tracepoint", "perf_event", "tracing", "kprobe",
         "kprobe_multi", "uprobe_multi");
MT_WORDS(TracingTarget, "none", "typed_tracepoint", "entry", "exit", "iterator");
MT_WORDS(AttachKind, "begin", "end", "interval", "raw_tracepoint", "tracepoint", "software",
         "profile", "tracing", "iterator", "signal", "kprobe", "kretprobe", "kprobe_multi",
         "kretprobe_multi", "uprobe", "uretprobe", "uprobe_multi", "uretprobe_multi", "hardware",
         "watchpoint");
MT_WORDS(ProcessScope, "all", "process", "tree");
MT_WORDS(CgroupHierarchy, "none", "unified", "memory");
MT_WORDS(MissingProbes, "default", "error", "warn", "ignore");
MT_WORDS(LossCause, "ring_full", "map_full", "read_failed", "truncated", "scratch_busy",
         "stack_failed", "stack_table_full", "stack_collision", "retry", "loop_limit");
#undef MT_WORDS

static_assert(Words<TypeKind>::kAll.size() == static_cast<size_t>(TypeKind::kProbeName) + 1);
static_assert(Words<Unit>::kAll.size() == static_cast<size_t>(Unit::kPages) + 1);
static_assert(Words<ValueKind>::kAll.size() == static_cast<size_t>(ValueKind::kLinearHist) + 1);
static_assert(Words<Storage>::kAll.size() == static_cast<size_t>(Storage::kPerCpuHash) + 1);
static_assert(Words<ActionKind>::kAll.size() == static_cast<size_t>(ActionKind::kCat) + 1);
static_assert(Words<ProgramType>::kAll.size() ==
              static_cast<size_t>(ProgramType::kUprobeMulti) + 1);
static_assert(Words<TracingTarget>::kAll.size() ==
              static_cast<size_t>(TracingTarget::kIterator) + 1);
static_assert(Words<AttachKind>::kAll.size() == static_cast<size_t>(AttachKind::kWatchpoint) + 1);
static_assert(Words<ProcessScope>::kAll.size() == static_cast<size_t>(ProcessScope::kTree) + 1);
static_assert(Words<CgroupHierarchy>::kAll.size() ==
              static_cast<size_t>(CgroupHierarchy::kMemory) + 1);
static_assert(Words<MissingProbes>::kAll.size() == static_cast<size_t>(MissingProbes::kIgnore) + 1);
static_assert(Words<LossCause>::kAll.size() == static_cast<size_t>(LossCause::kLoopLimit) + 1);

// ---- The fields of each struct ------------------------------------------------------------------

// `visit(name, field)` for each field. S is the struct or its const.
template <typename V, typename S>
  requires std::is_same_v<std::remove_const_t<S>, Field>
void Visit(V& visit, S& field) {
  visit("name", field.name);
  visit("type", field.type);
  visit("offset", field.offset);
  visit("bit_offset", field.bit_offset);
  visit("bit_size", field.bit_size);
}

template <typename V, typename S>
  requires std::is_same_v<std::remove_const_t<S>, Name>
void Visit(V& visit, S& name) {
  visit("value", name.value);
  visit("name", name.name);
}

template <typename V, typename S>
  requires std::is_same_v<std::remove_const_t<S>, Type>
void Visit(V& visit, S& type) {
  visit("kind", type.kind);
  visit("size", type.size);
  visit("is_signed", type.is_signed);
  visit("unit", type.unit);
  visit("name", type.name);
  visit("element", type.element);
  visit("count", type.count);
  visit("fields", type.fields);
  visit("names", type.names);
  visit("depth", type.depth);
}

template <typename V, typename S>
  requires std::is_same_v<std::remove_const_t<S>, Map>
void Visit(V& visit, S& map) {
  visit("name", map.name);
  visit("storage", map.storage);
  visit("symbols", map.symbols);
  visit("offset", map.offset);
  visit("slot_size", map.slot_size);
  visit("copy_size", map.copy_size);
  visit("window_offset", map.window_offset);
  visit("key", map.key);
  visit("key_size", map.key_size);
  visit("value", map.value);
  visit("value_type", map.value_type);
  visit("value_size", map.value_size);
  visit("bucket_count", map.bucket_count);
  visit("hist_bits", map.hist_bits);
  visit("lhist_min", map.lhist_min);
  visit("lhist_max", map.lhist_max);
  visit("lhist_step", map.lhist_step);
  visit("max_entries", map.max_entries);
  visit("preallocated", map.preallocated);
  visit("is_swapped", map.is_swapped);
  visit("printed_at_exit", map.printed_at_exit);
}

template <typename V, typename S>
  requires std::is_same_v<std::remove_const_t<S>, FormatPiece>
void Visit(V& visit, S& piece) {
  visit("text", piece.text);
  visit("argument", piece.argument);
  visit("conversion", piece.conversion);
  visit("left", piece.left);
  visit("zero", piece.zero);
  visit("plus", piece.plus);
  visit("space", piece.space);
  visit("alternate", piece.alternate);
  visit("width", piece.width);
  visit("precision", piece.precision);
  visit("width_argument", piece.width_argument);
}

template <typename V, typename S>
  requires std::is_same_v<std::remove_const_t<S>, Action>
void Visit(V& visit, S& action) {
  visit("kind", action.kind);
  visit("line", action.line);
  visit("format", action.format);
  visit("pieces", action.pieces);
  visit("arguments", action.arguments);
  visit("record_size", action.record_size);
  visit("map", action.map);
  visit("top", action.top);
  visit("div", action.div);
  visit("closed_window", action.closed_window);
}

template <typename V, typename S>
  requires std::is_same_v<std::remove_const_t<S>, Program>
void Visit(V& visit, S& program) {
  visit("symbol", program.symbol);
  visit("type", program.type);
  visit("tracing_target", program.tracing_target);
  visit("attach_btf_id", program.attach_btf_id);
  visit("attach_module", program.attach_module);
  visit("clause", program.clause);
  visit("line", program.line);
  visit("swaps", program.swaps);
  visit("is_scoped", program.is_scoped);
  visit("excludes_self", program.excludes_self);
}

template <typename V, typename S>
  requires std::is_same_v<std::remove_const_t<S>, Refused>
void Visit(V& visit, S& refused) {
  visit("what", refused.what);
  visit("reason", refused.reason);
}

template <typename V, typename S>
  requires std::is_same_v<std::remove_const_t<S>, Function>
void Visit(V& visit, S& function) {
  visit("symbol", function.symbol);
  visit("address", function.address);
  visit("cookie", function.cookie);
  visit("semaphore", function.semaphore);
}

template <typename V, typename S>
  requires std::is_same_v<std::remove_const_t<S>, Probe>
void Visit(V& visit, S& probe) {
  visit("name", probe.name);
  visit("program", probe.program);
  visit("kind", probe.kind);
  visit("category", probe.category);
  visit("event", probe.event);
  visit("config", probe.config);
  visit("period", probe.period);
  visit("frequency", probe.frequency);
  visit("covers", probe.covers);
  visit("refused", probe.refused);
  visit("misses_are_countable", probe.misses_are_countable);
  visit("functions", probe.functions);
  visit("offset", probe.offset);
  visit("path", probe.path);
  visit("may_be_missing", probe.may_be_missing);
}

template <typename V, typename S>
  requires std::is_same_v<std::remove_const_t<S>, LossSite>
void Visit(V& visit, S& site) {
  visit("cause", site.cause);
  visit("subject", site.subject);
  visit("line", site.line);
}

template <typename V, typename S>
  requires std::is_same_v<std::remove_const_t<S>, Scope>
void Visit(V& visit, S& scope) {
  visit("processes", scope.processes);
  visit("cgroup", scope.cgroup);
  visit("process_offset", scope.process_offset);
  visit("tree_offset", scope.tree_offset);
  visit("cgroup_offset", scope.cgroup_offset);
  visit("self_offset", scope.self_offset);
  visit("follow_program", scope.follow_program);
}

template <typename V, typename S>
  requires std::is_same_v<std::remove_const_t<S>, Config>
void Visit(V& visit, S& config) {
  visit("max_map_keys", config.max_map_keys);
  visit("max_strlen", config.max_strlen);
  visit("ring_size", config.ring_size);
  visit("ring_wakeup", config.ring_wakeup);
  visit("max_stacks", config.max_stacks);
  visit("print_maps_on_exit", config.print_maps_on_exit);
  visit("max_probes", config.max_probes);
  visit("missing_probes", config.missing_probes);
}

template <typename V, typename S>
  requires std::is_same_v<std::remove_const_t<S>, Plan>
void Visit(V& visit, S& plan) {
  visit("version", plan.version);
  visit("kernel_release", plan.kernel_release);
  visit("config", plan.config);
  visit("cpu_slots", plan.cpu_slots);
  visit("state_size", plan.state_size);
  visit("window_offset", plan.window_offset);
  visit("losses_offset", plan.losses_offset);
  visit("start_time_offset", plan.start_time_offset);
  visit("exit_offset", plan.exit_offset);
  visit("scope", plan.scope);
  visit("types", plan.types);
  visit("maps", plan.maps);
  visit("actions", plan.actions);
  visit("programs", plan.programs);
  visit("probes", plan.probes);
  visit("probe_names", plan.probe_names);
  visit("loss_sites", plan.loss_sites);
  visit("relocations", plan.relocations);
}

// ---- Writing ------------------------------------------------------------------------------------

class Writer {
 public:
  template <typename T>
  void operator()(const char* name, const T& field) {
    json_[name] = ToJsonValue(field);
  }
  Json Take() { return std::move(json_); }

  template <typename T>
  static Json ToJsonValue(const T& value) {
    if constexpr (std::is_same_v<T, char>) {
      return std::string(1, value);
    } else if constexpr (std::is_enum_v<T>) {
      return Words<T>::kAll[static_cast<size_t>(value)];
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      return value;
    } else {
      Writer writer;
      Visit(writer, value);
      return writer.Take();
    }
  }
  template <typename T>
  static Json ToJsonValue(const std::vector<T>& values) {
    Json array = Json::array();
    for (const T& value : values) array.push_back(ToJsonValue(value));
    return array;
  }

 private:
  Json json_ = Json::object();
};

// ---- Reading ------------------------------------------------------------------------------------

// Keeps the first thing that was wrong as "maps[2].key: not an array". The library is built without
// exceptions here, so every access asks for the type first.
class Reader {
 public:
  Reader(const Json& json, std::string path, std::string& error)
      : json_(json), path_(std::move(path)), error_(error) {}

  template <typename T>
  void operator()(const char* name, T& field) {
    if (!error_.empty()) return;
    std::string path = path_.empty() ? name : path_ + "." + name;
    auto found = json_.find(name);
    if (found == json_.end()) {
      error_ = path + ": missing";
      return;
    }
    Read(*found, path, error_, field);
  }

  template <typename T>
  static void Read(const Json& json, const std::string& path, std::string& error, T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      if (!json.is_boolean()) return Fail(error, path, "not a boolean");
      value = *json.get_ptr<const bool*>();
    } else if constexpr (std::is_same_v<T, char>) {
      const auto* text = json.get_ptr<const std::string*>();
      if (text == nullptr || text->size() != 1) return Fail(error, path, "not one character");
      value = (*text)[0];
    } else if constexpr (std::is_enum_v<T>) {
      const auto* text = json.get_ptr<const std::string*>();
      for (size_t i = 0; text != nullptr && i < Words<T>::kAll.size(); ++i) {
        if (*text == Words<T>::kAll[i]) {
          value = static_cast<T>(i);
          return;
        }
      }
      Fail(error, path, "not a known word");
    } else if constexpr (std::is_same_v<T, std::string>) {
      const auto* text = json.get_ptr<const std::string*>();
      if (text == nullptr) return Fail(error, path, "not a string");
      value = *text;
    } else if constexpr (std::is_integral_v<T>) {
      ReadInteger(json, path, error, value);
    } else {
      if (!json.is_object()) return Fail(error, path, "not an object");
      Reader reader(json, path, error);
      Visit(reader, value);
    }
  }
  template <typename T>
  static void Read(const Json& json, const std::string& path, std::string& error,
                   std::vector<T>& values) {
    if (!json.is_array()) return Fail(error, path, "not an array");
    values.clear();
    for (const Json& element : json) {
      if (!error.empty()) return;
      std::string element_path = path + "[" + std::to_string(values.size()) + "]";
      Read(element, element_path, error, values.emplace_back());
    }
  }

 private:
  template <typename T>
  static void ReadInteger(const Json& json, const std::string& path, std::string& error, T& value) {
    if (!json.is_number_integer()) return Fail(error, path, "not an integer");
    bool fits = json.is_number_unsigned() ? std::in_range<T>(*json.get_ptr<const uint64_t*>())
                                          : std::in_range<T>(*json.get_ptr<const int64_t*>());
    if (!fits) return Fail(error, path, "out of range");
    value = json.is_number_unsigned() ? static_cast<T>(*json.get_ptr<const uint64_t*>())
                                      : static_cast<T>(*json.get_ptr<const int64_t*>());
  }
  static void Fail(std::string& error, const std::string& path, const char* what) {
    if (error.empty()) error = (path.empty() ? "plan" : path) + ": " + what;
  }

  const Json& json_;
  std::string path_;
  std::string& error_;
};

}  // namespace

std::string_view WordFor(ProgramType type) {
  return Words<ProgramType>::kAll[static_cast<size_t>(type)];
}

std::string_view WordFor(AttachKind kind) {
  return Words<AttachKind>::kAll[static_cast<size_t>(kind)];
}

std::string ToJson(const Plan& plan) {
  return Writer::ToJsonValue(plan).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Plan> FromJson(std::string_view text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Error(ErrorKind::kInvalid, "plan: not JSON");
  Plan plan;
  std::string error;
  Reader::Read(json, "", error, plan);
  // The version first: a plan of another version may well lack fields.
  if (json.is_object() && plan.version != kVersion) {
    return Error(ErrorKind::kInvalid, "plan: version " + std::to_string(plan.version) +
                                          ", this memtrace reads " + std::to_string(kVersion));
  }
  if (!error.empty()) return Error(ErrorKind::kInvalid, error);
  return plan;
}

}  // namespace memtrace::plan
