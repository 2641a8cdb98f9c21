// Statements and blocks.
#include <algorithm>

#include "compiler/syntax/parser_impl.h"

namespace memtrace::syntax {
namespace {

constexpr std::string_view kForeignElse[] = {"elif", "elsif", "elseif"};

}  // namespace

Block* Parser::ParseBlock() {
  const Token open = Take();
  Block* block = NewBlock(open.span);
  while (!At(TokenKind::kRightBrace) && !AtOutside()) {
    const size_t before = index_;
    if (Stmt* stmt = ParseStatement()) block->statements.push_back(stmt);
    if (lost_) Recover();
    if (index_ == before) Take();
  }
  const bool swallowed = At(TokenKind::kEnd) && RestWasSwallowed();
  if (!Accept(TokenKind::kRightBrace) && !brace_reported_ && !swallowed) {
    // Only the innermost of several open blocks is reported.
    Complain(Code::kUnclosed, After(), "`{` is not closed")
        .Hint("`}` is missing")
        .Label(open.span, "opened here");
    brace_reported_ = true;
  }
  block->span = From(open.span);
  return block;
}

// The body of an if, loop, …: a block, or reported and one statement.
Block* Parser::ParseBody(std::string_view owner) {
  if (At(TokenKind::kLeftBrace)) return ParseBlock();
  Complain(Code::kMissingBraces, Peek().span,
           "expected `{` behind `" + std::string(owner) + "`, found " + Found())
      .Note("bodies stand in braces, also when they are a single statement");
  Block* block = NewBlock(Peek().span);
  if (lost_ || At(TokenKind::kRightBrace) || AtOutside()) return block;
  if (Stmt* stmt = ParseStatement()) block->statements.push_back(stmt);
  block->span = From(block->span);
  return block;
}

// Null for a lone `;` and where nothing of the statement is worth keeping.
Stmt* Parser::ParseStatement() {
  const Level level(*this);
  if (!level.ok) return nullptr;
  const Token first = Peek();
  switch (first.kind) {
    case TokenKind::kSemicolon:
      Take();
      return nullptr;
    case TokenKind::kLeftBrace:
      return ParseBlock();
    case TokenKind::kIf:
      return ParseIf();
    case TokenKind::kWhile:
      return ParseWhile();
    case TokenKind::kFor:
      return ParseFor();
    case TokenKind::kUnroll:
      return ParseUnroll();
    case TokenKind::kLet:
      return ParseLet();
    case TokenKind::kReturn:
      return ParseReturn();
    case TokenKind::kBreak:
      Take();
      EndStatement();
      return New<Break>(Stmt{StmtKind::kBreak, first.span});
    case TokenKind::kContinue:
      Take();
      EndStatement();
      return New<Continue>(Stmt{StmtKind::kContinue, first.span});
    case TokenKind::kElse:
      Complain(Code::kBadElse, first.span, "`else` without an `if` before it");
      Take();
      return At(TokenKind::kIf) ? ParseIf() : ParseBody("else");
    default:
      return ParseSimple();
  }
}

Stmt* Parser::ParseSimple() {
  const Token first = Peek();
  Expr* expr = CallLacksParentheses() ? ParseCallWithoutParentheses(Take()) : ParseExpr();
  if (lost_) return nullptr;
  const bool assigns = At(TokenKind::kAssign) || FindCompound(Peek().kind) != nullptr;
  if (assigns) return ParseAssign(expr);
  EndStatement();
  return New<ExpressionStmt>(Stmt{StmtKind::kExpression, From(first.span)}, expr);
}

Stmt* Parser::ParseAssign(Expr* target) {
  const Token token = Take();
  if (target->kind != ExprKind::kVariable && target->kind != ExprKind::kMap) {
    Complain(Code::kNotAssignable, target->span, "only a variable or a map can be assigned to")
        .Label(token.span, "");
  }
  const BinaryOp* op = FindCompound(token.kind);
  Expr* value = ParseExpr();
  if (At(TokenKind::kAssign)) value = RejectAssignment(value);
  const Span span = target->span.To(value->span);
  EndStatement();
  return New<Assign>(Stmt{StmtKind::kAssign, span}, target, op != nullptr,
                     op != nullptr ? *op : BinaryOp::kAdd, token.span, value);
}

// let $x; let $x : type; let $x = value; let $x : type = value
Stmt* Parser::ParseLet() {
  const Token let = Take();
  const Token name = Peek();
  if (At(TokenKind::kMap)) {
    Fail(Code::kBadDeclaration, name.span, "a map is declared outside of clauses");
    return nullptr;
  }
  if (!Expect(TokenKind::kVariable, "a variable behind `let`")) return nullptr;
  Let* stmt = New<Let>(Stmt{StmtKind::kLet, let.span}, std::string(Text(name)), name.span, false,
                       TypeName{}, nullptr);
  if (Accept(TokenKind::kColon)) {
    stmt->has_type = true;
    stmt->type = ParseType();
  }
  if (!lost_ && Accept(TokenKind::kAssign)) stmt->value = ParseExpr();
  stmt->span = From(let.span);
  EndStatement();
  return stmt;
}

Stmt* Parser::ParseIf() {
  const Token first = Take();
  Expr* condition = ParseCondition();
  Block* then = lost_ ? NewBlock(first.span) : ParseBody("if");
  If* stmt = New<If>(Stmt{StmtKind::kIf, first.span}, condition, then, nullptr);
  if (!lost_) stmt->otherwise = ParseElse();
  stmt->span = From(first.span);
  return stmt;
}

// What follows the first body of an if: null when nothing does.
Stmt* Parser::ParseElse() {
  const Level level(*this);
  if (!level.ok) return nullptr;
  if (Accept(TokenKind::kElse)) return At(TokenKind::kIf) ? ParseIf() : ParseBody("else");
  for (std::string_view word : kForeignElse) {
    if (!AtWord(word)) continue;
    Complain(Code::kBadElse, Peek().span, "`" + std::string(word) + "` is not a keyword")
        .Hint("write `else if`");
    return ParseIf();
  }
  return nullptr;
}

Stmt* Parser::ParseWhile() {
  const Token first = Take();
  Expr* condition = ParseCondition();
  if (lost_) return nullptr;
  Block* body = ParseBody("while");
  return New<While>(Stmt{StmtKind::kWhile, From(first.span)}, condition, body);
}

// The condition of if and while. Parentheses that hold all of it are taken here, so that what
// follows them is never read as the operand of a cast: if (x) @y = 1;
Expr* Parser::ParseCondition() {
  if (!At(TokenKind::kLeftParen) || !ParenthesesAreWhole()) return ParseConditionExpr();
  const Token open = Take();
  Expr* condition = ParseConditionExpr();
  if (!lost_) ExpectClose(TokenKind::kRightParen, open);
  return condition;
}

Expr* Parser::ParseConditionExpr() {
  Expr* condition = ParseExpr();
  return At(TokenKind::kAssign) && !lost_ ? RejectAssignment(condition) : condition;
}

// Whether the parenthesis that closes the next one is the end of the condition.
bool Parser::ParenthesesAreWhole() const {
  size_t open = 0;
  for (size_t ahead = 0;; ++ahead) {
    switch (Peek(ahead).kind) {
      case TokenKind::kLeftParen:
        ++open;
        break;
      case TokenKind::kRightParen:
        --open;
        break;
      case TokenKind::kLeftBrace:
      case TokenKind::kRightBrace:
      case TokenKind::kSemicolon:
      case TokenKind::kEnd:
        return true;  // not closed: reported where the end is expected
      default:
        break;
    }
    if (open > 0) continue;
    const Token& next = Peek(ahead + 1);
    const bool postfix = next.kind == TokenKind::kDot || next.kind == TokenKind::kArrow ||
                         next.kind == TokenKind::kLeftBracket || next.kind == TokenKind::kQuestion;
    if (next.kind == TokenKind::kLeftBrace) return true;
    return !postfix && FindOperator(next.kind) == nullptr && !IsWord(next, "in") &&
           !IsWord(next, "as") && !AtType(1);
  }
}

// for ($i : a..b) body, for ($kv : @map) body
Stmt* Parser::ParseFor() {
  const Token first = Take();
  const Token open = Peek();
  if (!Expect(TokenKind::kLeftParen, "`(` behind `for`")) return nullptr;
  const bool colon = Peek(1).kind == TokenKind::kColon;
  const bool in = IsWord(Peek(1), "in");
  if (!At(TokenKind::kVariable) || (!colon && !in)) return RejectFor(open);
  const Token variable = Take();
  if (in) Complain(Code::kBadFor, Peek().span, "`in` in a `for`").Hint("write `:`");
  Take();
  return ParseForRest(first.span, open, variable);
}

Stmt* Parser::ParseForRest(Span begin, const Token& open, const Token& variable) {
  const std::string name(Text(variable));
  Expr* first = ParseBinary(kRangePrecedence);
  Expr* end = Accept(TokenKind::kDotDot) ? ParseBinary(kRangePrecedence) : nullptr;
  if (lost_ || !ExpectClose(TokenKind::kRightParen, open)) return nullptr;
  Block* body = ParseBody("for");
  const Span span = From(begin);
  if (end != nullptr) {
    return New<ForRange>(Stmt{StmtKind::kForRange, span}, name, variable.span, first, end, body);
  }
  const auto* map = first->kind == ExprKind::kMap ? static_cast<const Map*>(first) : nullptr;
  if (map == nullptr || !map->keys.empty()) {
    Complain(Code::kBadFor, first->span, "`for` runs over a whole map or a range")
        .Note("as in for ($kv : @map) { … } or for ($i : 0..10) { … }");
    return nullptr;
  }
  return New<ForMap>(Stmt{StmtKind::kForMap, span}, name, variable.span, map->name, map->span,
                     body);
}

// Some other kind of for: reported; its body is parsed for the mistakes in it.
Stmt* Parser::RejectFor(const Token& open) {
  size_t depth = 1;
  while (depth > 0 && !At(TokenKind::kLeftBrace) && !At(TokenKind::kRightBrace) && !AtOutside()) {
    if (At(TokenKind::kLeftParen)) ++depth;
    if (At(TokenKind::kRightParen)) --depth;
    Take();
  }
  Complain(Code::kBadFor, From(open.span), "`for` runs over a map or a range")
      .Note("as in for ($kv : @map) { … } or for ($i : 0..10) { … }");
  if (At(TokenKind::kLeftBrace)) {
    ParseBlock();
  } else {
    lost_ = true;
  }
  return nullptr;
}

Stmt* Parser::ParseUnroll() {
  const Token first = Take();
  const Token open = Peek();
  if (!Expect(TokenKind::kLeftParen, "`(` behind `unroll`")) return nullptr;
  Expr* count = ParseExpr();
  if (lost_ || !ExpectClose(TokenKind::kRightParen, open)) return nullptr;
  Block* body = ParseBody("unroll");
  return New<Unroll>(Stmt{StmtKind::kUnroll, From(first.span)}, count, body);
}

Stmt* Parser::ParseReturn() {
  const Token first = Take();
  const bool empty = At(TokenKind::kSemicolon) || At(TokenKind::kRightBrace) || AtOutside();
  Expr* value = empty ? nullptr : ParseExpr();
  const Span span = From(first.span);
  EndStatement();
  return New<Return>(Stmt{StmtKind::kReturn, span}, value);
}

// `;` between statements; `}` needs none before it. A forgotten one is clear when what follows
// begins a statement.
void Parser::EndStatement() {
  if (lost_ || Accept(TokenKind::kSemicolon) || At(TokenKind::kRightBrace) || AtOutside()) return;
  const bool and_word = AtWord("and"), or_word = AtWord("or");
  if (and_word || or_word) {
    Fail(Code::kBadOperator, Peek().span, "`" + std::string(Text(Peek())) + "` is not an operator")
        .Hint(and_word ? "did you mean `&&`?" : "did you mean `||`?");
    return;
  }
  switch (Peek().kind) {
    case TokenKind::kRightParen:
    case TokenKind::kRightBracket:
    case TokenKind::kComma:
    case TokenKind::kColon:
    case TokenKind::kDotDot:
    case TokenKind::kAssign:
      Fail(Code::kExpectedToken, Peek().span, "expected `;`, found " + Found());
      return;
    default:
      if (SkippedHere()) return;  // what stood there was no token, and is reported
      Complain(Code::kMissingSemicolon, After(), "`;` is missing between two statements");
  }
}

}  // namespace memtrace::syntax
