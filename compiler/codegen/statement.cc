// Statements other than loops.
#include "compiler/base/check.h"
#include "compiler/codegen/function_lowering.h"

namespace memtrace::codegen {

using sema::Stmt;
using sema::StmtKind;

void FunctionLowering::Statement(const Stmt& stmt) {
  if (stmt.kind == StmtKind::kBlock) {
    for (const Stmt* inner : static_cast<const sema::Block&>(stmt).statements) Statement(*inner);
    return;
  }
  TemporaryScope scope(*this);
  SetLocation(stmt.span);
  auto jump = [this](llvm::BasicBlock* target) {
    ir_.CreateBr(target);
    // What follows is never reached; it needs a block all the same.
    ir_.SetInsertPoint(NewBlock("dead"));
  };
  switch (stmt.kind) {
    case StmtKind::kExpression:
      return Evaluate(*static_cast<const sema::ExpressionStmt&>(stmt).expr);
    case StmtKind::kAssignVariable:
      return AssignVariable(static_cast<const sema::AssignVariable&>(stmt));
    case StmtKind::kAssignMap: {
      const auto& assign = static_cast<const sema::AssignMap&>(stmt);
      return AssignMap(assign.place, *assign.value);
    }
    case StmtKind::kAddMap: {
      const auto& add = static_cast<const sema::AddMap&>(stmt);
      AddMap(add.place, Scalar(*add.value), stmt.span);
      return;
    }
    case StmtKind::kAggregate:
      return Aggregate(static_cast<const sema::Aggregate&>(stmt));
    case StmtKind::kIf:
      return IfStatement(static_cast<const sema::If&>(stmt));
    case StmtKind::kWhile:
      return WhileStatement(static_cast<const sema::While&>(stmt));
    case StmtKind::kForRange:
      return ForRangeStatement(static_cast<const sema::ForRange&>(stmt));
    case StmtKind::kForMap:
      return ForMapStatement(static_cast<const sema::ForMap&>(stmt));
    case StmtKind::kUnroll:
      return UnrollStatement(static_cast<const sema::Unroll&>(stmt));
    case StmtKind::kBreak:
      return jump(here_.break_to);
    case StmtKind::kContinue:
      return jump(here_.continue_to);
    case StmtKind::kReturn:
      return Leave();
    case StmtKind::kBlock:
      break;
  }
  MT_UNREACHABLE("every statement is lowered");
}

void FunctionLowering::AssignVariable(const sema::AssignVariable& stmt) {
  Bytes local = LocalBytes(stmt.variable);
  if (program_.variables[stmt.variable].type.IsScalar()) {
    return StoreVariable(stmt.variable, Scalar(*stmt.value));
  }
  if (!Mentions(*stmt.value, stmt.variable)) return Store(*stmt.value, local);
  Bytes copy = Temporary(local.size);
  Store(*stmt.value, copy);
  Copy(local, copy);
}

void FunctionLowering::StoreVariable(sema::Id variable, llvm::Value* scalar) {
  ir_.CreateStore(Narrow(scalar, program_.variables[variable].type), LocalBytes(variable).pointer);
}

void FunctionLowering::IfStatement(const sema::If& stmt) {
  llvm::BasicBlock* then = NewBlock("if");
  llvm::BasicBlock* after = NewBlock("endif");
  llvm::BasicBlock* otherwise = stmt.otherwise != nullptr ? NewBlock("else") : after;
  ir_.CreateCondBr(Condition(*stmt.condition), then, otherwise);
  ir_.SetInsertPoint(then);
  Statement(*stmt.then);
  ir_.CreateBr(after);
  if (stmt.otherwise != nullptr) {
    ir_.SetInsertPoint(otherwise);
    Statement(*stmt.otherwise);
    ir_.CreateBr(after);
  }
  ir_.SetInsertPoint(after);
}

void FunctionLowering::UnrollStatement(const sema::Unroll& stmt) {
  llvm::BasicBlock* outer_break = here_.break_to;
  llvm::BasicBlock* outer_continue = here_.continue_to;
  llvm::BasicBlock* after = NewBlock("unrolled");
  here_.break_to = after;
  for (uint32_t i = 0; i < stmt.count; ++i) {
    here_.continue_to = NewBlock("unroll");
    Statement(*stmt.body);
    JumpTo(here_.continue_to);
  }
  JumpTo(after);
  here_.break_to = outer_break;
  here_.continue_to = outer_continue;
}

void FunctionLowering::Leave() {
  ir_.CreateBr(here_.leave);
  ir_.SetInsertPoint(NewBlock("dead"));
}

}  // namespace memtrace::codegen
