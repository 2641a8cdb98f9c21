// Which programs see whose events, and where the kernel keeps what tells it.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/sema/checker.h"
#include "compiler/sema/walk.h"

namespace memtrace::sema {
namespace {

using diag::Code;

// Whether it runs in whatever task an event happens in, rather than in memtrace.
bool RunsInEvents(const Program& program) {
  return std::any_of(program.probes.begin(), program.probes.end(), [](const ProbeUse& use) {
    switch (use.probe.kind) {
      case plan::AttachKind::kBegin:
      case plan::AttachKind::kEnd:
      case plan::AttachKind::kInterval:
      case plan::AttachKind::kIterator:
      case plan::AttachKind::kSignal:
        return false;
      case plan::AttachKind::kRawTracepoint:
      case plan::AttachKind::kTracepoint:
      case plan::AttachKind::kSoftware:
      case plan::AttachKind::kProfile:
      case plan::AttachKind::kTracing:
      case plan::AttachKind::kKprobe:
      case plan::AttachKind::kKretprobe:
      case plan::AttachKind::kKprobeMulti:
      case plan::AttachKind::kKretprobeMulti:
      case plan::AttachKind::kUprobe:
      case plan::AttachKind::kUretprobe:
      case plan::AttachKind::kUprobeMulti:
      case plan::AttachKind::kUretprobeMulti:
      case plan::AttachKind::kHardware:
      case plan::AttachKind::kWatchpoint:
        return true;
    }
    return true;
  });
}

// Whether running it makes memtrace write something.
bool Prints(const Program& program, const std::vector<ActionSite>& actions) {
  bool prints = false;
  auto visit = [&](const Expr& expr) {
    if (expr.kind != ExprKind::kCall) return;
    plan::Index action = static_cast<const Call&>(expr).action;
    if (action == plan::kNoIndex) return;
    switch (actions[action].kind) {
      case plan::ActionKind::kPrintf:
      case plan::ActionKind::kErrorf:
      case plan::ActionKind::kTime:
      case plan::ActionKind::kPrintMap:
      case plan::ActionKind::kPrintValue:
      case plan::ActionKind::kJoin:
      case plan::ActionKind::kCat:
        prints = true;
        return;
      case plan::ActionKind::kClear:
      case plan::ActionKind::kZero:
      case plan::ActionKind::kExit:
        return;
    }
  };
  if (program.predicate != nullptr) Walk(*program.predicate, {.expr = visit});
  if (program.body != nullptr) Walk(*program.body, {.expr = visit});
  return prints;
}

// Offsets of members, by way of the kernel's BTF. The first that is missing is remembered.
class Offsets {
 public:
  explicit Offsets(kernel::Btf& btf) : btf_(btf) {}

  uint32_t Of(const char* structure, const char* member) {
    types::FoundMember found = Find(structure, member);
    return found.member.offset;
  }

  types::FoundMember Find(const char* structure, const char* member) {
    Type type = btf_.TypeNamed(structure);
    types::FoundMember found;
    if (type && type.IsStruct()) {
      btf_.Complete(type);
      found = types::FindMember(type, member);
    }
    if (!found.found && missing_.empty()) missing_ = fmt::format("{}.{}", structure, member);
    return found;
  }

  const std::string& missing() const { return missing_; }

 private:
  kernel::Btf& btf_;
  std::string missing_;
};

}  // namespace

bool Checker::NeedTaskLayout(Span span, plan::CgroupHierarchy hierarchy) {
  auto btf = kernel_.LoadBtf();
  if (!btf.ok()) {
    Error(Code::kNoBtf, span,
          "telling tasks apart by their cgroup needs BTF, which this kernel lacks")
        .Note(btf.error().message());
    return false;
  }
  Offsets offsets(*btf.value());
  TaskLayout& layout = product_.task_layout;
  layout.task_css_set = offsets.Of("struct task_struct", "cgroups");
  layout.css_cgroup = offsets.Of("struct cgroup_subsys_state", "cgroup");
  layout.css_parent = offsets.Of("struct cgroup_subsys_state", "parent");
  layout.cgroup_css = offsets.Of("struct cgroup", "self");
  layout.cgroup_node = offsets.Of("struct cgroup", "kn");
  layout.node_id = offsets.Of("struct kernfs_node", "id");
  layout.set_default = offsets.Of("struct css_set", "dfl_cgrp");
  if (hierarchy == plan::CgroupHierarchy::kMemory) {
    layout.set_memory = offsets.Of("struct css_set", "subsys");
    const auto* memory = btf.value()->FindEnumerator("memory_cgrp_id");
    if (memory == nullptr) {
      Error(Code::kNoBtf, span, "this kernel has no memory cgroups");
      return false;
    }
    layout.set_memory += static_cast<uint32_t>(memory->value) * 8;
  }
  if (offsets.missing().empty()) return true;
  Error(Code::kNoBtf, span, "where this kernel keeps the cgroup of a task is not known")
      .Note(fmt::format("its BTF has no {}", offsets.missing()));
  return false;
}

Expr* Checker::CgroupNamed(Span span, const std::string& path, types::Kind kind, Type type) {
  bool is_memory = kind == types::Kind::kMemcgPath;
  kernel::CgroupMounts mounts = kernel_.cgroup_mounts();
  const std::string& mount = is_memory ? mounts.memory : mounts.unified;
  if (mount.empty()) {
    Error(Code::kNoCgroup, span,
          is_memory ? "memory cgroups are mounted nowhere" : "cgroup v2 is mounted nowhere");
    return ErrorExpr(span);
  }
  Result<uint64_t> id = kernel::CgroupIdBelow(mount, path);
  if (id.ok()) return ConstantOf(span, type, id.value());
  Error(Code::kNoCgroup, span, fmt::format("no cgroup `{}`", path))
      .Note(fmt::format("looked for below {}", mount));
  return ErrorExpr(span);
}

void Checker::SetFilters(Program& program) {
  bool is_narrowed = options_.processes != plan::ProcessScope::kAll ||
                     options_.cgroup != plan::CgroupHierarchy::kNone;
  // An iterator is narrowed by the task that it shows, not by memtrace, which runs it.
  if (program.iterator_task != 0) program.is_scoped = is_narrowed;
  if (!RunsInEvents(program)) return NeedLayoutFor(program);
  program.is_scoped = is_narrowed;
  // One process alone is somebody else's.
  program.excludes_self = options_.processes != plan::ProcessScope::kProcess &&
                          (options_.exclude_self || Prints(program, product_.actions));
  NeedLayoutFor(program);
}

void Checker::NeedLayoutFor(const Program& program) {
  if (!program.is_scoped) return;
  if (options_.cgroup != plan::CgroupHierarchy::kNone) {
    NeedTaskLayout(program.span, options_.cgroup);
  }
  auto btf = kernel_.LoadBtf();
  if (program.iterator_task != 0 && btf.ok()) {
    product_.task_layout.task_tgid = Offsets(*btf.value()).Of("struct task_struct", "tgid");
  }
}

// The program that keeps the tree, when a program asks for it.
void Checker::AddFollowProgram() {
  if (options_.processes != plan::ProcessScope::kTree) return;
  bool is_needed = std::any_of(product_.programs.begin(), product_.programs.end(),
                               [](const Program& program) { return program.is_scoped; });
  if (!is_needed) return;
  Span span = product_.programs.front().span;
  auto btf = kernel_.LoadBtf();
  if (!btf.ok()) {
    Error(Code::kNoBtf, span, "following forks needs BTF, which this kernel lacks")
        .Note(btf.error().message());
    return;
  }
  Offsets offsets(*btf.value());
  product_.task_layout.task_tgid = offsets.Of("struct task_struct", "tgid");
  Program program{.symbol = "follow_forks",
                  .type = plan::ProgramType::kRawTracepoint,
                  .clause = 0,
                  .span = span,
                  .follows_forks = true};
  program.body = NewStmt<Block>(StmtKind::kBlock, span);
  plan::Probe probe{.name = "rawtracepoint:sched_process_fork",
                    .kind = plan::AttachKind::kRawTracepoint,
                    .event = "sched_process_fork"};
  program.probes.push_back({.probe = std::move(probe), .name_index = 0});
  product_.programs.push_back(std::move(program));
}

}  // namespace memtrace::sema
