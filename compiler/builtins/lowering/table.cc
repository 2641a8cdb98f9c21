// The table of lowerings, in the order of functions.def.
#include "compiler/base/check.h"
#include "compiler/builtins/lowering/builtins.h"

namespace memtrace::codegen {
namespace {

using sema::Function;
namespace b = memtrace::builtins;

constexpr Lowering kLowerings[] = {
    {.function = Function::kPid, .scalar = b::Pid},
    {.function = Function::kTid, .scalar = b::Tid},
    // Members of curtask, which the checker spells out.
    {.function = Function::kPpid},
    {.function = Function::kUid, .scalar = b::Uid},
    {.function = Function::kGid, .scalar = b::Gid},
    {.function = Function::kUsername, .scalar = b::Uid},
    {.function = Function::kComm, .store = b::Comm},
    {.function = Function::kPcomm},
    {.function = Function::kCpu, .scalar = b::Cpu},
    {.function = Function::kNcpus, .scalar = b::Ncpus},
    {.function = Function::kNumaid, .scalar = b::Numaid},
    {.function = Function::kCgroup, .scalar = b::Cgroup},
    // Members of curtask again, as a path.
    {.function = Function::kMemcg, .scalar = b::FirstArgument},
    // A constant.
    {.function = Function::kLoadavg},
    {.function = Function::kElapsed, .scalar = b::Elapsed},
    {.function = Function::kJiffies, .scalar = b::Jiffies},
    {.function = Function::kCurtask, .scalar = b::Curtask},
    {.function = Function::kRand, .scalar = b::Rand},
    {.function = Function::kProbe, .scalar = b::Probe},
    {.function = Function::kFunc, .scalar = b::Func},
    {.function = Function::kCtx, .scalar = b::Ctx},
    // A field of the context, which the checker spells out.
    {.function = Function::kRetval},
    {.function = Function::kUsermode, .scalar = b::Usermode},
    {.function = Function::kNsecs, .scalar = b::Nsecs},
    {.function = Function::kKstack, .store = b::Stack},
    {.function = Function::kUstack, .store = b::Stack},
    // Aggregations are statements.
    {.function = Function::kCount},
    {.function = Function::kSum},
    {.function = Function::kMin},
    {.function = Function::kMax},
    {.function = Function::kAvg},
    {.function = Function::kStats},
    {.function = Function::kHist},
    {.function = Function::kLhist},
    {.function = Function::kPrintf, .scalar = b::Record},
    {.function = Function::kErrorf, .scalar = b::Record},
    {.function = Function::kPrint, .scalar = b::Record},
    {.function = Function::kTime, .scalar = b::Record},
    {.function = Function::kStrftime, .scalar = b::FirstArgument},
    {.function = Function::kExit, .scalar = b::Exit},
    {.function = Function::kClear, .scalar = b::Record},
    {.function = Function::kZero, .scalar = b::Record},
    {.function = Function::kDelete, .scalar = b::Delete},
    {.function = Function::kLen, .scalar = b::Len},
    {.function = Function::kHasKey, .scalar = b::HasKey},
    {.function = Function::kFind, .scalar = b::Find},
    {.function = Function::kStr, .store = b::Str},
    {.function = Function::kStrlen, .scalar = b::Strlen},
    {.function = Function::kStrncmp, .scalar = b::Strncmp},
    {.function = Function::kStrcontains, .scalar = b::Strcontains},
    {.function = Function::kKsym, .scalar = b::FirstArgument},
    {.function = Function::kUsym, .store = b::Usym},
    {.function = Function::kCgroupPath, .scalar = b::FirstArgument},
    {.function = Function::kMemcgPath, .scalar = b::FirstArgument},
    // A constant.
    {.function = Function::kCgroupid},
    {.function = Function::kKptr, .scalar = b::FirstArgument},
    {.function = Function::kUptr, .scalar = b::FirstArgument},
    {.function = Function::kIsErr, .scalar = b::IsErr},
    {.function = Function::kFindVma, .scalar = b::FindVma},
};

constexpr bool IsInOrder() {
  for (size_t i = 0; i < std::size(kLowerings); ++i) {
    if (kLowerings[i].function != static_cast<Function>(i)) return false;
  }
  return true;
}
static_assert(std::size(kLowerings) == sema::kFunctionCount, "every function has a lowering");
static_assert(IsInOrder(), "the table is in the order of functions.def");

}  // namespace

const Lowering& LoweringOf(Function function) { return kLowerings[static_cast<size_t>(function)]; }

}  // namespace memtrace::codegen
