// Builtins without arguments: what is known about the moment and the task.
#include "bpf-headers/memtrace/record.h"
#include "compiler/base/check.h"
#include "compiler/builtins/lowering/builtins.h"

namespace memtrace::builtins {

using codegen::Helper;

static llvm::Value* High(FunctionLowering& lowering, llvm::Value* pair) {
  return lowering.ir().CreateLShr(pair, 32);
}

static llvm::Value* Low(FunctionLowering& lowering, llvm::Value* pair) {
  return lowering.ir().CreateAnd(pair, lowering.Number(UINT32_MAX));
}

llvm::Value* Pid(FunctionLowering& lowering, const Call&) {
  return High(lowering, lowering.Call(Helper::get_current_pid_tgid, {}));
}

llvm::Value* Tid(FunctionLowering& lowering, const Call&) {
  return Low(lowering, lowering.Call(Helper::get_current_pid_tgid, {}));
}

llvm::Value* Uid(FunctionLowering& lowering, const Call&) {
  return Low(lowering, lowering.Call(Helper::get_current_uid_gid, {}));
}

llvm::Value* Gid(FunctionLowering& lowering, const Call&) {
  return High(lowering, lowering.Call(Helper::get_current_uid_gid, {}));
}

llvm::Value* Cpu(FunctionLowering& lowering, const Call&) {
  return Low(lowering, lowering.Call(Helper::get_smp_processor_id, {}));
}

llvm::Value* Ncpus(FunctionLowering& lowering, const Call&) {
  return lowering.Number(lowering.module().program().possible_cpus);
}

llvm::Value* Numaid(FunctionLowering& lowering, const Call&) {
  return Low(lowering, lowering.Call(Helper::get_numa_node_id, {}));
}

llvm::Value* Cgroup(FunctionLowering& lowering, const Call&) {
  return lowering.Call(Helper::get_current_cgroup_id, {});
}

// Since tracing began; suspended time counts.
llvm::Value* Elapsed(FunctionLowering& lowering, const Call&) {
  llvm::Value* start = lowering.LoadInt(
      lowering.Offset(lowering.module().state(), lowering.plan().start_time_offset), 8, false, 8);
  return lowering.ir().CreateSub(lowering.Call(Helper::ktime_get_boot_ns, {}), start);
}

llvm::Value* Jiffies(FunctionLowering& lowering, const Call&) {
  return lowering.Call(Helper::jiffies64, {});
}

llvm::Value* Curtask(FunctionLowering& lowering, const Call&) {
  return lowering.Call(Helper::get_current_task, {});
}

llvm::Value* Rand(FunctionLowering& lowering, const Call&) {
  return Low(lowering, lowering.Call(Helper::get_prandom_u32, {}));
}

llvm::Value* Probe(FunctionLowering& lowering, const Call&) { return lowering.ProbeIndex(); }

llvm::Value* Func(FunctionLowering& lowering, const Call& call) {
  return lowering.FunctionIndex(static_cast<uint64_t>(call.number));
}

llvm::Value* Ctx(FunctionLowering& lowering, const Call&) {
  return lowering.ir().CreatePtrToInt(lowering.Context(), lowering.ir().getInt64Ty());
}

// Of a perf event: whether it hit user code. The context begins with the registers; the low two
// bits of x86's code segment are the privilege level.
llvm::Value* Usermode(FunctionLowering& lowering, const Call&) {
  constexpr uint32_t kCodeSegment = 136;
  if (lowering.program().type != plan::ProgramType::kPerfEvent) return lowering.Number(0);
  llvm::Value* segment = lowering.ContextArgument(kCodeSegment / 8);
  llvm::Value* level = lowering.ir().CreateAnd(segment, lowering.Number(3));
  return lowering.Bool(lowering.ir().CreateICmpNE(level, lowering.Number(0)));
}

llvm::Value* Nsecs(FunctionLowering& lowering, const Call& call) {
  switch (static_cast<sema::Clock>(call.number)) {
    case sema::Clock::kBoot:
      return lowering.Call(Helper::ktime_get_boot_ns, {});
    case sema::Clock::kMonotonic:
      return lowering.Call(Helper::ktime_get_ns, {});
    case sema::Clock::kTai:
      return lowering.Call(Helper::ktime_get_tai_ns, {});
  }
  MT_UNREACHABLE("the checker only asks for clocks that there are");
}

void Comm(FunctionLowering& lowering, const Call&, Bytes to, Padding padding) {
  // The helper leaves what follows the word with the NUL as it was (Linux 6.1) or clears it (6.12).
  if (padding == Padding::kZero) lowering.Zero(to);
  lowering.Call(Helper::get_current_comm, {to.pointer, lowering.Number(to.size)});
}

void Stack(FunctionLowering& lowering, const Call& call, Bytes to, Padding) {
  lowering.StoreStack(call, to);
}

}  // namespace memtrace::builtins
