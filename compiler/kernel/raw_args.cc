#include "compiler/kernel/raw_args.h"

namespace memtrace::kernel {
namespace {

constexpr RawField Argument(std::string_view field, std::string_view argument) {
  return {.field = field, .source = RawSource::kArgument, .argument = argument, .member = {}};
}
constexpr RawField Argument(std::string_view name) { return Argument(name, name); }
constexpr RawField Member(std::string_view field, std::string_view argument,
                          std::string_view member) {
  return {.field = field, .source = RawSource::kMember, .argument = argument, .member = member};
}

// Each list names the file of the kernel whose TP_fast_assign() it follows.

// arch/x86/include/asm/trace/exceptions.h, since v6.15 include/trace/events/exceptions.h.
constexpr RawField kPageFault[] = {
    Argument("address"),
    Member("ip", "regs", "ip"),
    Argument("error_code"),
};

// include/trace/events/vmscan.h
constexpr RawField kReclaimBegin[] = {Argument("order"), Argument("gfp_flags")};
constexpr RawField kReclaimEnd[] = {Argument("nr_reclaimed")};
constexpr RawField kNodeReclaimBegin[] = {Argument("nid"), Argument("order"),
                                          Argument("gfp_flags")};
constexpr RawField kKswapdSleep[] = {Argument("nid")};
constexpr RawField kKswapdWake[] = {Argument("nid"), Argument("zid"), Argument("order")};
constexpr RawField kWakeupKswapd[] = {Argument("nid"), Argument("zid"), Argument("order"),
                                      Argument("gfp_flags")};
constexpr RawField kShrinkSlabStart[] = {
    Argument("shr"),
    Member("shrink", "shr", "scan_objects"),
    Member("nid", "sc", "nid"),
    Argument("nr_objects_to_shrink"),
    Member("gfp_flags", "sc", "gfp_mask"),
    Argument("cache_items"),
    Argument("delta"),
    Argument("total_scan"),
    Argument("priority"),
};
constexpr RawField kShrinkSlabEnd[] = {
    Argument("shr"),
    Argument("nid"),
    Member("shrink", "shr", "scan_objects"),
    Argument("unused_scan", "unused_scan_cnt"),
    Argument("new_scan", "new_scan_cnt"),
    Argument("retval", "shrinker_retval"),
    Argument("total_scan"),
};

// include/trace/events/kmem.h. pfn is computed from the page, `accounted` from flags and the cache.
constexpr RawField kPageAlloc[] = {Argument("order"), Argument("gfp_flags"),
                                   Argument("migratetype")};
constexpr RawField kPageFree[] = {Argument("order")};
constexpr RawField kKmalloc[] = {Argument("call_site"), Argument("ptr"),
                                 Argument("bytes_req"), Argument("bytes_alloc"),
                                 Argument("gfp_flags"), Argument("node")};
constexpr RawField kKfree[] = {Argument("call_site"), Argument("ptr")};
constexpr RawField kCacheAlloc[] = {
    Argument("call_site"),
    Argument("ptr"),
    Member("bytes_req", "s", "object_size"),
    Member("bytes_alloc", "s", "size"),
    Argument("gfp_flags"),
    Argument("node"),
};
constexpr RawField kCacheFree[] = {Argument("call_site"), Argument("ptr")};

// include/trace/events/sched.h. prev_state is computed from two arguments, target_cpu by
// task_cpu().
constexpr RawField kSchedSwitch[] = {
    Member("prev_comm", "prev", "comm"), Member("prev_pid", "prev", "pid"),
    Member("prev_prio", "prev", "prio"), Member("next_comm", "next", "comm"),
    Member("next_pid", "next", "pid"),   Member("next_prio", "next", "prio"),
};
constexpr RawField kSchedWakeup[] = {
    Member("comm", "p", "comm"),
    Member("pid", "p", "pid"),
    Member("prio", "p", "prio"),
};

constexpr RawRow kRows[] = {
    {"exceptions", "page_fault_user", "page_fault_user", kPageFault},
    {"exceptions", "page_fault_kernel", "page_fault_kernel", kPageFault},
    {"vmscan", "mm_vmscan_direct_reclaim_begin", "mm_vmscan_direct_reclaim_begin", kReclaimBegin},
    {"vmscan", "mm_vmscan_direct_reclaim_end", "mm_vmscan_direct_reclaim_end", kReclaimEnd},
    {"vmscan", "mm_vmscan_memcg_reclaim_begin", "mm_vmscan_memcg_reclaim_begin", kReclaimBegin},
    {"vmscan", "mm_vmscan_memcg_reclaim_end", "mm_vmscan_memcg_reclaim_end", kReclaimEnd},
    {"vmscan", "mm_vmscan_node_reclaim_begin", "mm_vmscan_node_reclaim_begin", kNodeReclaimBegin},
    {"vmscan", "mm_vmscan_node_reclaim_end", "mm_vmscan_node_reclaim_end", kReclaimEnd},
    {"vmscan", "mm_vmscan_kswapd_sleep", "mm_vmscan_kswapd_sleep", kKswapdSleep},
    {"vmscan", "mm_vmscan_kswapd_wake", "mm_vmscan_kswapd_wake", kKswapdWake},
    {"vmscan", "mm_vmscan_wakeup_kswapd", "mm_vmscan_wakeup_kswapd", kWakeupKswapd},
    {"vmscan", "mm_shrink_slab_start", "mm_shrink_slab_start", kShrinkSlabStart},
    {"vmscan", "mm_shrink_slab_end", "mm_shrink_slab_end", kShrinkSlabEnd},
    {"kmem", "mm_page_alloc", "mm_page_alloc", kPageAlloc},
    {"kmem", "mm_page_free", "mm_page_free", kPageFree},
    {"kmem", "kmalloc", "kmalloc", kKmalloc},
    {"kmem", "kfree", "kfree", kKfree},
    {"kmem", "kmem_cache_alloc", "kmem_cache_alloc", kCacheAlloc},
    {"kmem", "kmem_cache_free", "kmem_cache_free", kCacheFree},
    {"sched", "sched_switch", "sched_switch", kSchedSwitch},
    {"sched", "sched_wakeup", "sched_wakeup", kSchedWakeup},
};

// "a.b": a member of a member. Only embedded structs: a pointer on the way is another read, that
// may fail.
bool FindPath(types::Type type, std::string_view path, Btf& btf, types::Member& out) {
  uint32_t offset = 0;
  while (true) {
    btf.Complete(type);
    std::string_view name = path.substr(0, path.find('.'));
    types::FoundMember found = types::FindMember(type, name);
    if (!found.found) return false;
    offset += found.member.offset;
    if (name.size() == path.size()) {
      out = found.member;
      out.offset = offset;
      return true;
    }
    path.remove_prefix(name.size() + 1);
    type = found.member.type;
  }
}

}  // namespace

std::span<const RawRow> RawRows() { return kRows; }

const RawRow* FindRawRow(const TracepointName& name) {
  for (const RawRow& row : kRows) {
    if (row.event == name.event && row.category == name.category) return &row;
  }
  return nullptr;
}

const ResolvedRawField* ResolvedRawRow::Find(std::string_view field) const {
  for (const ResolvedRawField& candidate : fields) {
    if (candidate.field == field) return &candidate;
  }
  return nullptr;
}

Result<ResolvedRawRow> ResolveRawRow(const RawRow& row, Btf& btf) {
  MT_ASSIGN_OR_RETURN(FunctionPrototype prototype, btf.RawTracepoint(row.raw_name));
  auto lacks = [&row](std::string_view what, std::string_view name) {
    return Error(ErrorKind::kUnsupported, "raw tracepoint " + std::string(row.raw_name) +
                                              " has no " + std::string(what) + " " +
                                              std::string(name));
  };
  ResolvedRawRow resolved{.raw_name = std::string(row.raw_name), .fields = {}};
  for (const RawField& field : row.fields) {
    ResolvedRawField out{.field = std::string(field.field),
                         .source = field.source,
                         .argument_type = {},
                         .member = {},
                         .constant = field.constant};
    if (field.source != RawSource::kConstant) {
      size_t i = 0;
      while (i < prototype.parameters.size() && prototype.parameters[i].name != field.argument) ++i;
      if (i == prototype.parameters.size()) return lacks("argument", field.argument);
      out.argument = static_cast<uint32_t>(i);
      out.argument_type = prototype.parameters[i].type;
    }
    if (field.source == RawSource::kMember) {
      if (!out.argument_type.IsPointer() ||
          !FindPath(out.argument_type->target, field.member, btf, out.member)) {
        return lacks("member", field.member);
      }
    }
    resolved.fields.push_back(std::move(out));
  }
  return resolved;
}

}  // namespace memtrace::kernel
