#include "compiler/sema/walk.h"

namespace memtrace::sema {
namespace {

template <typename T>
const T& As(const Expr& expr) {
  return static_cast<const T&>(expr);
}
template <typename T>
const T& As(const Stmt& stmt) {
  return static_cast<const T&>(stmt);
}

void WalkAll(const std::vector<Expr*>& exprs, const TypedVisitor& visitor) {
  for (const Expr* expr : exprs) Walk(*expr, visitor);
}

template <typename Node>
void WalkIf(const Node* node, const TypedVisitor& visitor) {
  if (node != nullptr) Walk(*node, visitor);
}

}  // namespace

void Walk(const Expr& expr, const TypedVisitor& visitor) {
  visitor.expr(expr);
  switch (expr.kind) {
    case ExprKind::kConstant:
    case ExprKind::kString:
    case ExprKind::kVariable:
    case ExprKind::kContextField:
    case ExprKind::kProbeIs:
      return;
    case ExprKind::kMapRead:
      return WalkAll(As<MapRead>(expr).place.keys, visitor);
    case ExprKind::kMember:
      return Walk(*As<Member>(expr).object, visitor);
    case ExprKind::kIndex:
      Walk(*As<Index>(expr).object, visitor);
      return Walk(*As<Index>(expr).index, visitor);
    case ExprKind::kDereference:
      return Walk(*As<Dereference>(expr).pointer, visitor);
    case ExprKind::kAddressOf:
      return Walk(*As<AddressOf>(expr).place, visitor);
    case ExprKind::kUnary:
      return Walk(*As<Unary>(expr).operand, visitor);
    case ExprKind::kBinary:
      Walk(*As<Binary>(expr).left, visitor);
      return Walk(*As<Binary>(expr).right, visitor);
    case ExprKind::kCompare:
      Walk(*As<Compare>(expr).left, visitor);
      return Walk(*As<Compare>(expr).right, visitor);
    case ExprKind::kLogical:
      Walk(*As<Logical>(expr).left, visitor);
      return Walk(*As<Logical>(expr).right, visitor);
    case ExprKind::kConditional:
      Walk(*As<Conditional>(expr).condition, visitor);
      WalkIf(As<Conditional>(expr).then, visitor);
      return Walk(*As<Conditional>(expr).otherwise, visitor);
    case ExprKind::kCast:
      return Walk(*As<Cast>(expr).operand, visitor);
    case ExprKind::kTuple:
      return WalkAll(As<Tuple>(expr).elements, visitor);
    case ExprKind::kTupleElement:
      return Walk(*As<TupleElement>(expr).tuple, visitor);
    case ExprKind::kIncrement:
      return WalkAll(As<Increment>(expr).place.keys, visitor);
    case ExprKind::kCall:
      WalkAll(As<Call>(expr).arguments, visitor);
      return WalkAll(As<Call>(expr).place.keys, visitor);
  }
}

void Walk(const Stmt& stmt, const TypedVisitor& visitor) {
  if (visitor.stmt) visitor.stmt(stmt);
  switch (stmt.kind) {
    case StmtKind::kExpression:
      return Walk(*As<ExpressionStmt>(stmt).expr, visitor);
    case StmtKind::kAssignVariable:
      return Walk(*As<AssignVariable>(stmt).value, visitor);
    case StmtKind::kAssignMap:
      WalkAll(As<AssignMap>(stmt).place.keys, visitor);
      return Walk(*As<AssignMap>(stmt).value, visitor);
    case StmtKind::kAddMap:
      WalkAll(As<AddMap>(stmt).place.keys, visitor);
      return Walk(*As<AddMap>(stmt).value, visitor);
    case StmtKind::kAggregate:
      WalkAll(As<Aggregate>(stmt).place.keys, visitor);
      return WalkIf(As<Aggregate>(stmt).value, visitor);
    case StmtKind::kBlock:
      for (const Stmt* inner : As<Block>(stmt).statements) Walk(*inner, visitor);
      return;
    case StmtKind::kIf:
      Walk(*As<If>(stmt).condition, visitor);
      WalkIf(As<If>(stmt).then, visitor);
      return WalkIf(As<If>(stmt).otherwise, visitor);
    case StmtKind::kWhile:
      Walk(*As<While>(stmt).condition, visitor);
      return Walk(*As<While>(stmt).body, visitor);
    case StmtKind::kForRange:
      Walk(*As<ForRange>(stmt).begin, visitor);
      Walk(*As<ForRange>(stmt).end, visitor);
      return Walk(*As<ForRange>(stmt).body, visitor);
    case StmtKind::kForMap:
      return Walk(*As<ForMap>(stmt).body, visitor);
    case StmtKind::kUnroll:
      return Walk(*As<Unroll>(stmt).body, visitor);
    case StmtKind::kBreak:
    case StmtKind::kContinue:
    case StmtKind::kReturn:
      return;
  }
}

}  // namespace memtrace::sema
