#include "compiler/codegen/function_lowering.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/MDBuilder.h>

#include "compiler/base/check.h"
#include "compiler/sema/walk.h"

namespace memtrace::codegen {
namespace {

// Of BPF's 512 bytes, registers that are spilled and callbacks need their share.
constexpr uint32_t kProgramStack = 256;
// Attempts to claim a scratch slot. One fails only when a program that preempted us took the slot
// that we saw free and was itself preempted.
constexpr int kClaimAttempts = 3;

std::string SectionOf(const sema::Program& program) {
  std::string_view kind;
  switch (program.type) {
    case plan::ProgramType::kRawTracepoint:
      kind = "mt/raw_tp/";
      break;
    case plan::ProgramType::kTracepoint:
      kind = "mt/tracepoint/";
      break;
    case plan::ProgramType::kPerfEvent:
      kind = "mt/perf_event/";
      break;
    case plan::ProgramType::kTracing:
      kind = "mt/tracing/";
      break;
    case plan::ProgramType::kKprobe:
      kind = "mt/kprobe/";
      break;
    case plan::ProgramType::kKprobeMulti:
      kind = "mt/kprobe_multi/";
      break;
    case plan::ProgramType::kUprobeMulti:
      kind = "mt/uprobe_multi/";
      break;
  }
  return std::string(kind) + program.symbol;
}

}  // namespace

FunctionLowering::FunctionLowering(ModuleBuilder& module, const sema::Program& program)
    : module_(module), program_(program), ir_(module.module().getContext()) {}

void FunctionLowering::Lower() {
  PlaceVariables();
  BeginFunction();
  llvm::BasicBlock* out = NewBlock("out");
  BeginObject(out);
  FilterScope(out);
  DispatchSyscall(out);

  // The slot is claimed behind the predicate, so that an event that is filtered out does not pay
  // for it; unless the predicate itself needs it.
  llvm::BasicBlock* before_predicate = NewBlock("predicate");
  JumpTo(before_predicate);
  llvm::Instruction* claim_early = ir_.CreateUnreachable();
  llvm::BasicBlock* predicate = NewBlock("predicate_begin");
  ir_.SetInsertPoint(predicate);
  llvm::BasicBlock* leave = NewBlock("leave");
  uint32_t variables = scratch_peak_;
  LowerPredicate(leave);
  bool predicate_needs_scratch = scratch_peak_ > variables;
  llvm::BasicBlock* before_body = NewBlock("body");
  JumpTo(before_body);
  llvm::Instruction* claim_late = ir_.CreateUnreachable();
  llvm::BasicBlock* body = NewBlock("body_begin");
  ir_.SetInsertPoint(body);
  here_.leave = leave;
  if (!predicate_needs_scratch) here_.leave = NewBlock("release");
  InitialiseVariables();
  if (program_.follows_forks) FollowFork();
  Statement(*program_.body);
  JumpTo(here_.leave);

  bool needs_scratch = scratch_peak_ > 0;
  auto claim_at = [&](llvm::BasicBlock* block, llvm::Instruction* end, llvm::BasicBlock* next,
                      bool claims) {
    end->eraseFromParent();
    ir_.SetInsertPoint(block);
    if (claims) ClaimScratch(out);
    ir_.CreateBr(next);
  };
  claim_at(before_predicate, claim_early, predicate, needs_scratch && predicate_needs_scratch);
  claim_at(before_body, claim_late, body, needs_scratch && !predicate_needs_scratch);

  ir_.SetInsertPoint(here_.leave);
  if (needs_scratch) ReleaseScratch();
  ir_.CreateBr(out);
  if (here_.leave != leave) {
    ir_.SetInsertPoint(leave);
    ir_.CreateBr(out);
  }
  ir_.SetInsertPoint(out);
  ir_.CreateRet(ir_.getInt32(0));
  FinishFrame();
  module_.NeedScratch(scratch_peak_);
}

void FunctionLowering::BeginFunction() {
  llvm::Type* pointer = ir_.getPtrTy();
  auto* function = llvm::Function::Create(
      llvm::FunctionType::get(ir_.getInt32Ty(), {pointer}, /*isVarArg=*/false),
      llvm::GlobalValue::ExternalLinkage, program_.symbol, module_.module());
  function->setSection(SectionOf(program_));
  function->setDoesNotThrow();
  here_.function = function;
  here_.scope = module_.debug().AddFunction(*function, program_.span, /*is_entry=*/true);
  here_.entry = NewBlock("entry");
  here_.stack_budget = kProgramStack - frame_size_;
  ir_.SetInsertPoint(here_.entry);
  SetLocation(program_.span);
  frame_placeholder_ = ir_.CreateAlloca(ir_.getInt64Ty(), nullptr, "frame");
  here_.frame = frame_placeholder_;
  ir_.CreateStore(function->getArg(0), FrameField(kFrameContext));
  // All of the frame is written before a callback may read it.
  for (uint32_t offset = kFrameScratch; offset < frame_size_; offset += 8) {
    ir_.CreateStore(Number(0), FrameField(offset));
  }
}

void FunctionLowering::LowerPredicate(llvm::BasicBlock* otherwise) {
  if (program_.predicate == nullptr) return;
  TemporaryScope scope(*this);
  SetLocation(program_.predicate->span);
  llvm::BasicBlock* accepted = NewBlock("accepted");
  ir_.CreateCondBr(Condition(*program_.predicate), accepted, otherwise);
  ir_.SetInsertPoint(accepted);
}

// Takes a free slot of this CPU. Which one is free is read from memory, so that the verifier does
// not follow the program once for each of them.
void FunctionLowering::ClaimScratch(llvm::BasicBlock* otherwise) {
  llvm::BasicBlock* claimed = NewBlock("claimed");
  llvm::Value* cpu = Cpu();
  llvm::Value* bitmap = Offset(module_.busy(), ir_.CreateMul(cpu, Number(kBusyStride)));
  std::vector<std::pair<llvm::Value*, llvm::BasicBlock*>> bits;
  for (int attempt = 0; attempt < kClaimAttempts; ++attempt) {
    auto* taken =
        ir_.CreateAlignedLoad(ir_.getInt64Ty(), bitmap, llvm::Align(8), /*isVolatile=*/true);
    // The lowest clear bit; 0 or above the byte when all slots are taken.
    llvm::Value* bit = ir_.CreateAnd(ir_.CreateNot(taken), ir_.CreateAdd(taken, Number(1)));
    bit = ir_.CreateAnd(bit, Number((1u << kScratchSlots) - 1));
    llvm::Value* before =
        ir_.CreateAtomicRMW(llvm::AtomicRMWInst::Or, bitmap, bit, llvm::MaybeAlign(8),
                            llvm::AtomicOrdering::SequentiallyConsistent);
    bits.emplace_back(bit, ir_.GetInsertBlock());
    llvm::BasicBlock* next = NewBlock("claim_again");
    // Fails also when `bit` is 0.
    llvm::Value* is_ours = ir_.CreateICmpUGT(bit, ir_.CreateAnd(before, bit));
    ir_.CreateCondBr(is_ours, claimed, next,
                     llvm::MDBuilder(ir_.getContext()).createLikelyBranchWeights());
    ir_.SetInsertPoint(next);
  }
  CountLoss(plan::LossCause::kScratchBusy);
  ir_.CreateBr(otherwise);

  ir_.SetInsertPoint(claimed);
  llvm::PHINode* bit = ir_.CreatePHI(ir_.getInt64Ty(), bits.size());
  for (const auto& [value, block] : bits) bit->addIncoming(value, block);
  // A de Bruijn sequence numbers the eight single bits without a branch; the order does not matter.
  llvm::Value* slot = ir_.CreateLShr(ir_.CreateMul(bit, Number(0x17)), Number(5));
  // Did LLVM know that what is added has no bits in common, it would make it an `or`, of which the
  // verifier of Linux 6.1 knows no bounds.
  slot = Opaque(ir_.CreateAnd(Opaque(slot), Number(kScratchSlots - 1)));
  llvm::Value* index = ir_.CreateAdd(ir_.CreateMul(cpu, Number(kScratchSlots)), slot);
  llvm::Value* base = Offset(module_.scratch(), ir_.CreateMul(index, module_.SlotSize(ir_)));
  ir_.CreateStore(bit, FrameField(kFrameBusyBit));
  ir_.CreateStore(base, FrameField(kFrameScratch));
}

void FunctionLowering::ReleaseScratch() {
  llvm::Value* bitmap = Offset(module_.busy(), ir_.CreateMul(Cpu(), Number(kBusyStride)));
  llvm::Value* bit = ir_.CreateLoad(ir_.getInt64Ty(), FrameField(kFrameBusyBit));
  ir_.CreateAtomicRMW(llvm::AtomicRMWInst::And, bitmap, ir_.CreateNot(bit), llvm::MaybeAlign(8),
                      llvm::AtomicOrdering::Monotonic);
}

llvm::Value* FunctionLowering::Context() {
  return ir_.CreateLoad(ir_.getPtrTy(), FrameField(kFrameContext));
}

llvm::Value* FunctionLowering::ContextArgument(uint32_t index) {
  if (program_.tracing_target == plan::TracingTarget::kIterator) {
    // A number, where a load would give the verifier a pointer that it does not let us calculate
    // with.
    Bytes word = Temporary(8);
    // Added as a number: a pointer into the context that loads shared would be refused.
    llvm::Value* address =
        ir_.CreateAdd(ir_.CreatePtrToInt(Context(), ir_.getInt64Ty()), Number(index * 8));
    Call(Helper::probe_read_kernel, {word.pointer, Number(8), address});
    return LoadInt(word.pointer, 8, false, 8);
  }
  // Volatile: the verifier wants whole u64s where LLVM would load what is used of them.
  return ir_.CreateAlignedLoad(ir_.getInt64Ty(), Offset(Context(), index * 8), llvm::Align(8),
                               /*isVolatile=*/true);
}

llvm::Value* FunctionLowering::Call(Helper helper, llvm::ArrayRef<llvm::Value*> arguments) {
  return ir_.CreateCall(module_.Declaration(helper), arguments);
}

llvm::Value* FunctionLowering::Cpu() {
  llvm::Value* cpu = Call(Helper::get_smp_processor_id, {});
  return ir_.CreateAnd(cpu, Number(plan().cpu_slots - 1));
}

llvm::Value* FunctionLowering::Opaque(llvm::Value* value) {
  auto* type = llvm::FunctionType::get(value->getType(), {value->getType()}, false);
  auto* barrier = llvm::InlineAsm::get(type, "", "=r,0", /*hasSideEffects=*/false);
  return ir_.CreateCall(type, barrier, {value});
}

void FunctionLowering::KeepApart(uint64_t number) {
  auto* type = llvm::FunctionType::get(ir_.getVoidTy(), {ir_.getInt64Ty()}, false);
  auto* mark = llvm::InlineAsm::get(type, "", "i", /*hasSideEffects=*/true);
  ir_.CreateCall(type, mark, {Number(number)});
}

void FunctionLowering::SetLocation(diag::Span span) {
  line_ = module_.LineOf(span);
  ir_.SetCurrentDebugLocation(module_.debug().Location(span, here_.scope));
}

llvm::BasicBlock* FunctionLowering::NewBlock(const char* name) {
  return llvm::BasicBlock::Create(ir_.getContext(), name, here_.function);
}

void FunctionLowering::JumpTo(llvm::BasicBlock* block) {
  ir_.CreateBr(block);
  ir_.SetInsertPoint(block);
}

void FunctionLowering::When(llvm::Value* condition, const std::function<void()>& body,
                            bool likely) {
  llvm::BasicBlock* then = NewBlock("then");
  llvm::BasicBlock* after = NewBlock("after");
  llvm::MDBuilder metadata(ir_.getContext());
  ir_.CreateCondBr(condition, then, after,
                   likely ? nullptr : metadata.createUnlikelyBranchWeights());
  ir_.SetInsertPoint(then);
  body();
  JumpTo(after);
}

llvm::Value* FunctionLowering::Choose(llvm::Value* condition,
                                      const std::function<llvm::Value*()>& then,
                                      const std::function<llvm::Value*()>& otherwise) {
  llvm::BasicBlock* then_block = NewBlock("then");
  llvm::BasicBlock* otherwise_block = NewBlock("otherwise");
  llvm::BasicBlock* after = NewBlock("after");
  ir_.CreateCondBr(condition, then_block, otherwise_block);
  ir_.SetInsertPoint(then_block);
  llvm::Value* then_value = then();
  then_block = ir_.GetInsertBlock();
  ir_.CreateBr(after);
  ir_.SetInsertPoint(otherwise_block);
  llvm::Value* otherwise_value = otherwise();
  otherwise_block = ir_.GetInsertBlock();
  JumpTo(after);
  llvm::PHINode* result = ir_.CreatePHI(then_value->getType(), 2);
  result->addIncoming(then_value, then_block);
  result->addIncoming(otherwise_value, otherwise_block);
  return result;
}

void FunctionLowering::BoundedLoop(uint64_t limit,
                                   const std::function<llvm::Value*(llvm::Value*)>& body) {
  llvm::BasicBlock* before = ir_.GetInsertBlock();
  llvm::BasicBlock* head = NewBlock("loop");
  llvm::BasicBlock* next = NewBlock("loop_next");
  llvm::BasicBlock* after = NewBlock("loop_end");
  JumpTo(head);
  llvm::PHINode* index = ir_.CreatePHI(ir_.getInt64Ty(), 2);
  index->addIncoming(Number(0), before);
  llvm::Value* ends = body(index);
  if (ends == nullptr) {
    ir_.CreateBr(next);
  } else {
    ir_.CreateCondBr(ends, after, next);
  }
  ir_.SetInsertPoint(next);
  llvm::Value* following = ir_.CreateAdd(index, Number(1));
  index->addIncoming(following, next);
  ir_.CreateCondBr(ir_.CreateICmpULT(following, Number(limit)), head, after);
  ir_.SetInsertPoint(after);
}

std::optional<plan::Index> FunctionLowering::LossSite(plan::LossCause cause,
                                                      std::string_view subject) const {
  // The most special counter that the plan has: of this subject and line, of one of both, of the
  // cause.
  std::optional<plan::Index> best;
  int best_score = -1;
  for (size_t i = 0; i < plan().loss_sites.size(); ++i) {
    const plan::LossSite& site = plan().loss_sites[i];
    bool subject_fits = site.subject.empty() || site.subject == subject;
    bool line_fits = site.line == 0 || site.line == line_;
    if (site.cause != cause || !subject_fits || !line_fits) continue;
    int score = (site.subject.empty() ? 0 : 2) + (site.line == 0 ? 0 : 1);
    if (score <= best_score) continue;
    best = static_cast<plan::Index>(i);
    best_score = score;
  }
  return best;
}

void FunctionLowering::CountLoss(plan::LossCause cause, std::string_view subject) {
  std::optional<plan::Index> site = LossSite(cause, subject);
  if (!site) return;
  llvm::Value* counter = Offset(module_.state(), plan().losses_offset + uint64_t{*site} * 8);
  ir_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, counter, Number(1), llvm::MaybeAlign(8),
                      llvm::AtomicOrdering::Monotonic);
}

// ---- Operands ---------------------------------------------------------------------------------

void ForEachOperand(const sema::Expr& expr, const std::function<void(const sema::Expr&)>& visit) {
  using sema::ExprKind;
  auto visit_if = [&](const sema::Expr* operand) {
    if (operand != nullptr) visit(*operand);
  };
  auto visit_all = [&](const std::vector<sema::Expr*>& operands) {
    for (const sema::Expr* operand : operands) visit_if(operand);
  };
  switch (expr.kind) {
    case ExprKind::kConstant:
    case ExprKind::kString:
    case ExprKind::kVariable:
    case ExprKind::kContextField:
    case ExprKind::kProbeIs:
      return;
    case ExprKind::kMapRead:
      return visit_all(static_cast<const sema::MapRead&>(expr).place.keys);
    case ExprKind::kMember:
      return visit_if(static_cast<const sema::Member&>(expr).object);
    case ExprKind::kIndex:
      visit_if(static_cast<const sema::Index&>(expr).object);
      return visit_if(static_cast<const sema::Index&>(expr).index);
    case ExprKind::kDereference:
      return visit_if(static_cast<const sema::Dereference&>(expr).pointer);
    case ExprKind::kAddressOf:
      return visit_if(static_cast<const sema::AddressOf&>(expr).place);
    case ExprKind::kUnary:
      return visit_if(static_cast<const sema::Unary&>(expr).operand);
    case ExprKind::kBinary:
      visit_if(static_cast<const sema::Binary&>(expr).left);
      return visit_if(static_cast<const sema::Binary&>(expr).right);
    case ExprKind::kCompare:
      visit_if(static_cast<const sema::Compare&>(expr).left);
      return visit_if(static_cast<const sema::Compare&>(expr).right);
    case ExprKind::kLogical:
      visit_if(static_cast<const sema::Logical&>(expr).left);
      return visit_if(static_cast<const sema::Logical&>(expr).right);
    case ExprKind::kConditional:
      visit_if(static_cast<const sema::Conditional&>(expr).condition);
      visit_if(static_cast<const sema::Conditional&>(expr).then);
      return visit_if(static_cast<const sema::Conditional&>(expr).otherwise);
    case ExprKind::kCast:
      return visit_if(static_cast<const sema::Cast&>(expr).operand);
    case ExprKind::kTuple:
      return visit_all(static_cast<const sema::Tuple&>(expr).elements);
    case ExprKind::kTupleElement:
      return visit_if(static_cast<const sema::TupleElement&>(expr).tuple);
    case ExprKind::kIncrement:
      return visit_all(static_cast<const sema::Increment&>(expr).place.keys);
    case ExprKind::kCall:
      visit_all(static_cast<const sema::Call&>(expr).arguments);
      return visit_all(static_cast<const sema::Call&>(expr).place.keys);
  }
  MT_UNREACHABLE("every expression has its operands");
}

bool HasEffects(const sema::Expr& expr) {
  if (expr.kind == sema::ExprKind::kIncrement) return true;
  if (expr.kind == sema::ExprKind::kCall) {
    sema::Function function = static_cast<const sema::Call&>(expr).function;
    if (function == sema::Function::kDelete || function == sema::Function::kFind) return true;
  }
  bool found = false;
  ForEachOperand(expr, [&](const sema::Expr& operand) { found = found || HasEffects(operand); });
  return found;
}

bool Mentions(const sema::Expr& expr, sema::Id variable) {
  if (expr.kind == sema::ExprKind::kVariable) {
    return static_cast<const sema::Variable&>(expr).variable == variable;
  }
  if (expr.kind == sema::ExprKind::kIncrement &&
      static_cast<const sema::Increment&>(expr).variable == variable) {
    return true;
  }
  bool found = false;
  ForEachOperand(expr,
                 [&](const sema::Expr& operand) { found = found || Mentions(operand, variable); });
  return found;
}

}  // namespace memtrace::codegen
