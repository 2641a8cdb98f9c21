// Records: what printf and other actions send to the reader through the ring.
#include <algorithm>

#include <linux/bpf.h>

#include "bpf-headers/memtrace/record.h"
#include "compiler/base/check.h"
#include "compiler/codegen/function_lowering.h"

namespace memtrace::codegen {

using plan::LossCause;

// The mark is as wide as this many of the largest records: who passes it steps on it.
static constexpr uint64_t kMarkRecords = 4;

// The record is reserved in the ring whatever its size, and filled in place: nothing is copied.
// Numbers are computed before, so that what they change happens also when the ring is full.
void FunctionLowering::EmitRecord(const sema::Call& call, bool wake) {
  MT_CHECK(call.action < plan().actions.size(), "a call that prints has an action");
  const plan::Action& action = plan().actions[call.action];
  std::vector<llvm::Value*> scalars;
  std::vector<Bytes> computed(call.arguments.size());
  for (size_t i = 0; i < call.arguments.size() && i < action.arguments.size(); ++i) {
    const sema::Expr& argument = *call.arguments[i];
    scalars.push_back(argument.type.IsScalar() ? Scalar(argument) : nullptr);
    if (scalars.back() == nullptr && NeedsOwnMemory(argument)) computed[i] = InMemory(argument);
  }
  bool is_exit = action.kind == plan::ActionKind::kExit;
  if (is_exit) RequestExit(scalars.empty() ? Number(0) : scalars[0]);
  llvm::Value* record =
      Call(Helper::ringbuf_reserve, {module_.ring(), Number(action.record_size), Number(0)});
  Choose(
      ir_.CreateIsNotNull(record),
      [&]() -> llvm::Value* {
        FillRecord(call, action, record, scalars, computed);
        Call(Helper::ringbuf_submit, {record, WakeupFlags(wake)});
        return ir_.getFalse();
      },
      [&]() -> llvm::Value* {
        // exit() has left its word; nothing is lost with its record but the place in the order.
        if (!is_exit) CountLoss(LossCause::kRingFull, plan::Spelling(action.kind));
        return ir_.getFalse();
      });
}

void FunctionLowering::RequestExit(llvm::Value* status) {
  llvm::Value* low = ir_.CreateAnd(status, Number(plan::kExitRequested - 1));
  StoreInt(Offset(module_.state(), plan().exit_offset),
           ir_.CreateOr(low, Number(plan::kExitRequested)), 8, 8);
}

// Whether an argument is better computed before its record is reserved: what has effects has to be,
// and look-ups and loops keep the record from the reader for long.
bool FunctionLowering::NeedsOwnMemory(const sema::Expr& expr) {
  return HasEffects(expr) || expr.type.IsStack();
}

void FunctionLowering::FillRecord(const sema::Call& call, const plan::Action& action,
                                  llvm::Value* record, const std::vector<llvm::Value*>& scalars,
                                  const std::vector<Bytes>& computed) {
  StoreInt(record, Number(call.action), 4, 4);
  StoreInt(Offset(record, offsetof(mt_record_header, size)), Number(action.record_size), 4, 4);
  Bytes whole{record, action.record_size, 8};
  for (size_t i = 0; i < scalars.size(); ++i) {
    const sema::Expr& argument = *call.arguments[i];
    Bytes field = Part(whole, action.arguments[i].offset, argument.type->size);
    if (scalars[i] != nullptr) {
      StoreInt(field.pointer, scalars[i], field.size, field.alignment);
    } else if (computed[i].pointer != nullptr) {
      Copy(field, computed[i]);
    } else {
      Store(argument, field, Padding::kNone);
    }
  }
}

// An event costs ten times more when it wakes the reader: it is woken when what is unread passes a
// mark, and not again until it has read and the mark is passed anew. A timer of its own sees to the
// rest, also where records of several CPUs leap over the mark together.
llvm::Value* FunctionLowering::WakeupFlags(bool wake) {
  if (wake) return Number(BPF_RB_FORCE_WAKEUP);
  uint32_t largest = 0;
  for (const plan::Action& action : plan().actions) largest = std::max(largest, action.record_size);
  llvm::Value* unread = Call(Helper::ringbuf_query, {module_.ring(), Number(BPF_RB_AVAIL_DATA)});
  llvm::Value* above = ir_.CreateSub(unread, Number(plan().config.ring_wakeup));
  llvm::Value* passes = ir_.CreateICmpULT(above, Number(kMarkRecords * uint64_t{largest}));
  return ir_.CreateSelect(passes, Number(BPF_RB_FORCE_WAKEUP), Number(BPF_RB_NO_WAKEUP));
}

}  // namespace memtrace::codegen
