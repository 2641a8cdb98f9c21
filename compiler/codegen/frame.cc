// The frame: where variables lie, and what callbacks of loops find there.
#include "compiler/codegen/function_lowering.h"
#include "compiler/sema/walk.h"

namespace memtrace::codegen {
namespace {

constexpr uint32_t kFrameLimit = 160;
// Larger variables go to the scratch slot.
constexpr uint32_t kFrameVariableLimit = 64;

uint32_t RoundUp8(uint32_t value) { return (value + 7) / 8 * 8; }

// By variable: whether a statement in some loop changes it.
std::vector<bool> AssignedInLoops(const sema::Program& program) {
  std::vector<bool> assigned(program.variables.size());
  sema::TypedVisitor inside{
      .expr =
          [&](const sema::Expr& expr) {
            if (expr.kind == sema::ExprKind::kIncrement) {
              sema::Id variable = static_cast<const sema::Increment&>(expr).variable;
              if (variable != sema::kNoId) assigned[variable] = true;
            } else if (expr.kind == sema::ExprKind::kCall) {
              const auto& call = static_cast<const sema::Call&>(expr);
              if (call.function == sema::Function::kFind) {
                assigned[static_cast<const sema::Variable&>(*call.arguments[0]).variable] = true;
              }
            }
          },
      .stmt =
          [&](const sema::Stmt& stmt) {
            if (stmt.kind == sema::StmtKind::kAssignVariable) {
              assigned[static_cast<const sema::AssignVariable&>(stmt).variable] = true;
            }
          }};
  sema::TypedVisitor visitor{
      .expr = [](const sema::Expr&) {},
      .stmt =
          [&](const sema::Stmt& stmt) {
            if (stmt.kind == sema::StmtKind::kForRange) {
              assigned[static_cast<const sema::ForRange&>(stmt).variable] = true;
            } else if (stmt.kind == sema::StmtKind::kForMap) {
              assigned[static_cast<const sema::ForMap&>(stmt).variable] = true;
            } else if (stmt.kind != sema::StmtKind::kWhile) {
              return;
            }
            sema::Walk(stmt, inside);
          }};
  sema::Walk(*program.body, visitor);
  return assigned;
}

}  // namespace

// What is assigned in a loop lies in the scratch slot, whose contents the verifier does not follow:
// in the frame it would see another value in each round, and no end.
void FunctionLowering::PlaceVariables() {
  frame_size_ = kFrameVariables;
  std::vector<bool> looped = AssignedInLoops(program_);
  for (size_t i = 0; i < program_.variables.size(); ++i) {
    const sema::LocalVariable& variable = program_.variables[i];
    uint32_t size = variable.type.IsScalar() ? 8 : RoundUp8(std::max(variable.type->size, 1u));
    bool in_frame = !looped[i] && size <= kFrameVariableLimit && frame_size_ + size <= kFrameLimit;
    uint32_t& top = in_frame ? frame_size_ : scratch_top_;
    locals_.push_back({.in_frame = in_frame, .offset = top});
    top += size;
  }
  scratch_peak_ = scratch_top_;
}

// The frame's size is known when all loops have taken their fields.
void FunctionLowering::FinishFrame() {
  llvm::IRBuilder<> builder(frame_placeholder_);
  auto* frame = builder.CreateAlloca(llvm::ArrayType::get(ir_.getInt64Ty(), frame_size_ / 8));
  frame->setAlignment(llvm::Align(8));
  frame_placeholder_->replaceAllUsesWith(frame);
  frame_placeholder_->eraseFromParent();
}

void FunctionLowering::InitialiseVariables() {
  for (size_t i = 0; i < locals_.size(); ++i) {
    if (!locals_[i].in_frame) Zero(LocalBytes(static_cast<sema::Id>(i)));
  }
}

llvm::Value* FunctionLowering::FrameField(uint32_t offset) { return Offset(here_.frame, offset); }

uint32_t FunctionLowering::NewFrameField() {
  uint32_t offset = frame_size_;
  frame_size_ += 8;
  return offset;
}

llvm::Value* FunctionLowering::ScratchAt(uint32_t offset) {
  llvm::Value* base = ir_.CreateLoad(ir_.getPtrTy(), FrameField(kFrameScratch));
  return Offset(base, offset);
}

Bytes FunctionLowering::LocalBytes(sema::Id variable) {
  const Local& local = locals_[variable];
  sema::Type type = program_.variables[variable].type;
  uint32_t size = type.IsScalar() ? 8 : type->size;
  return {local.in_frame ? FrameField(local.offset) : ScratchAt(local.offset), size, 8};
}

}  // namespace memtrace::codegen
