// Expressions. Precedence is C's; between comparisons and shifts stands `??`, beside the
// comparisons `x in a .. b`, and `as` binds like a cast.
#include <algorithm>
#include <charconv>

#include "compiler/syntax/literal.h"
#include "compiler/syntax/parser_impl.h"

namespace memtrace::syntax {
namespace {

constexpr int kInPrecedence = 7;
constexpr OperatorRow kOperators[] = {
    {TokenKind::kOrOr, BinaryOp::kOr, 1},          {TokenKind::kAndAnd, BinaryOp::kAnd, 2},
    {TokenKind::kPipe, BinaryOp::kBitOr, 3},       {TokenKind::kCaret, BinaryOp::kBitXor, 4},
    {TokenKind::kAmpersand, BinaryOp::kBitAnd, 5}, {TokenKind::kEqual, BinaryOp::kEq, 6},
    {TokenKind::kNotEqual, BinaryOp::kNe, 6},      {TokenKind::kLess, BinaryOp::kLt, 7},
    {TokenKind::kLessEqual, BinaryOp::kLe, 7},     {TokenKind::kGreater, BinaryOp::kGt, 7},
    {TokenKind::kGreaterEqual, BinaryOp::kGe, 7},  {TokenKind::kCoalesce, BinaryOp::kCoalesce, 8},
    {TokenKind::kShiftLeft, BinaryOp::kShl, 9},    {TokenKind::kShiftRight, BinaryOp::kShr, 9},
    {TokenKind::kPlus, BinaryOp::kAdd, 10},        {TokenKind::kMinus, BinaryOp::kSub, 10},
    {TokenKind::kStar, BinaryOp::kMul, 11},        {TokenKind::kSlash, BinaryOp::kDiv, 11},
    {TokenKind::kPercent, BinaryOp::kMod, 11},
};

struct CompoundRow {
  TokenKind token;
  BinaryOp op;
};
constexpr CompoundRow kCompounds[] = {
    {TokenKind::kPlusAssign, BinaryOp::kAdd},      {TokenKind::kMinusAssign, BinaryOp::kSub},
    {TokenKind::kStarAssign, BinaryOp::kMul},      {TokenKind::kSlashAssign, BinaryOp::kDiv},
    {TokenKind::kPercentAssign, BinaryOp::kMod},   {TokenKind::kAmpersandAssign, BinaryOp::kBitAnd},
    {TokenKind::kPipeAssign, BinaryOp::kBitOr},    {TokenKind::kCaretAssign, BinaryOp::kBitXor},
    {TokenKind::kShiftLeftAssign, BinaryOp::kShl}, {TokenKind::kShiftRightAssign, BinaryOp::kShr},
};

const UnaryOp* FindUnary(TokenKind kind) {
  struct Row {
    TokenKind token;
    UnaryOp op;
  };
  static constexpr Row kRows[] = {
      {TokenKind::kNot, UnaryOp::kNot},          {TokenKind::kTilde, UnaryOp::kBitNot},
      {TokenKind::kMinus, UnaryOp::kMinus},      {TokenKind::kPlus, UnaryOp::kPlus},
      {TokenKind::kStar, UnaryOp::kDereference}, {TokenKind::kAmpersand, UnaryOp::kAddressOf},
  };
  for (const Row& row : kRows) {
    if (row.token == kind) return &row.op;
  }
  return nullptr;
}

struct UnitRow {
  std::string_view word;
  UnitName unit;
};
constexpr UnitRow kUnits[] = {
    {"bytes", UnitName::kBytes}, {"pages", UnitName::kPages}, {"ns", UnitName::kNanoseconds}};

// What a member may be called: names, and words that are keywords elsewhere.
bool IsMemberName(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace

const OperatorRow* FindOperator(TokenKind kind) {
  for (const OperatorRow& row : kOperators) {
    if (row.token == kind) return &row;
  }
  return nullptr;
}

const BinaryOp* FindCompound(TokenKind kind) {
  for (const CompoundRow& row : kCompounds) {
    if (row.token == kind) return &row.op;
  }
  return nullptr;
}

Expr* Parser::ParseExpr() {
  const Level level(*this);
  if (!level.ok) return ErrorNode(Peek().span);
  Expr* expr = ParseBinary(0);
  return At(TokenKind::kQuestion) && !lost_ ? ParseConditional(expr) : expr;
}

Expr* Parser::ParseConditional(Expr* condition) {
  Take();
  Expr* then = At(TokenKind::kColon) ? nullptr : ParseExpr();
  if (lost_ || !Expect(TokenKind::kColon, "`:` of the `?` before"))
    return ErrorNode(condition->span);
  Expr* otherwise = ParseExpr();
  const Span span = condition->span.To(otherwise->span);
  return Bounded(New<Conditional>(Expr{ExprKind::kConditional, span}, condition, then, otherwise),
                 {condition, then, otherwise});
}

Expr* Parser::ParseBinary(int min_precedence) {
  Expr* left = ParseUnit();
  while (!lost_) {
    if (AtWord("in") && min_precedence <= kInPrecedence) {
      left = ParseIn(left);
      continue;
    }
    const OperatorRow* row = FindOperator(Peek().kind);
    if (row == nullptr || row->precedence < min_precedence) break;
    const Token op = Take();
    Expr* right = ParseBinary(row->precedence + 1);
    const Span span = left->span.To(right->span);
    left = Bounded(New<Binary>(Expr{ExprKind::kBinary, span}, row->op, op.span, left, right),
                   {left, right});
  }
  return left;
}

// value in begin .. end
Expr* Parser::ParseIn(Expr* value) {
  Take();
  Expr* begin = ParseBinary(kRangePrecedence);
  if (lost_ || !Expect(TokenKind::kDotDot, "`..` of the range")) return ErrorNode(value->span);
  Expr* end = ParseBinary(kRangePrecedence);
  const Span span = value->span.To(end->span);
  return Bounded(New<In>(Expr{ExprKind::kIn, span}, value, begin, end), {value, begin, end});
}

// operand as unit
Expr* Parser::ParseUnit() {
  Expr* operand = ParseUnary();
  while (!lost_ && AtWord("as")) {
    Take();
    const Token word = Peek();
    const auto* row = std::find_if(std::begin(kUnits), std::end(kUnits),
                                   [&](const UnitRow& unit) { return IsWord(word, unit.word); });
    if (row == std::end(kUnits)) {
      Fail(Code::kUnknownUnit, word.span, "expected a unit behind `as`, found " + Found())
          .Note("units are bytes, pages and ns; a value prints in the size that fits");
      return ErrorNode(operand->span);
    }
    Take();
    const Span span = operand->span.To(word.span);
    operand = Bounded(New<UnitCast>(Expr{ExprKind::kUnit, span}, operand, row->unit), {operand});
  }
  return operand;
}

Expr* Parser::ParseUnary() {
  const Token first = Peek();
  const UnaryOp* op = FindUnary(first.kind);
  const bool increment = first.kind == TokenKind::kPlusPlus || first.kind == TokenKind::kMinusMinus;
  const bool cast = first.kind == TokenKind::kLeftParen && AtCast();
  if (op == nullptr && !increment && !cast) return ParsePostfix(ParsePrimary());
  const Level level(*this);
  if (!level.ok) return ErrorNode(first.span);
  if (cast) return ParseCast();
  if (increment) return ParsePrefixIncrement();
  Take();
  Expr* operand = ParseUnary();
  const Span span = first.span.To(operand->span);
  return Bounded(New<Unary>(Expr{ExprKind::kUnary, span}, *op, operand), {operand});
}

Expr* Parser::ParsePrefixIncrement() {
  const Token op = Take();
  Expr* target = ParseUnary();
  if (lost_) return target;
  if (target->kind != ExprKind::kVariable && target->kind != ExprKind::kMap) {
    Complain(Code::kNotAssignable, target->span,
             "only a variable or a map can be counted " +
                 std::string(op.kind == TokenKind::kPlusPlus ? "up" : "down"));
    return ErrorNode(target->span);
  }
  const Span span = op.span.To(target->span);
  return Bounded(New<Increment>(Expr{ExprKind::kIncrement, span}, target,
                                op.kind == TokenKind::kPlusPlus, true),
                 {target});
}

// (type)operand
Expr* Parser::ParseCast() {
  const Token open = Take();
  TypeName type = ParseType();
  if (lost_ || !ExpectClose(TokenKind::kRightParen, open)) return ErrorNode(open.span);
  Expr* operand = ParseUnary();
  const Span span = open.span.To(operand->span);
  return Bounded(New<Cast>(Expr{ExprKind::kCast, span}, std::move(type), operand), {operand});
}

Expr* Parser::ParsePostfix(Expr* expr) {
  while (!lost_) {
    const Token token = Peek();
    switch (token.kind) {
      case TokenKind::kDot:
      case TokenKind::kArrow:
        expr = ParseMember(expr);
        break;
      case TokenKind::kLeftBracket: {
        Take();
        Expr* index = ParseExpr();
        if (lost_ || !ExpectClose(TokenKind::kRightBracket, token)) return ErrorNode(expr->span);
        const Span span = From(expr->span);
        expr = Bounded(New<Index>(Expr{ExprKind::kIndex, span}, expr, index), {expr, index});
        break;
      }
      case TokenKind::kPlusPlus:
      case TokenKind::kMinusMinus: {
        if (expr->kind != ExprKind::kVariable && expr->kind != ExprKind::kMap) return expr;
        Take();
        const Span span = From(expr->span);
        expr = Bounded(New<Increment>(Expr{ExprKind::kIncrement, span}, expr,
                                      token.kind == TokenKind::kPlusPlus, false),
                       {expr});
        break;
      }
      default:
        return expr;
    }
  }
  return expr;
}

// object.name, object->name, tuple.0
Expr* Parser::ParseMember(Expr* object) {
  const Token dot = Take();
  const Token name = Peek();
  if (!IsMemberName(Text(name))) {
    Fail(Code::kExpectedToken, name.span,
         "expected the name of a member behind `" + std::string(Spelling(dot.kind)) + "`, found " +
             Found());
    return ErrorNode(object->span);
  }
  Take();
  const Span span = object->span.To(name.span);
  return Bounded(New<Member>(Expr{ExprKind::kMember, span}, object, std::string(Text(name)),
                             name.span, dot.kind == TokenKind::kArrow),
                 {object});
}

Expr* Parser::RejectAssignment(Expr* left) {
  const Token op = Take();
  Complain(Code::kAssignmentInExpression, op.span, "`=` assigns, and this is an expression")
      .Hint("did you mean `==`?");
  Expr* right = ParseExpr();
  const Span span = left->span.To(right->span);
  return Bounded(New<Binary>(Expr{ExprKind::kBinary, span}, BinaryOp::kEq, op.span, left, right),
                 {left, right});
}

}  // namespace memtrace::syntax
