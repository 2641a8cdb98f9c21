#include "compiler/sema/usage.h"

#include "compiler/sema/row.h"

namespace memtrace::sema {
namespace {

using Visit = std::function<void(const syntax::Expr&)>;

template <typename T>
const T& As(const syntax::Expr& expr) {
  return static_cast<const T&>(expr);
}
template <typename T>
const T& As(const syntax::Stmt& stmt) {
  return static_cast<const T&>(stmt);
}

void VisitAll(const std::vector<syntax::Expr*>& exprs, const Visit& visit) {
  for (const syntax::Expr* expr : exprs) ForEachExpr(*expr, visit);
}

void VisitIf(const syntax::Expr* expr, const Visit& visit) {
  if (expr != nullptr) ForEachExpr(*expr, visit);
}

void VisitIf(const syntax::Stmt* stmt, const Visit& visit) {
  if (stmt != nullptr) ForEachExpr(*stmt, visit);
}

bool IsArgs(const syntax::Expr& expr) {
  return expr.kind == syntax::ExprKind::kName && As<syntax::Name>(expr).name == kArgs;
}

// The row of the function that `expr` calls, or null.
const Row* CalledRow(const syntax::Expr& expr, const Row* (*find)(std::string_view)) {
  return expr.kind == syntax::ExprKind::kCall ? find(As<syntax::Call>(expr).name) : nullptr;
}

// The map that is the first argument of a call and is meant as a whole, or null.
const syntax::Map* WholeMap(const syntax::Call& call) {
  if (call.arguments.empty() || call.arguments[0].value->kind != syntax::ExprKind::kMap)
    return nullptr;
  const auto& map = As<syntax::Map>(*call.arguments[0].value);
  return map.keys.empty() ? &map : nullptr;
}

}  // namespace

const Row* FindRow(std::string_view name);

int NumberedArgument(std::string_view name) {
  constexpr std::string_view kPrefix = "arg";
  if (!name.starts_with(kPrefix) || name.size() < 4 || name.size() > 5) return -1;
  int number = 0;
  for (char c : name.substr(kPrefix.size())) {
    if (c < '0' || c > '9') return -1;
    number = number * 10 + (c - '0');
  }
  return number;
}

void ForEachExpr(const syntax::Expr& expr, const Visit& visit) {
  visit(expr);
  switch (expr.kind) {
    case syntax::ExprKind::kInteger:
    case syntax::ExprKind::kString:
    case syntax::ExprKind::kBool:
    case syntax::ExprKind::kName:
    case syntax::ExprKind::kVariable:
    case syntax::ExprKind::kPositional:
    case syntax::ExprKind::kPositionalCount:
    case syntax::ExprKind::kOffsetof:
    case syntax::ExprKind::kError:
      return;
    case syntax::ExprKind::kMap:
      return VisitAll(As<syntax::Map>(expr).keys, visit);
    case syntax::ExprKind::kUnary:
      return ForEachExpr(*As<syntax::Unary>(expr).operand, visit);
    case syntax::ExprKind::kBinary:
      ForEachExpr(*As<syntax::Binary>(expr).left, visit);
      return ForEachExpr(*As<syntax::Binary>(expr).right, visit);
    case syntax::ExprKind::kConditional:
      ForEachExpr(*As<syntax::Conditional>(expr).condition, visit);
      VisitIf(As<syntax::Conditional>(expr).then, visit);
      return ForEachExpr(*As<syntax::Conditional>(expr).otherwise, visit);
    case syntax::ExprKind::kCall:
      for (const syntax::Argument& argument : As<syntax::Call>(expr).arguments) {
        ForEachExpr(*argument.value, visit);
      }
      return;
    case syntax::ExprKind::kMember:
      return ForEachExpr(*As<syntax::Member>(expr).object, visit);
    case syntax::ExprKind::kIndex:
      ForEachExpr(*As<syntax::Index>(expr).object, visit);
      return ForEachExpr(*As<syntax::Index>(expr).index, visit);
    case syntax::ExprKind::kCast:
      return ForEachExpr(*As<syntax::Cast>(expr).operand, visit);
    case syntax::ExprKind::kTuple:
      return VisitAll(As<syntax::Tuple>(expr).elements, visit);
    case syntax::ExprKind::kRecord:
      for (const syntax::Argument& element : As<syntax::Record>(expr).elements) {
        ForEachExpr(*element.value, visit);
      }
      return;
    case syntax::ExprKind::kSizeof:
      return VisitIf(As<syntax::Sizeof>(expr).operand, visit);
    case syntax::ExprKind::kIncrement:
      return ForEachExpr(*As<syntax::Increment>(expr).target, visit);
    case syntax::ExprKind::kHas:
      return VisitIf(As<syntax::Has>(expr).field, visit);
    case syntax::ExprKind::kUnit:
      return ForEachExpr(*As<syntax::UnitCast>(expr).operand, visit);
    case syntax::ExprKind::kIn:
      ForEachExpr(*As<syntax::In>(expr).value, visit);
      ForEachExpr(*As<syntax::In>(expr).begin, visit);
      return ForEachExpr(*As<syntax::In>(expr).end, visit);
  }
}

void ForEachExpr(const syntax::Stmt& stmt, const Visit& visit) {
  switch (stmt.kind) {
    case syntax::StmtKind::kExpression:
      return ForEachExpr(*As<syntax::ExpressionStmt>(stmt).expr, visit);
    case syntax::StmtKind::kAssign:
      ForEachExpr(*As<syntax::Assign>(stmt).target, visit);
      return ForEachExpr(*As<syntax::Assign>(stmt).value, visit);
    case syntax::StmtKind::kLet:
      return VisitIf(As<syntax::Let>(stmt).value, visit);
    case syntax::StmtKind::kBlock:
      for (const syntax::Stmt* inner : As<syntax::Block>(stmt).statements)
        ForEachExpr(*inner, visit);
      return;
    case syntax::StmtKind::kIf:
      ForEachExpr(*As<syntax::If>(stmt).condition, visit);
      VisitIf(As<syntax::If>(stmt).then, visit);
      return VisitIf(As<syntax::If>(stmt).otherwise, visit);
    case syntax::StmtKind::kWhile:
      ForEachExpr(*As<syntax::While>(stmt).condition, visit);
      return VisitIf(As<syntax::While>(stmt).body, visit);
    case syntax::StmtKind::kForRange:
      ForEachExpr(*As<syntax::ForRange>(stmt).begin, visit);
      ForEachExpr(*As<syntax::ForRange>(stmt).end, visit);
      return VisitIf(As<syntax::ForRange>(stmt).body, visit);
    case syntax::StmtKind::kForMap:
      return VisitIf(As<syntax::ForMap>(stmt).body, visit);
    case syntax::StmtKind::kUnroll:
      ForEachExpr(*As<syntax::Unroll>(stmt).count, visit);
      return VisitIf(As<syntax::Unroll>(stmt).body, visit);
    case syntax::StmtKind::kBreak:
    case syntax::StmtKind::kContinue:
      return;
    case syntax::StmtKind::kReturn:
      return VisitIf(As<syntax::Return>(stmt).value, visit);
  }
}

probes::Usage UsageOf(const syntax::Clause& clause) {
  probes::Usage usage;
  auto is_row = [](const Row* row, Function function) {
    return row == &Rows()[static_cast<size_t>(function)];
  };
  auto visit = [&](const syntax::Expr& expr) {
    if (expr.kind == syntax::ExprKind::kMember && IsArgs(*As<syntax::Member>(expr).object)) {
      usage.args = true;
      usage.fields.insert(As<syntax::Member>(expr).name);
    } else if (expr.kind == syntax::ExprKind::kName) {
      const std::string& name = As<syntax::Name>(expr).name;
      if (int number = NumberedArgument(name); number >= 0) {
        usage.args = true;
        usage.numbered.insert(static_cast<uint32_t>(number));
      }
      const Row* row = FindRow(name);
      usage.probe_name |= is_row(row, Function::kProbe);
      usage.retval |= is_row(row, Function::kRetval);
      usage.registers |= is_row(row, Function::kCtx);
    }
  };
  if (clause.predicate != nullptr) ForEachExpr(*clause.predicate, visit);
  if (clause.body != nullptr) ForEachExpr(*clause.body, visit);
  return usage;
}

namespace {

// Maps that a statement of a block clears as a whole.
void CollectCleared(const syntax::Stmt& stmt, std::set<std::string>& cleared) {
  if (stmt.kind != syntax::StmtKind::kExpression) return;
  const syntax::Expr& expr = *As<syntax::ExpressionStmt>(stmt).expr;
  const Row* row = CalledRow(expr, FindRow);
  if (row == nullptr || (row->function != Function::kClear && row->function != Function::kZero))
    return;
  if (const syntax::Map* map = WholeMap(As<syntax::Call>(expr))) cleared.insert(map->name);
}

// Maps whose values a statement shows or computes with: those it assigns to are not among them.
void CollectRead(const syntax::Stmt& stmt, std::set<std::string>& read) {
  std::set<const syntax::Expr*> not_read;
  ForEachExpr(stmt, [&](const syntax::Expr& expr) {
    const Row* row = CalledRow(expr, FindRow);
    bool is_clear =
        row != nullptr && (row->function == Function::kClear || row->function == Function::kZero ||
                           row->function == Function::kDelete);
    if (is_clear && !As<syntax::Call>(expr).arguments.empty()) {
      not_read.insert(As<syntax::Call>(expr).arguments[0].value);
    }
    if (expr.kind == syntax::ExprKind::kIncrement)
      not_read.insert(As<syntax::Increment>(expr).target);
    if (expr.kind == syntax::ExprKind::kMap && !not_read.contains(&expr)) {
      read.insert(As<syntax::Map>(expr).name);
    }
  });
}

void CollectAssigned(const syntax::Stmt& stmt, std::set<std::string>& assigned) {
  if (stmt.kind == syntax::StmtKind::kAssign &&
      As<syntax::Assign>(stmt).target->kind == syntax::ExprKind::kMap) {
    assigned.insert(As<syntax::Map>(*As<syntax::Assign>(stmt).target).name);
  }
}

void FindSwapsIn(const syntax::Stmt* stmt, SwapPlan& swaps) {
  if (stmt == nullptr) return;
  switch (stmt->kind) {
    case syntax::StmtKind::kBlock:
      return FindSwaps(As<syntax::Block>(*stmt), swaps);
    case syntax::StmtKind::kIf:
      FindSwapsIn(As<syntax::If>(*stmt).then, swaps);
      return FindSwapsIn(As<syntax::If>(*stmt).otherwise, swaps);
    case syntax::StmtKind::kWhile:
      return FindSwapsIn(As<syntax::While>(*stmt).body, swaps);
    case syntax::StmtKind::kForRange:
      return FindSwapsIn(As<syntax::ForRange>(*stmt).body, swaps);
    case syntax::StmtKind::kForMap:
      return FindSwapsIn(As<syntax::ForMap>(*stmt).body, swaps);
    case syntax::StmtKind::kUnroll:
      return FindSwapsIn(As<syntax::Unroll>(*stmt).body, swaps);
    case syntax::StmtKind::kExpression:
    case syntax::StmtKind::kAssign:
    case syntax::StmtKind::kLet:
    case syntax::StmtKind::kBreak:
    case syntax::StmtKind::kContinue:
    case syntax::StmtKind::kReturn:
      return;
  }
}

}  // namespace

void FindSwaps(const syntax::Block& block, SwapPlan& swaps) {
  std::set<std::string> cleared, read, assigned;
  for (const syntax::Stmt* stmt : block.statements) {
    CollectCleared(*stmt, cleared);
    if (stmt->kind == syntax::StmtKind::kForMap) read.insert(As<syntax::ForMap>(*stmt).map);
    CollectAssigned(*stmt, assigned);
    if (stmt->kind != syntax::StmtKind::kAssign) {
      CollectRead(*stmt, read);
    } else {
      ForEachExpr(*As<syntax::Assign>(*stmt).value, [&](const syntax::Expr& expr) {
        if (expr.kind == syntax::ExprKind::kMap) read.insert(As<syntax::Map>(expr).name);
      });
    }
  }
  for (const std::string& name : cleared) {
    if (read.contains(name)) swaps[&block].insert(name);
  }
  for (const syntax::Stmt* stmt : block.statements) FindSwapsIn(stmt, swaps);
}

}  // namespace memtrace::sema
