// Statements.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/sema/checker.h"

namespace memtrace::sema {

using diag::Code;
using syntax::BinaryOp;
using types::Kind;

namespace {

// Copies of a body that are written out; more would be a program that the verifier takes seconds
// for.
constexpr int64_t kMaxUnroll = 100;
// And of unrolls within each other: each copy costs time to compile and verify.
constexpr int64_t kMaxUnrolled = 4096;

template <typename T>
const T& As(const syntax::Stmt& stmt) {
  return static_cast<const T&>(stmt);
}

}  // namespace

Block* Checker::CheckBlock(const syntax::Block& block) {
  auto* node = NewStmt<Block>(StmtKind::kBlock, block.span);
  std::set<Id> closed_outside = closed_;
  if (auto swaps = swaps_.find(&block); swaps != swaps_.end()) {
    for (const std::string& name : swaps->second) {
      Id id = MapNamed(name, block.span);
      closed_.insert(id);
      maps_[id].is_swapped = true;
      auto& list = program_->swaps;
      if (std::find(list.begin(), list.end(), id) == list.end()) list.push_back(id);
    }
  }
  scopes_.emplace_back();
  for (const syntax::Stmt* stmt : block.statements) {
    if (Stmt* checked = CheckStmt(*stmt)) node->statements.push_back(checked);
  }
  scopes_.pop_back();
  closed_ = std::move(closed_outside);
  return node;
}

Stmt* Checker::CheckStmt(const syntax::Stmt& stmt) {
  switch (stmt.kind) {
    case syntax::StmtKind::kExpression:
      return CheckExpressionStmt(As<syntax::ExpressionStmt>(stmt));
    case syntax::StmtKind::kAssign:
      return CheckAssign(As<syntax::Assign>(stmt));
    case syntax::StmtKind::kLet:
      return CheckLet(As<syntax::Let>(stmt));
    case syntax::StmtKind::kBlock:
      return CheckBlock(As<syntax::Block>(stmt));
    case syntax::StmtKind::kIf:
      return CheckIf(As<syntax::If>(stmt));
    case syntax::StmtKind::kWhile:
      return CheckWhile(As<syntax::While>(stmt));
    case syntax::StmtKind::kForRange:
      return CheckForRange(As<syntax::ForRange>(stmt));
    case syntax::StmtKind::kForMap:
      return CheckForMap(As<syntax::ForMap>(stmt));
    case syntax::StmtKind::kUnroll:
      return CheckUnroll(As<syntax::Unroll>(stmt));
    case syntax::StmtKind::kBreak:
    case syntax::StmtKind::kContinue: {
      bool is_break = stmt.kind == syntax::StmtKind::kBreak;
      if (loop_depth_ == 0) {
        Error(Code::kOutsideLoop, stmt.span,
              is_break ? "break outside of a loop" : "continue outside of a loop");
      }
      return NewStmt<Stmt>(is_break ? StmtKind::kBreak : StmtKind::kContinue, stmt.span);
    }
    case syntax::StmtKind::kReturn:
      if (As<syntax::Return>(stmt).value != nullptr) {
        Error(Code::kReturnValue, stmt.span, "a clause returns no value")
            .Note("`return;` ends the clause, exit() the session");
      }
      return NewStmt<Return>(StmtKind::kReturn, stmt.span);
  }
  return nullptr;
}

Stmt* Checker::CheckExpressionStmt(const syntax::ExpressionStmt& stmt) {
  Expr* expr = CheckExpr(*stmt.expr);
  bool does_something = expr->kind == ExprKind::kCall || expr->kind == ExprKind::kIncrement;
  if (!does_something && !expr->type.IsError()) {
    auto builder = Warning(Code::kNoEffect, stmt.span, "this has no effect");
    if (stmt.expr->kind == syntax::ExprKind::kMap) {
      builder.Note(
          fmt::format("print({}) prints it", static_cast<const syntax::Map&>(*stmt.expr).name));
    }
  }
  auto* node = NewStmt<ExpressionStmt>(StmtKind::kExpression, stmt.span);
  node->expr = expr;
  return node;
}

Stmt* Checker::CheckAssign(const syntax::Assign& assign) {
  if (assign.target->kind == syntax::ExprKind::kMap) {
    const auto& map = static_cast<const syntax::Map&>(*assign.target);
    if (!assign.compound && AggregationOf(*assign.value) != nullptr)
      return AggregateInto(assign, map);
    bool is_addition = assign.op == BinaryOp::kAdd || assign.op == BinaryOp::kSub;
    if (assign.compound && is_addition) return AddToMap(assign, map);
    return AssignToMap(assign, map);
  }
  if (assign.target->kind == syntax::ExprKind::kVariable) {
    return AssignToVariable(assign, static_cast<const syntax::Variable&>(*assign.target));
  }
  return nullptr;  // the parser lets nothing else through
}

Stmt* Checker::AssignToVariable(const syntax::Assign& assign, const syntax::Variable& target) {
  Expr* value;
  if (assign.compound) {
    Expr* before = CheckVariable(target);
    Expr* operand = CheckValue(*assign.value);
    value = CheckArithmetic(assign.span, assign.op, before, operand);
  } else {
    value = CheckValue(*assign.value);
  }
  if (value->type.IsStruct()) {
    if (Expr* integer = AsInteger(value)) value = integer;
  }
  Local* local = FindLocal(target.name);
  if (local == nullptr) {
    if (assign.compound) return nullptr;  // reported as not set
    local = &Declare(target.name, &assign, false);
  }
  if (!StoreInVariable(*local, target.name, *value)) return nullptr;
  auto* node = NewStmt<AssignVariable>(StmtKind::kAssignVariable, assign.span);
  node->variable = local->id;
  node->value = local->inferred->type ? Convert(value, local->inferred->type) : value;
  return node;
}

Stmt* Checker::CheckLet(const syntax::Let& let) {
  Expr* value = let.value != nullptr ? CheckValue(*let.value) : nullptr;
  if (auto found = scopes_.back().find(let.name); found != scopes_.back().end()) {
    Error(Code::kRedeclared, let.name_span,
          fmt::format("{} is declared twice in this block", let.name));
  }
  Local& local = Declare(let.name, &let, true);
  if (let.has_type && !local.inferred->is_declared) {
    Type type = TypeNamed(let.type);
    *local.inferred = {.type = type, .first = let.type.span, .is_declared = true};
    program_->variables[local.id].type = type;
    changed_ = true;
  } else if (let.has_type) {
    TypeNamed(let.type);  // reports an unknown type in the walk that reports
  }
  if (value == nullptr) {
    // Declared without a value: zero.
    local.is_set = let.has_type;
    return nullptr;
  }
  if (!StoreInVariable(local, let.name, *value)) return nullptr;
  auto* node = NewStmt<AssignVariable>(StmtKind::kAssignVariable, let.span);
  node->variable = local.id;
  node->value = local.inferred->type ? Convert(value, local.inferred->type) : value;
  return node;
}

Stmt* Checker::AggregateInto(const syntax::Assign& assign, const syntax::Map& target) {
  MapPlace place = CheckPlace(target);
  place.closed_window = false;
  Expr* checked = CallAggregation(static_cast<const syntax::Call&>(*assign.value));
  bool is_literal = false;
  Call* call = nullptr;
  if (!checked->type.IsError()) {
    call = static_cast<Call*>(checked);
    is_literal = !call->arguments.empty() && IsLiteral(*call->arguments[0]);
  }
  StoreIn(place.map, checked->type, is_literal, assign.value->span);
  if (call == nullptr) return nullptr;
  auto* node = NewStmt<Aggregate>(StmtKind::kAggregate, assign.span);
  node->function = call->function;
  node->value = call->arguments.empty() ? nullptr : call->arguments[0];
  Type held = maps_[place.map].value.type;
  if (node->value != nullptr && held && held.Is(Kind::kAggregation)) {
    node->value = Convert(node->value, held->target);
  }
  node->place = std::move(place);
  return node;
}

Stmt* Checker::AddToMap(const syntax::Assign& assign, const syntax::Map& target) {
  MapPlace place = CheckPlace(target);
  place.closed_window = false;
  Expr* value = CheckInteger(*assign.value, fmt::format("what is added to {}", target.name));
  Type held = maps_[place.map].value.type;
  if (!held || held.Is(Kind::kInt) || held.Is(Kind::kBool) || held.Is(Kind::kEnum)) {
    // A bool or an enum that is added to is a number from then on.
    StoreIn(place.map,
            value->type.IsInteger() ? types().Int(8, value->type->is_signed, value->type->unit)
                                    : value->type,
            IsLiteral(*value), assign.value->span);
    held = maps_[place.map].value.type;
  }
  if (value->type.IsError() || !held) return nullptr;
  if (!held.Is(Kind::kInt)) {
    ReportNotNumber(place.map, assign.span, "added to");
    return nullptr;
  }
  auto* node = NewStmt<AddMap>(StmtKind::kAddMap, assign.span);
  node->value = Convert(value, held);
  if (assign.op == BinaryOp::kSub) {
    if (node->value->kind == ExprKind::kConstant) {
      node->value = ConstantOf(value->span, held, -static_cast<Constant*>(node->value)->bits);
    } else {
      auto* negated = New<Unary>(ExprKind::kUnary, value->span, held);
      negated->op = syntax::UnaryOp::kMinus;
      negated->operand = node->value;
      node->value = negated;
    }
  }
  node->place = std::move(place);
  return node;
}

Stmt* Checker::AssignToMap(const syntax::Assign& assign, const syntax::Map& target) {
  MapPlace place = CheckPlace(target);
  place.closed_window = false;
  Expr* value = CheckValue(*assign.value);
  if (assign.compound) {
    MapPlace read = place;
    Expr* before = ReadMap(target.span, std::move(read));
    value = CheckArithmetic(assign.span, assign.op, before, value);
  }
  if (value->type.IsStruct()) {
    if (Expr* integer = AsInteger(value)) value = integer;
  }
  StoreIn(place.map, value->type, IsLiteral(*value), assign.value->span);
  Type held = maps_[place.map].value.type;
  auto* node = NewStmt<AssignMap>(StmtKind::kAssignMap, assign.span);
  bool fits = held && Unify(held, false, value->type, IsLiteral(*value), types());
  node->value = fits ? Convert(value, held) : value;
  node->place = std::move(place);
  return node;
}

Stmt* Checker::CheckIf(const syntax::If& stmt) {
  if (std::optional<bool> decided = Decide(*stmt.condition)) {
    if (*decided) return CheckBlock(*stmt.then);
    if (stmt.otherwise != nullptr) return CheckStmt(*stmt.otherwise);
    return NewStmt<Block>(StmtKind::kBlock, stmt.span);
  }
  auto* node = NewStmt<If>(StmtKind::kIf, stmt.span);
  node->condition = CheckCondition(*stmt.condition);
  node->then = CheckBlock(*stmt.then);
  node->otherwise = stmt.otherwise != nullptr ? CheckStmt(*stmt.otherwise) : nullptr;
  return node;
}

Stmt* Checker::CheckWhile(const syntax::While& stmt) {
  auto* node = NewStmt<While>(StmtKind::kWhile, stmt.span);
  node->condition = CheckCondition(*stmt.condition);
  node->body = CheckLoopBody(stmt.span, *stmt.body);
  return node;
}

// Every loop is a function that the kernel calls, and calls nest that deep (MAX_CALL_FRAMES in
// include/linux/bpf_verifier.h, less the program itself).
Block* Checker::CheckLoopBody(Span loop, const syntax::Block& body) {
  constexpr int kMaxLoopDepth = 7;
  if (loop_depth_ == kMaxLoopDepth) {
    Error(Code::kOutOfRange, loop, fmt::format("loops nest {} deep at most", kMaxLoopDepth));
  }
  ++loop_depth_;
  Block* block = CheckBlock(body);
  --loop_depth_;
  return block;
}

// The body of a `for` whose variable has `type`. `Loop` is a ForRange or a ForMap.
template <typename Syntax, typename Loop>
void Checker::CheckLoopOver(const Syntax& stmt, Type type, Loop& node) {
  scopes_.emplace_back();
  Local& local = Declare(stmt.variable, &stmt, true);
  if (type != local.inferred->type && !type.IsError()) changed_ = true;
  *local.inferred = {.type = type, .first = stmt.variable_span, .is_declared = true};
  local.is_set = true;
  program_->variables[local.id].type = type;
  node.variable = local.id;
  node.body = CheckLoopBody(stmt.span, *stmt.body);
  scopes_.pop_back();
}

Stmt* Checker::CheckForRange(const syntax::ForRange& stmt) {
  auto* node = NewStmt<ForRange>(StmtKind::kForRange, stmt.span);
  Type number = types().Int64();
  node->begin = Convert(CheckInteger(*stmt.begin, "the begin of a range"), number);
  node->end = Convert(CheckInteger(*stmt.end, "the end of a range"), number);
  CheckLoopOver(stmt, number, *node);
  return node;
}

Stmt* Checker::CheckForMap(const syntax::ForMap& stmt) {
  auto* node = NewStmt<ForMap>(StmtKind::kForMap, stmt.span);
  node->map = MapNamed(stmt.map, stmt.map_span);
  node->closed_window = IsClosedWindow(node->map);
  const MapState& map = maps_[node->map];
  if (map.keys_known && map.keys.empty()) {
    Error(Code::kKeyMismatch, stmt.map_span, fmt::format("{} has no keys to go through", map.name))
        .Label(map.keys_span, "used here without a key");
  }
  Type type = types().Error();
  Type value = ReadType(node->map);
  if (map.value.type && !map.value.type.IsError() && !value) {
    Error(Code::kNotNumber, stmt.map_span,
          fmt::format("{} holds {}, which is no single value", map.name, map.value.type.Name()))
        .Note(fmt::format("print({}) prints it", map.name));
  } else if (value && map.keys_known && !map.keys.empty()) {
    std::vector<Type> keys;
    for (const Inferred& key : map.keys) {
      if (key.type) keys.push_back(key.type);
    }
    if (keys.size() == map.keys.size()) {
      type = types().Tuple({keys.size() == 1 ? keys[0] : types().Tuple(keys), value});
    }
  }
  CheckLoopOver(stmt, type, *node);
  return node;
}

Stmt* Checker::CheckUnroll(const syntax::Unroll& stmt) {
  auto* node = NewStmt<Unroll>(StmtKind::kUnroll, stmt.span);
  int64_t count = 0;
  CheckConstant(*stmt.count, "the count of unroll", 1, kMaxUnroll, count);
  node->count = static_cast<uint32_t>(count);
  unrolled_ *= std::max<int64_t>(count, 1);
  if (unrolled_ > kMaxUnrolled) {
    Error(Code::kOutOfRange, stmt.span,
          fmt::format("the body of these unrolls is written {} times, at most {}", unrolled_,
                      kMaxUnrolled))
        .Note("for ($i : 0..n) { … } repeats without writing it again");
  }
  // A break would have to leave all copies: a loop does that.
  ++loop_depth_;
  node->body = CheckBlock(*stmt.body);
  --loop_depth_;
  unrolled_ /= std::max<int64_t>(count, 1);
  return node;
}

}  // namespace memtrace::sema
