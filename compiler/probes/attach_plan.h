// How the probes of one clause are served: by which programs, attached to what.
//
// Probes that exist (provider.h) come in, groups that share one program come out. The cheapest way
// that gives what the clause uses is taken; what was passed over is noted with its reason, for -lv
// and
// --dump=plan. A raw tracepoint is taken for a clause with `args` only where a proven row says
// which argument a field is: equal names do not mean equal values.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/kernel/kernel.h"
#include "compiler/plan/plan.h"
#include "compiler/probes/provider.h"
#include "compiler/types/type.h"

namespace memtrace::probes {

// From this many system calls on, one raw sys_enter program that dispatches on the number costs
// less than a classic tracepoint for each. To be measured again when the dispatch changes.
inline constexpr size_t kSyscallDispatchThreshold = 4;

// Where an argument of the probe lies in the program's context.
enum class From : uint8_t {
  kRecord,    // classic tracepoint: `offset` bytes into the context
  kArgument,  // raw tracepoint: u64 number `index` of the context, cut to the type's size
  // A member of what a raw argument points to: pointer at `index`, then `offset` bytes into it
  // (a proven row: ip = regs->ip), read as kernel memory.
  kArgumentMember,
  kSyscallArgument,    // raw sys_enter: pt_regs at argument 0; `offset` is that of the register in
                       // pt_regs
  kRegister,           // kprobe: the `index`-th register that arguments are passed in
  kStackArgument,      // kprobe: `offset` bytes above the stack pointer at a function's entry
  kUserStackArgument,  // uprobe: the same on the stack of the process
  kResult,             // kretprobe, uretprobe: the register of results
  kUserRegister,       // usdt: `operand`, a part of a register
  kUserMemory,         // usdt: `operand`, the address in the process
};

// Where a static probe left an argument. Registers are offsets in struct pt_regs.
struct Operand {
  uint32_t base = 0;
  uint32_t shift = 0;  // kUserRegister: bits below the value
  uint32_t index = 0;
  uint32_t scale = 0;  // of `index`; 0: there is none
  int64_t constant = 0;
};

struct Field {
  std::string name;
  types::Type type;
  From from = From::kRecord;
  uint32_t index = 0;
  uint32_t offset = 0;
  uint8_t bit_offset = 0, bit_size = 0;
  bool is_data_loc = false, is_relative_loc = false;
  bool is_constant = false;  // always `constant`, wherever it would lie
  int64_t constant = 0;
  Operand operand;
  std::string unreadable;  // not empty: why no program can read it
};

// What a clause uses of its probes.
struct Usage {
  bool args = false;             // any field of args, or a numbered argument
  std::set<std::string> fields;  // args.NAME
  std::set<uint32_t> numbered;   // argN
  bool retval = false;
  bool registers = false;   // ctx as the registers of a kprobe
  bool probe_name = false;  // the `probe` builtin
  bool classic_only = false;
};

// A system call that a dispatching program serves.
struct DispatchedCall {
  uint32_t number = 0;
  size_t target = 0;  // index into Group::targets
};

// One program: the probes it serves and the fields that `args` has in it.
struct Group {
  plan::ProgramType type = plan::ProgramType::kRawTracepoint;
  std::vector<Target> targets;
  std::vector<plan::Probe> probes;      // one per attachment; `program` is not set yet
  std::vector<Field> fields;            // what args.NAME may be
  bool has_numbered_arguments = false;  // arg0 … argN are `fields` in order
  // Functions. Without a prototype (`unknown_arguments` says why) there are arg0 … argN as
  // plain numbers, but no args.
  std::string unknown_arguments;
  std::optional<Field> result;
  bool is_user =
      false;  // the code that the probes are in is a program's: numbers are its addresses
  plan::TracingTarget tracing_target = plan::TracingTarget::kNone;
  uint32_t attach_btf_id = 0;
  std::string attach_module;
  std::vector<DispatchedCall> calls;  // not empty: probes[0] is sys_enter or sys_exit
  bool is_sys_enter = false;

  // Programs of kprobes and uprobes ask the kernel which of their probes it was.
  bool is_kprobe() const {
    return type == plan::ProgramType::kKprobe || type == plan::ProgramType::kKprobeMulti ||
           type == plan::ProgramType::kUprobeMulti;
  }
  bool names_by_cookie() const { return is_kprobe() && targets.size() > 1; }
};

// The N-th argument of a function, of the kernel or of a program, whose prototype is not known: a
// number.
Field UntypedArgument(uint32_t number, bool is_user, types::TypeTable& types);

// What a program depends on of the arguments and the result that its clause uses: functions share a
// program when this is the same. `text_of` says where a field lies and of what type it is.
std::string ArgumentsKey(const Usage& usage, const Group& group,
                         const std::function<std::string(const Field&)>& text_of);

// Groups of `targets` in their order. Errors (a format that cannot be read) go to `diagnostics`.
std::vector<Group> PlanAttach(const std::vector<Target>& targets, const Usage& usage,
                              kernel::Kernel& kernel, diag::Diagnostics& diagnostics);

}  // namespace memtrace::probes
