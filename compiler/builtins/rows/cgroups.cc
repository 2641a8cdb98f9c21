// Cgroups: that of the task's memory, paths of ids and ids of paths.
#include <fmt/format.h>

#include "compiler/builtins/rows/rows.h"

namespace memtrace::sema {

using diag::Code;

namespace {

// curtask.cgroups.subsys[memory_cgrp_id].cgroup.kn.id: where the kernel keeps it with v1 and v2
// alike.
Expr* CheckMemcg(Checker& checker, const Row& row, const CallSyntax& call) {
  Expr* task = kCurtaskRow.check(checker, row, call);
  if (task->type.IsError() || task->type->target.Is(types::Kind::kVoid)) {
    return checker.ErrorExpr(call.span);
  }
  const auto* memory = checker.kernel().LoadBtf().value()->FindEnumerator("memory_cgrp_id");
  if (memory == nullptr) {
    checker.Error(Code::kNoBtf, call.span, "this kernel has no memory cgroups");
    return checker.ErrorExpr(call.span);
  }
  task = checker.NewCall(kCurtaskRow, call, task->type);
  Expr* states = checker.Field(checker.Field(task, "cgroups"), "subsys");
  if (states->type.IsError()) return states;
  auto* state = checker.New<Index>(ExprKind::kIndex, call.span, states->type->target);
  state->object = states;
  state->index =
      checker.ConstantOf(call.span, checker.types().Int64(), static_cast<uint64_t>(memory->value));
  state->element_size = state->type->size;
  Expr* id = checker.Field(checker.Field(checker.Field(state, "cgroup"), "kn"), "id");
  if (id->type.IsError()) return id;
  Call* path = checker.NewCall(row, call, checker.types().MemcgPath());
  path->arguments = {id};
  return path;
}

Expr* CheckCgroupPath(Checker& checker, const Row& row, const CallSyntax& call) {
  if (!checker.CheckCount(call, row, 1, 1)) return checker.ErrorExpr(call.span);
  Expr* id = checker.CheckInteger(*Checker::Positional(call)[0], "the argument of cgroup_path()");
  Call* path = checker.NewCall(row, call, checker.types().CgroupPath());
  path->arguments = {ToInt64(checker, id)};
  return path;
}

Expr* CheckMemcgPath(Checker& checker, const Row& row, const CallSyntax& call) {
  if (!checker.CheckCount(call, row, 1, 1)) return checker.ErrorExpr(call.span);
  Expr* id = checker.CheckInteger(*Checker::Positional(call)[0], "the argument of memcg_path()");
  Call* path = checker.NewCall(row, call, checker.types().MemcgPath());
  path->arguments = {ToInt64(checker, id)};
  return path;
}

Expr* CheckCgroupid(Checker& checker, const Row& row, const CallSyntax& call) {
  if (!checker.CheckCount(call, row, 1, 1)) return checker.ErrorExpr(call.span);
  const std::string* path =
      checker.CheckLiteral(*Checker::Positional(call)[0], "the argument of cgroupid()");
  if (path == nullptr) return checker.ErrorExpr(call.span);
  return checker.CgroupNamed(call.span, *path, types::Kind::kCgroupPath, checker.types().Uint64());
}

}  // namespace

constinit const Row kMemcgRow = {
    Function::kMemcg,
    RowKind::kBuiltin,
    "memcg_path memcg",
    "The current task's memory cgroup, of v1 or v2; prints as its path below the mount. Compared "
    "with a path, which must exist: memcg == \"/pods/web\".",
    "tracepoint:kmem:mm_page_alloc { @[memcg] = count(); }",
    CheckMemcg};
constinit const Row kCgroupPathRow = {
    Function::kCgroupPath,
    RowKind::kFunction,
    "cgroup_path cgroup_path(int id)",
    "Prints the id of a cgroup (v2) as its path; cgroup:ID when it is gone by then.",
    "tracepoint:kmem:mm_page_alloc { @[cgroup_path(cgroup)] = count(); }",
    CheckCgroupPath};
constinit const Row kMemcgPathRow = {
    Function::kMemcgPath,
    RowKind::kFunction,
    "memcg_path memcg_path(int id)",
    "Prints the id of a cgroup that has the memory controller, of v1 or v2, as its path; cgroup:ID "
    "when it is gone by then.",
    "rawtracepoint:mark_victim { print(memcg_path("
    "((struct task_struct *)arg0).cgroups.subsys[memory_cgrp_id].cgroup.kn.id)); }",
    CheckMemcgPath};
constinit const Row kCgroupidRow = {
    Function::kCgroupid,
    RowKind::kFunction,
    "uint64 cgroupid(string path)",
    "Id of the cgroup (v2) at a path, looked up when the script is compiled. The path is one of "
    "the file system, or below the mount.",
    "tracepoint:kmem:mm_page_alloc /cgroup == cgroupid(\"/\")/ { @ = count(); }",
    CheckCgroupid};

}  // namespace memtrace::sema
