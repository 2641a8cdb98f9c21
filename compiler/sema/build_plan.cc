#include <algorithm>
#include <bit>
#include <set>

#include "bpf-headers/memtrace/record.h"
#include "compiler/plan/histogram.h"
#include "compiler/sema/check.h"
#include "compiler/sema/losses.h"
#include "compiler/sema/plan_types.h"

namespace memtrace::sema {
namespace {

using types::Aggregation;
using types::Kind;

// Slots of different CPUs never share a cache line.
constexpr uint32_t kCacheLine = 64;
// A hash map is filled in advance only when its values are smaller: 4,096 of them are 16 MiB.
constexpr uint32_t kPreallocationLimit = 4096;
constexpr uint32_t kPresenceSize = 8;  // in mt_state, before each value
// A map without a key whose value is too large for mt_state's atomic accesses is a hash map with
// this one key, all zero.
constexpr uint32_t kEmptyKeySize = 8;

uint32_t RoundUp(uint32_t value, uint32_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

plan::ValueKind ValueKindOf(Type type) {
  if (!type.Is(Kind::kAggregation)) return plan::ValueKind::kScalar;
  switch (type->aggregation) {
    case Aggregation::kCount:
      return plan::ValueKind::kCount;
    case Aggregation::kSum:
      return plan::ValueKind::kSum;
    case Aggregation::kMin:
      return plan::ValueKind::kMin;
    case Aggregation::kMax:
      return plan::ValueKind::kMax;
    case Aggregation::kAvg:
      return plan::ValueKind::kAvg;
    case Aggregation::kStats:
      return plan::ValueKind::kStats;
    case Aggregation::kHist:
      return plan::ValueKind::kHist;
    case Aggregation::kLinearHist:
      return plan::ValueKind::kLinearHist;
  }
  return plan::ValueKind::kScalar;
}

// Bytes of a value in its map, and the buckets of a histogram.
void SetValueSize(Type type, plan::Map& map) {
  switch (map.value) {
    case plan::ValueKind::kScalar:
      // Numbers are kept in 8 bytes, so that adding to them is one atomic instruction.
      map.value_size = type.IsScalar() ? 8 : RoundUp(type->size, 8);
      return;
    case plan::ValueKind::kCount:
    case plan::ValueKind::kSum:
    case plan::ValueKind::kMin:
    case plan::ValueKind::kMax:
      map.value_size = 8;
      return;
    case plan::ValueKind::kAvg:
    case plan::ValueKind::kStats:
      map.value_size = sizeof(mt_stats);
      return;
    case plan::ValueKind::kHist:
      map.hist_bits = type->hist_bits;
      map.bucket_count = plan::BucketCount(map.hist_bits);
      map.value_size = 8 * map.bucket_count;
      return;
    case plan::ValueKind::kLinearHist:
      map.lhist_min = type->lhist_min;
      map.lhist_max = type->lhist_max;
      map.lhist_step = type->lhist_step;
      map.bucket_count = plan::LinearBucketCount(map.lhist_min, map.lhist_max, map.lhist_step);
      map.value_size = 8 * map.bucket_count;
      return;
  }
}

plan::Storage StorageFor(const MapInfo& info, const plan::Map& map) {
  bool is_hist = map.value == plan::ValueKind::kHist || map.value == plan::ValueKind::kLinearHist;
  bool is_scalar = map.value == plan::ValueKind::kScalar;
  if (info.keys.empty()) {
    if (!is_scalar) return plan::Storage::kStatePerCpu;
    return info.value.IsScalar() ? plan::Storage::kState : plan::Storage::kHash;
  }
  // A histogram per key and CPU would take megabytes (per-CPU values above 32 KiB are refused
  // anyway).
  return is_scalar || is_hist ? plan::Storage::kHash : plan::Storage::kPerCpuHash;
}

class Builder {
 public:
  Builder(const TypedProgram& program, const diag::SourceMap& sources)
      : program_(program), sources_(sources), types_(plan_) {}

  plan::Plan Build() {
    plan_.kernel_release = program_.kernel_release;
    plan_.config = program_.config;
    plan_.cpu_slots = std::bit_ceil(std::max(1u, program_.possible_cpus));
    plan_.probe_names = program_.probe_names;
    plan_.scope = program_.scope;
    for (const MapInfo& map : program_.maps) AddMap(map);
    for (const ActionSite& action : program_.actions) AddAction(action);
    for (size_t i = 0; i < program_.programs.size(); ++i) AddProgram(i);
    AddLossSites(program_, sources_, plan_);
    LayOutState();
    return std::move(plan_);
  }

 private:
  uint32_t LineOf(Span span) const { return sources_.PositionOf(span.begin).line; }

  void AddMap(const MapInfo& info) {
    plan::Map map{.name = info.name};
    map.value = ValueKindOf(info.value);
    map.value_type =
        types_.Of(map.value == plan::ValueKind::kScalar ? info.value : info.value->target);
    SetValueSize(info.value, map);
    map.storage = StorageFor(info, map);
    map.is_swapped = info.is_swapped;
    map.printed_at_exit = info.printed_at_exit;
    bool is_hash = map.storage == plan::Storage::kHash || map.storage == plan::Storage::kPerCpuHash;
    if (is_hash) LayOutHash(info, map);
    plan_.maps.push_back(std::move(map));
  }

  void LayOutHash(const MapInfo& info, plan::Map& map) {
    uint32_t offset = 0, alignment = 1;
    for (Type key : info.keys) {
      offset = RoundUp(offset, key->alignment);
      map.key.push_back({.type = types_.Of(key), .offset = offset});
      offset += key->size;
      alignment = std::max(alignment, key->alignment);
    }
    map.key_size = info.keys.empty() ? kEmptyKeySize : RoundUp(offset, alignment);
    map.max_entries = info.keys.empty()      ? 1
                      : info.max_entries > 0 ? info.max_entries
                                             : program_.config.max_map_keys;
    map.preallocated = map.value_size <= kPreallocationLimit;
    // "@" has no letters; the index tells maps apart in the ELF and in bpftool.
    std::string symbol = "map_" + std::to_string(plan_.maps.size());
    if (info.name.size() > 1) symbol = "at_" + info.name.substr(1);
    map.symbols = {symbol};
    if (map.is_swapped) map.symbols = {symbol + "_0", symbol + "_1"};
  }

  void AddAction(const ActionSite& site) {
    plan::Action action{
        .kind = site.kind, .line = LineOf(site.span), .format = site.format, .pieces = site.pieces};
    uint32_t offset = sizeof(mt_record_header);
    for (Type type : site.arguments) {
      offset = RoundUp(offset, type->alignment);
      action.arguments.push_back({.type = types_.Of(type), .offset = offset});
      offset += type->size;
    }
    action.record_size = RoundUp(offset, 8);
    if (site.map != kNoId) action.map = site.map;
    action.top = site.top;
    action.div = site.div;
    action.closed_window = site.closed_window;
    plan_.actions.push_back(std::move(action));
  }

  void AddProgram(size_t index) {
    const Program& program = program_.programs[index];
    plan_.programs.push_back({.symbol = program.symbol,
                              .type = program.type,
                              .tracing_target = program.tracing_target,
                              .attach_btf_id = program.attach_btf_id,
                              .attach_module = program.attach_module,
                              .clause = program.clause,
                              .line = LineOf(program.span),
                              .swaps = {program.swaps.begin(), program.swaps.end()},
                              .is_scoped = program.is_scoped,
                              .excludes_self = program.excludes_self});
    // What follows forks is there before the first event that depends on it.
    auto at = program.follows_forks ? plan_.probes.begin() : plan_.probes.end();
    for (const ProbeUse& use : program.probes) {
      at = plan_.probes.insert(at, use.probe);
      at->program = static_cast<plan::Index>(index);
      ++at;
    }
    if (program.follows_forks) plan_.scope.follow_program = static_cast<plan::Index>(index);
  }

  void LayOutState() {
    // Offset 0 says "no such word" in the plan.
    plan_.start_time_offset = 8;
    plan_.exit_offset = 16;
    plan_.window_offset = 24;
    uint32_t end = plan_.window_offset + 4;
    LayOutWindows(end);
    end = RoundUp(end, 8);
    plan_.losses_offset = end;
    end += 8 * static_cast<uint32_t>(plan_.loss_sites.size());
    LayOutScope(end);
    end = RoundUp(end, kCacheLine);
    for (plan::Map& map : plan_.maps) {
      bool per_cpu = map.storage == plan::Storage::kStatePerCpu;
      if (!per_cpu && map.storage != plan::Storage::kState) continue;
      uint32_t slot = kPresenceSize + map.value_size;
      map.slot_size = RoundUp(slot, kCacheLine);
      map.copy_size = map.slot_size * (per_cpu ? plan_.cpu_slots : 1);
      map.offset = end;
      end += map.copy_size * (map.is_swapped ? 2 : 1);
    }
    plan_.state_size = end;
  }

  // Words that filters compare with, as far as a program has the filter.
  void LayOutScope(uint32_t& end) {
    plan::Scope& scope = plan_.scope;
    bool is_scoped = false, excludes_self = false;
    for (const Program& program : program_.programs) {
      is_scoped = is_scoped || program.is_scoped;
      excludes_self = excludes_self || program.excludes_self;
    }
    auto place = [&end](bool is_needed, uint32_t size) {
      if (!is_needed) return plan::kNoIndex;
      uint32_t offset = end;
      end += size;
      return offset;
    };
    scope.self_offset = place(excludes_self, 8);
    scope.cgroup_offset = place(is_scoped && scope.cgroup != plan::CgroupHierarchy::kNone, 8);
    scope.process_offset = place(is_scoped && scope.processes == plan::ProcessScope::kProcess, 8);
    if (is_scoped && scope.processes == plan::ProcessScope::kTree) {
      end = RoundUp(end, kCacheLine);
      scope.tree_offset = place(true, plan::kTreeBits / 8);
    }
  }

  // Maps that one interval exchanges share a window; another interval's have their own.
  void LayOutWindows(uint32_t& end) {
    bool is_first = true;
    for (const Program& program : program_.programs) {
      uint32_t offset = is_first ? plan_.window_offset : end;
      bool is_used = false;
      for (Id id : program.swaps) {
        if (!windowed_.insert(id).second) continue;
        plan_.maps[id].window_offset = offset;
        is_used = true;
      }
      if (!is_used) continue;
      if (!is_first) end += 4;
      is_first = false;
    }
  }

  const TypedProgram& program_;
  const diag::SourceMap& sources_;
  plan::Plan plan_;
  PlanTypes types_;
  std::set<Id> windowed_;
};

}  // namespace

plan::Plan BuildPlan(const TypedProgram& program, const diag::SourceMap& sources) {
  return Builder(program, sources).Build();
}

}  // namespace memtrace::sema
