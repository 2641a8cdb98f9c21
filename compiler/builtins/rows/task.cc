// Builtins about the task, the CPU and the probe.
#include <fmt/format.h>

#include "compiler/builtins/rows/rows.h"

namespace memtrace::sema {

using diag::Code;
using types::Kind;

namespace {

// linux/sched.h: TASK_COMM_LEN.
constexpr uint32_t kCommSize = 16;

// begin, end, interval, iter and self run in memtrace itself.
void WarnOfOwnTask(Checker& checker, const Row& row, const CallSyntax& call) {
  for (const probes::Target& target : checker.group().targets) {
    switch (target.provider) {
      case probes::Provider::kBegin:
      case probes::Provider::kEnd:
      case probes::Provider::kInterval:
      case probes::Provider::kIterator:
      case probes::Provider::kSelf:
        checker.WarnOnce(
            Code::kOwnTask, call.span,
            fmt::format("{} is memtrace's own in {}", Spelling(row.function), target.name));
        return;
      case probes::Provider::kProfile:
      case probes::Provider::kTracepoint:
      case probes::Provider::kRawTracepoint:
      case probes::Provider::kSoftware:
      case probes::Provider::kKprobe:
      case probes::Provider::kKretprobe:
      case probes::Provider::kFentry:
      case probes::Provider::kFexit:
      case probes::Provider::kUprobe:
      case probes::Provider::kUretprobe:
      case probes::Provider::kUsdt:
      case probes::Provider::kHardware:
      case probes::Provider::kWatchpoint:
      case probes::Provider::kUnsupported:
        break;
    }
  }
}

Expr* CheckTaskNumber(Checker& checker, const Row& row, const CallSyntax& call) {
  WarnOfOwnTask(checker, row, call);
  return checker.NewCall(row, call, checker.types().Int(4, false));
}

Expr* CheckNumber32(Checker& checker, const Row& row, const CallSyntax& call) {
  return checker.NewCall(row, call, checker.types().Int(4, false));
}

Expr* CheckNumber64(Checker& checker, const Row& row, const CallSyntax& call) {
  return checker.NewCall(row, call, checker.types().Uint64());
}

Expr* CheckUserName(Checker& checker, const Row& row, const CallSyntax& call) {
  WarnOfOwnTask(checker, row, call);
  return checker.NewCall(row, call, checker.types().UserName());
}

Expr* CheckLoadavg(Checker& checker, const Row&, const CallSyntax& call) {
  return checker.ConstantOf(call.span, checker.types().LoadAverage(), 0);
}

Expr* CheckComm(Checker& checker, const Row& row, const CallSyntax& call) {
  WarnOfOwnTask(checker, row, call);
  return checker.NewCall(row, call, checker.types().String(kCommSize));
}

Expr* CheckCurtask(Checker& checker, const Row& row, const CallSyntax& call) {
  WarnOfOwnTask(checker, row, call);
  types::Type task = checker.types().Void();
  if (auto btf = checker.kernel().LoadBtf(); btf.ok()) {
    if (types::Type known = btf.value()->TypeNamed("struct task_struct")) task = known;
  } else {
    checker.Error(Code::kNoBtf, call.span, "curtask needs BTF, which this kernel lacks")
        .Note(btf.error().message());
  }
  return checker.NewCall(row, call, checker.types().Pointer(task, types::Space::kKernel));
}

// ppid and pcomm are nothing but fields of the parent.
Expr* ParentOf(Checker& checker, const CallSyntax& call) {
  Expr* task = CheckCurtask(checker, kCurtaskRow, call);
  if (task->type->target.Is(Kind::kVoid)) return checker.ErrorExpr(call.span);
  return checker.Field(task, "real_parent");
}

Expr* CheckPpid(Checker& checker, const Row&, const CallSyntax& call) {
  Expr* parent = ParentOf(checker, call);
  if (parent->type.IsError()) return parent;
  Expr* tgid = checker.Field(parent, "tgid");
  return checker.Convert(tgid, checker.types().Int(4, false));
}

Expr* CheckPcomm(Checker& checker, const Row&, const CallSyntax& call) {
  Expr* parent = ParentOf(checker, call);
  return parent->type.IsError() ? parent : checker.Field(parent, "comm");
}

Expr* CheckProbe(Checker& checker, const Row& row, const CallSyntax& call) {
  types::Type type = checker.types().ProbeName();
  // A program that uses it serves one probe; but for system calls and kprobes, which are told apart
  // when they happen.
  if (checker.group().calls.empty() && !checker.group().names_by_cookie())
    return checker.ConstantOf(call.span, type, checker.name_index());
  return checker.NewCall(row, call, type);
}

Expr* CheckFunc(Checker& checker, const Row& row, const CallSyntax& call) {
  if (checker.has_unknown_probes()) return checker.ErrorExpr(call.span);
  const std::vector<probes::Target>& targets = checker.group().targets;
  if (targets.empty() || targets[0].function.empty()) {
    checker.Error(Code::kNoArguments, call.span, "func is only known in probes on functions")
        .Note("the probe's name is `probe`");
    return checker.ErrorExpr(call.span);
  }
  Call* node = checker.NewCall(row, call, checker.types().ProbeName());
  node->number = static_cast<int64_t>(checker.NameIndex(targets[0].function));
  return node;
}

Expr* CheckCtx(Checker& checker, const Row& row, const CallSyntax& call) {
  return checker.NewCall(row, call,
                         checker.types().Pointer(checker.types().Void(), types::Space::kKernel));
}

Expr* CheckRetval(Checker& checker, const Row&, const CallSyntax& call) {
  return checker.CheckResult(call.span);
}

Expr* CheckUsermode(Checker& checker, const Row& row, const CallSyntax& call) {
  if (!checker.has_unknown_probes() && checker.group().type != plan::ProgramType::kPerfEvent) {
    checker.Error(Code::kNoArguments, call.span,
                  "usermode is only known in profile and software probes");
    return checker.ErrorExpr(call.span);
  }
  return checker.NewCall(row, call, checker.types().Bool());
}

// `kstack`, `kstack(3)`, `kstack(perf)`, `kstack(perf, 3)`.
constexpr std::string_view kStackModes[] = {"bpftrace", "perf", "raw", "build_id"};

bool TakeStackMode(Checker& checker, const syntax::Expr& expr) {
  if (expr.kind != syntax::ExprKind::kName) return false;
  for (std::string_view mode : kStackModes) {
    if (static_cast<const syntax::Name&>(expr).name != mode) continue;
    checker.Warning(Code::kIgnored, expr.span,
                    fmt::format("stacks are printed in one way; {} is ignored", mode));
    return true;
  }
  return false;
}

Expr* CheckStack(Checker& checker, const Row& row, const CallSyntax& call, Kind kind) {
  constexpr int64_t kMaxDepth = 127;
  if (!checker.CheckCount(call, row, 0, 2)) return checker.ErrorExpr(call.span);
  WarnOfOwnTask(checker, row, call);
  int64_t depth = kMaxDepth;
  for (const syntax::Expr* argument : Checker::Positional(call)) {
    if (TakeStackMode(checker, *argument)) continue;
    if (!checker.CheckConstant(*argument, fmt::format("the depth of {}", Spelling(row.function)), 1,
                               kMaxDepth, depth)) {
      return checker.ErrorExpr(call.span);
    }
  }
  Call* node =
      checker.NewCall(row, call, checker.types().Stack(kind, static_cast<uint16_t>(depth)));
  node->number = depth;
  return node;
}

Expr* CheckKstack(Checker& checker, const Row& row, const CallSyntax& call) {
  return CheckStack(checker, row, call, Kind::kKernelStack);
}

Expr* CheckUstack(Checker& checker, const Row& row, const CallSyntax& call) {
  return CheckStack(checker, row, call, Kind::kUserStack);
}

}  // namespace

constinit const Row kPidRow = {
    Function::kPid,
    RowKind::kBuiltin,
    "uint32 pid",
    "Process id of the current task, as memtrace's own pid namespace counts.",
    "tracepoint:kmem:mm_page_alloc { @[pid] = count(); }",
    CheckTaskNumber};
constinit const Row kTidRow = {
    Function::kTid,
    RowKind::kBuiltin,
    "uint32 tid",
    "Thread id of the current task, as memtrace's own pid namespace counts.",
    "tracepoint:kmem:mm_page_alloc { @[tid] = count(); }",
    CheckTaskNumber};
constinit const Row kPpidRow = {Function::kPpid,
                                RowKind::kBuiltin,
                                "uint32 ppid",
                                "Process id of the current task's parent.",
                                "tracepoint:kmem:mm_page_alloc { @[ppid] = count(); }",
                                CheckPpid};
constinit const Row kUidRow = {Function::kUid,
                               RowKind::kBuiltin,
                               "uint32 uid",
                               "User id of the current task.",
                               "tracepoint:kmem:mm_page_alloc { @[uid] = count(); }",
                               CheckTaskNumber};
constinit const Row kGidRow = {Function::kGid,
                               RowKind::kBuiltin,
                               "uint32 gid",
                               "Group id of the current task.",
                               "tracepoint:kmem:mm_page_alloc { @[gid] = count(); }",
                               CheckTaskNumber};
constinit const Row kUsernameRow = {
    Function::kUsername,
    RowKind::kBuiltin,
    "username username",
    "User of the current task, printed by name; the number where there is none.",
    "tracepoint:kmem:mm_page_alloc { @[username] = count(); }",
    CheckUserName};
constinit const Row kCommRow = {Function::kComm,
                                RowKind::kBuiltin,
                                "string[16] comm",
                                "Name of the current thread, at most 15 bytes.",
                                "tracepoint:kmem:mm_page_alloc { @[comm] = count(); }",
                                CheckComm};
constinit const Row kPcommRow = {Function::kPcomm,
                                 RowKind::kBuiltin,
                                 "string[16] pcomm",
                                 "Name of the current task's parent.",
                                 "tracepoint:kmem:mm_page_alloc { @[pcomm] = count(); }",
                                 CheckPcomm};
constinit const Row kCpuRow = {Function::kCpu,
                               RowKind::kBuiltin,
                               "uint32 cpu",
                               "Number of the CPU that the probe runs on.",
                               "tracepoint:kmem:mm_page_alloc { @[cpu] = count(); }",
                               CheckNumber32};
constinit const Row kNcpusRow = {Function::kNcpus,
                                 RowKind::kBuiltin,
                                 "uint32 ncpus",
                                 "Number of CPUs that may come up.",
                                 "begin { printf(\"%d CPUs\\n\", ncpus); }",
                                 CheckNumber32};
constinit const Row kNumaidRow = {Function::kNumaid,
                                  RowKind::kBuiltin,
                                  "uint32 numaid",
                                  "Number of the NUMA node that the probe runs on.",
                                  "tracepoint:kmem:mm_page_alloc { @[numaid] = count(); }",
                                  CheckNumber32};
constinit const Row kCgroupRow = {Function::kCgroup,
                                  RowKind::kBuiltin,
                                  "uint64 cgroup",
                                  "Id of the current task's cgroup in the cgroup v2 hierarchy.",
                                  "tracepoint:kmem:mm_page_alloc { @[cgroup] = count(); }",
                                  CheckNumber64};
constinit const Row kLoadavgRow = {
    Function::kLoadavg,
    RowKind::kBuiltin,
    "loadavg loadavg",
    "The machine's load averages over 1, 5 and 15 minutes. Read from /proc/loadavg when it is "
    "printed, which may be some time after the event.",
    "tracepoint:oom:mark_victim { printf(\"%d killed, load %s\\n\", args.pid, loadavg); }",
    CheckLoadavg};
constinit const Row kElapsedRow = {
    Function::kElapsed,
    RowKind::kBuiltin,
    "uint64 elapsed",
    "Nanoseconds since tracing began. A plain number: `elapsed as ns` prints as a duration.",
    "interval:1s { printf(\"%d ms\\n\", elapsed / 1000000); }",
    CheckNumber64};
constinit const Row kJiffiesRow = {Function::kJiffies,
                                   RowKind::kBuiltin,
                                   "uint64 jiffies",
                                   "The kernel's own counter of ticks.",
                                   "interval:1s { print(jiffies); }",
                                   CheckNumber64};
constinit const Row kCurtaskRow = {
    Function::kCurtask,
    RowKind::kBuiltin,
    "struct task_struct *curtask",
    "The kernel's structure of the current task; fields by BTF.",
    "tracepoint:kmem:mm_page_alloc { @[curtask.comm] = max(curtask.mm.total_vm); }",
    CheckCurtask};
constinit const Row kRandRow = {Function::kRand,
                                RowKind::kBuiltin,
                                "uint32 rand",
                                "A random number.",
                                "tracepoint:kmem:mm_page_alloc /rand % 100 == 0/ { @ = count(); }",
                                CheckNumber32};
constinit const Row kProbeRow = {Function::kProbe,
                                 RowKind::kBuiltin,
                                 "string probe",
                                 "Full name of the probe that ran, wildcards written out.",
                                 "tracepoint:kmem:mm_page_* { @[probe] = count(); }",
                                 CheckProbe};
constinit const Row kFuncRow = {
    Function::kFunc,
    RowKind::kBuiltin,
    "string func",
    "Name of the function that a probe on functions is on; of C++ its signature.",
    "kprobe:vfs_* { @[func] = count(); }",
    CheckFunc};
constinit const Row kCtxRow = {Function::kCtx,
                               RowKind::kBuiltin,
                               "void *ctx",
                               "Address of the program's context.",
                               "software:page-faults:1 { printf(\"%p\\n\", ctx); }",
                               CheckCtx};
constinit const Row kRetvalRow = {
    Function::kRetval,
    RowKind::kBuiltin,
    "retval",
    "What a function returned, in kretprobe, fexit and uretprobe; typed as the kernel or the "
    "program's debug information declares it. A system call's is args.ret.",
    "kretprobe:vfs_read { @ = hist(retval); }",
    CheckRetval};
constinit const Row kUsermodeRow = {
    Function::kUsermode,
    RowKind::kBuiltin,
    "bool usermode",
    "Whether a profile or software probe interrupted a program and not the kernel.",
    "profile:hz:99 { @[usermode] = count(); }",
    CheckUsermode};
constinit const Row kKstackRow = {
    Function::kKstack,
    RowKind::kBuiltinOrFunction,
    "kstack kstack[([mode, ]depth)]",
    "Stack of the kernel, at most `depth` (127) frames, printed by symbols.",
    "tracepoint:kmem:mm_page_alloc { @[kstack(5)] = count(); }",
    CheckKstack};
constinit const Row kUstackRow = {
    Function::kUstack,
    RowKind::kBuiltinOrFunction,
    "ustack ustack[([mode, ]depth)]",
    "Stack of the current process, at most `depth` (127) frames, printed by symbols.",
    "tracepoint:kmem:mm_page_alloc { @[ustack(5)] = count(); }",
    CheckUstack};

}  // namespace memtrace::sema
