// Loops: bpf_loop and bpf_for_each_map_elem with a callback each.
//
// The verifier follows a loop in the code round by round and gives up on long ones; a callback it
// sees once or twice. The callback finds variables in the program's frame. `break` ends it with 1,
// `continue` with 0, and leaving the program sets a field of the frame that is asked for after each
// call.
#include "compiler/base/check.h"
#include "compiler/codegen/function_lowering.h"

namespace memtrace::codegen {
namespace {

// Rounds of one loop at most (BPF_MAX_LOOPS of the kernel).
constexpr uint64_t kLoopLimit = 1 << 23;
// Callbacks are called inside the program: their stack comes on top of its.
constexpr uint32_t kCallbackStack = 64;

}  // namespace

llvm::Function* FunctionLowering::Callback(std::string_view name, std::string_view parameters,
                                           unsigned frame_parameter, diag::Span span,
                                           const std::function<void(llvm::Function&)>& body) {
  llvm::SmallVector<llvm::Type*, 4> types;
  for (char letter : parameters) {
    types.push_back(letter == 'p' ? static_cast<llvm::Type*>(ir_.getPtrTy()) : ir_.getInt64Ty());
  }
  auto* function = llvm::Function::Create(
      llvm::FunctionType::get(ir_.getInt64Ty(), types, /*isVarArg=*/false),
      llvm::GlobalValue::InternalLinkage,
      program_.symbol + "_" + std::string(name) + std::to_string(callbacks_++), module_.module());
  function->setDoesNotThrow();
  // LLVM must not see that an argument is unused and change the signature.
  function->addFnAttr(llvm::Attribute::NoInline);

  llvm::DebugLoc location = ir_.getCurrentDebugLocation();
  llvm::BasicBlock* caller = ir_.GetInsertBlock();
  uint32_t line = line_;
  Activation outer = std::move(here_);
  here_ = {};
  here_.function = function;
  here_.scope = module_.debug().AddFunction(*function, span, /*is_entry=*/false);
  here_.entry = NewBlock("entry");
  here_.frame = function->getArg(frame_parameter);
  here_.stack_budget = kCallbackStack;
  here_.leave = NewBlock("leave");
  here_.break_to = NewBlock("break");
  here_.continue_to = NewBlock("continue");
  ir_.SetInsertPoint(here_.entry);
  SetLocation(span);
  llvm::BasicBlock* first = NewBlock("begin");
  JumpTo(first);
  body(*function);
  ir_.CreateBr(here_.continue_to);
  ir_.SetInsertPoint(here_.continue_to);
  ir_.CreateRet(Number(0));
  ir_.SetInsertPoint(here_.break_to);
  ir_.CreateRet(Number(1));
  ir_.SetInsertPoint(here_.leave);
  if (here_.leave->hasNPredecessorsOrMore(1)) leaves_from_callback_ = true;
  ir_.CreateStore(Number(1), FrameField(kFrameLeft));
  ir_.CreateRet(Number(1));

  here_ = std::move(outer);
  ir_.SetInsertPoint(caller);
  ir_.SetCurrentDebugLocation(location);
  line_ = line;
  return function;
}

// After a loop's call: whether one of its rounds left the program.
void FunctionLowering::LeaveIfCallbackDid(bool left_before) {
  bool leaves = leaves_from_callback_;
  leaves_from_callback_ = left_before || leaves;
  if (!leaves) return;
  llvm::BasicBlock* stays = NewBlock("stays");
  llvm::Value* left = ir_.CreateLoad(ir_.getInt64Ty(), FrameField(kFrameLeft));
  ir_.CreateCondBr(ir_.CreateICmpNE(left, Number(0)), here_.leave, stays);
  ir_.SetInsertPoint(stays);
}

void FunctionLowering::WhileStatement(const sema::While& stmt) {
  bool left_before = std::exchange(leaves_from_callback_, false);
  llvm::Function* callback = Callback("while", "ip", 1, stmt.span, [&](llvm::Function& function) {
    llvm::BasicBlock* holds = NewBlock("holds");
    {
      TemporaryScope scope(*this);
      SetLocation(stmt.condition->span);
      ir_.CreateCondBr(Condition(*stmt.condition), holds, here_.break_to);
      ir_.SetInsertPoint(holds);
    }
    // One round more than the limit is asked for, to tell a loop that ends there from one that
    // would go on.
    llvm::BasicBlock* body = NewBlock("body");
    llvm::BasicBlock* limit = NewBlock("limit");
    ir_.CreateCondBr(ir_.CreateICmpULT(function.getArg(0), Number(kLoopLimit - 1)), body, limit);
    ir_.SetInsertPoint(limit);
    CountLoss(plan::LossCause::kLoopLimit);
    ir_.CreateBr(here_.break_to);
    ir_.SetInsertPoint(body);
    Statement(*stmt.body);
  });
  Call(Helper::loop, {Number(kLoopLimit), callback, here_.frame, Number(0)});
  LeaveIfCallbackDid(left_before);
}

void FunctionLowering::ForRangeStatement(const sema::ForRange& stmt) {
  bool left_before = std::exchange(leaves_from_callback_, false);
  llvm::Value* begin = Scalar(*stmt.begin);
  llvm::Value* end = Scalar(*stmt.end);
  bool is_signed = program_.variables[stmt.variable].type->is_signed;
  llvm::Value* is_empty = is_signed ? ir_.CreateICmpSGE(begin, end) : ir_.CreateICmpUGE(begin, end);
  llvm::Value* rounds = ir_.CreateSelect(is_empty, Number(0), ir_.CreateSub(end, begin));
  llvm::Value* too_many = ir_.CreateICmpUGT(rounds, Number(kLoopLimit));
  When(too_many, [&] { CountLoss(plan::LossCause::kLoopLimit); }, /*likely=*/false);
  rounds = ir_.CreateSelect(too_many, Number(kLoopLimit), rounds);
  uint32_t begin_field = NewFrameField();
  ir_.CreateStore(begin, FrameField(begin_field));
  llvm::Function* callback = Callback("for", "ip", 1, stmt.span, [&](llvm::Function& function) {
    llvm::Value* first = ir_.CreateLoad(ir_.getInt64Ty(), FrameField(begin_field));
    StoreVariable(stmt.variable, ir_.CreateAdd(first, function.getArg(0)));
    Statement(*stmt.body);
  });
  // Linux 6.18 refuses a callback that its verifier knows is never called ("No program to jit").
  When(ir_.CreateICmpNE(rounds, Number(0)),
       [&] { Call(Helper::loop, {rounds, callback, here_.frame, Number(0)}); });
  LeaveIfCallbackDid(left_before);
}

void FunctionLowering::ForMapStatement(const sema::ForMap& stmt) {
  bool left_before = std::exchange(leaves_from_callback_, false);
  const plan::Map& map = PlanMap(stmt.map);
  llvm::Function* callback = Callback("each", "pppp", 3, stmt.span, [&](llvm::Function& function) {
    FillElement(stmt, function.getArg(1), function.getArg(2));
    Statement(*stmt.body);
  });
  ForCopy(map, stmt.closed_window, [&](llvm::GlobalVariable* copy) {
    return Call(Helper::for_each_map_elem, {copy, callback, here_.frame, Number(0)});
  });
  LeaveIfCallbackDid(left_before);
}

// Fills the tuple (key, value) of one round. A key of several parts is a tuple itself.
void FunctionLowering::FillElement(const sema::ForMap& stmt, llvm::Value* key, llvm::Value* value) {
  const plan::Map& map = PlanMap(stmt.map);
  sema::Type tuple = program_.variables[stmt.variable].type;
  Bytes to = LocalBytes(stmt.variable);
  const types::Member& key_member = tuple->members[0];
  const types::Member& value_member = tuple->members[1];
  Bytes key_to = Part(to, key_member.offset, key_member.type->size);
  if (map.key.size() == 1 || !key_member.type.IsTuple()) {
    Copy(key_to, key, 8, key_to.size);
  } else {
    for (size_t i = 0; i < map.key.size(); ++i) {
      const types::Member& part = key_member.type->members[i];
      uint32_t alignment = 8;
      while (map.key[i].offset % alignment != 0) alignment /= 2;
      Copy(Part(key_to, part.offset, part.type->size), Offset(key, map.key[i].offset), alignment,
           part.type->size);
    }
  }
  Bytes value_to = Part(to, value_member.offset, value_member.type->size);
  if (map.value != plan::ValueKind::kScalar) {
    // An aggregation: its folded number, looked up by the key that the round stands at.
    StoreInt(value_to.pointer, FoldAt(stmt, key, value), value_to.size, value_to.alignment);
  } else if (value_member.type.IsScalar()) {
    StoreInt(value_to.pointer, LoadInt(value, 8, false, 8), value_to.size, value_to.alignment);
  } else {
    Copy(value_to, value, 8, value_to.size);
  }
}

}  // namespace memtrace::codegen
