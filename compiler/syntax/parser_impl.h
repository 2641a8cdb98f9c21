// The parser's state and its grammar functions. Private to parser*.cc: clauses and definitions are
// in parser_probe.cc, statements in parser_stmt.cc, expressions in parser_expr.cc, types in
// parser_type.cc.
//
// After an error that leaves the parser lost (Fail) everything is silent until the next statement
// or clause, where parsing resumes (Recover, RecoverOutside): one mistake, one message. A mistake
// whose meaning is clear is only reported (Complain), and parsing goes on as if it had been written
// well.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/syntax/ast.h"
#include "compiler/syntax/parser.h"
#include "compiler/syntax/token.h"

namespace memtrace::syntax {

using diag::Code;
using diag::DiagnosticBuilder;

class Parser {
 public:
  Parser(const diag::SourceMap& sources, const TokenBuffer& tokens, diag::Diagnostics& diagnostics)
      : sources_(sources), tokens_(tokens.tokens), diagnostics_(diagnostics) {}

  Ast Run();

 private:
  // Tokens.
  const Token& Peek(size_t ahead = 0) const {
    return tokens_[std::min(index_ + ahead, tokens_.size() - 1)];
  }
  bool At(TokenKind kind) const { return Peek().kind == kind; }
  bool AtWord(std::string_view word) const { return IsWord(Peek(), word); }
  bool IsWord(const Token& token, std::string_view word) const {
    return token.kind == TokenKind::kName && Text(token) == word;
  }
  std::string_view Text(const Token& token) const { return sources_.Text(token.span); }
  Token Take();
  bool Accept(TokenKind kind);
  // Takes a token of this kind or fails; `what` says what for: "`(` of a call".
  bool Expect(TokenKind kind, std::string_view what);
  // Takes the bracket that closes `open`, or fails and points at `open`.
  bool ExpectClose(TokenKind kind, const Token& open);
  bool AtOutside() const;  // a token that stands only outside of bodies
  // Whether a string or comment without an end may have eaten what is missing at the end.
  bool RestWasSwallowed() const;
  // Whether the lexer reported something between the last token and the next.
  bool SkippedHere() const;
  bool OnNewLine() const;  // the next token is on another line than the one before
  Span After() const { return {last_.end, last_.end}; }  // the place behind the last token taken
  // From `begin` to the last token taken.
  Span From(Span begin) const { return {begin.begin, std::max(last_.end, begin.end)}; }
  std::string Found() const;  // the next token in words: "`;`", "the end of the script"

  // Errors.
  DiagnosticBuilder Fail(Code code, Span span, std::string message);
  DiagnosticBuilder Complain(Code code, Span span, std::string message);
  void Recover();
  void RecoverOutside();
  void SkipBraces();

  // Counts the levels of recursion; `ok` is false, and the error reported, when they are too many.
  class Level {
   public:
    explicit Level(Parser& parser) : ok(++parser.depth_ <= kMaxDepth), parser_(parser) {
      if (!ok) parser.FailTooDeep();
    }
    ~Level() { --parser_.depth_; }
    const bool ok;

   private:
    Parser& parser_;
  };
  void FailTooDeep();

  // Nodes.
  template <typename T, typename... Fields>
  T* New(Fields&&... fields) {
    return ast_.arena.New<T>(std::forward<Fields>(fields)...);
  }
  Expr* ErrorNode(Span span) { return New<ErrorExpr>(Expr{ExprKind::kError, span}); }
  Block* NewBlock(Span span) {
    return New<Block>(Stmt{StmtKind::kBlock, span}, std::vector<Stmt*>{});
  }
  // `node` with the height that its children (null where there is none) give it, or an error node
  // when that is too much.
  Expr* Bounded(Expr* node, std::initializer_list<const Expr*> children);

  // Outside of bodies.
  void ParseOutside();
  void ParseClause();
  void ParseClauseRest(Clause clause);
  bool ParseProbes(Clause& clause);
  void RejectMissingBody(const Clause& clause);
  ProbeSpec ParseProbe();
  ProbeSpec ParseOneProbe();
  Expr* ParsePredicate();
  void ParseConfig();
  void ParseConfigItem();
  void ParseMapDecl();
  void RejectDirective();
  void RejectDefinition();

  // Statements.
  Block* ParseBlock();
  Block* ParseBody(std::string_view owner);
  Stmt* ParseStatement();
  Stmt* ParseSimple();
  Stmt* ParseAssign(Expr* target);
  Stmt* ParseLet();
  Stmt* ParseIf();
  Stmt* ParseElse();
  Stmt* ParseWhile();
  Stmt* ParseFor();
  Stmt* ParseForRest(Span begin, const Token& open, const Token& variable);
  Stmt* RejectFor(const Token& open);
  Stmt* ParseUnroll();
  Stmt* ParseReturn();
  Expr* ParseCondition();
  Expr* ParseConditionExpr();
  bool ParenthesesAreWhole() const;
  void EndStatement();

  // Expressions.
  Expr* ParseExpr();
  Expr* ParseBinary(int min_precedence);
  Expr* ParseIn(Expr* value);
  Expr* ParseConditional(Expr* condition);
  Expr* ParseUnit();
  Expr* ParseUnary();
  Expr* ParsePrefixIncrement();
  Expr* ParseCast();
  Expr* ParsePostfix(Expr* expr);
  Expr* ParseMember(Expr* object);
  Expr* ParsePrimary();
  Expr* ParseParentheses();
  Expr* ParseTuple(const Token& open, Expr* first);
  Expr* ParseRecord(const Token& open);
  Expr* ParseMap();
  Expr* ParseNameOrCall();
  Expr* ParseCallWithoutParentheses(const Token& name);
  std::vector<Argument> ParseArguments(TokenKind close);
  Argument ParseArgument();
  Expr* ParsePositional();
  Expr* ParseHas(const Token& word);
  Expr* ParseSizeof();
  Expr* ParseOffsetof();
  bool CallLacksParentheses() const;
  // Reports an assignment in the place of a value or a comparison, and reads over it.
  Expr* RejectAssignment(Expr* left);

  // Types.
  TypeName ParseType();
  bool AtType(size_t ahead) const;  // whether a type's name and nothing else begins there
  bool AtCast() const;              // whether the next parenthesis begins a cast
  size_t SkipType(size_t ahead) const;

  const diag::SourceMap& sources_;
  const std::vector<Token>& tokens_;
  diag::Diagnostics& diagnostics_;
  Ast ast_;
  size_t index_ = 0;
  Span last_;  // of the token taken last
  int depth_ = 0;
  bool lost_ = false;                  // between Fail and Recover
  bool brace_reported_ = false;        // a missing `}` before the next clause was reported
  diag::Diagnostic silent_;            // takes what must not be reported
  std::vector<std::string> rejected_;  // unsupported constructs already reported
};

// Operands of `..` bind tighter than comparisons: x in a .. a + 4KiB && y.
inline constexpr int kRangePrecedence = 8;

// The binary operator that `kind` spells and how tightly it binds; precedence 0: none.
struct OperatorRow {
  TokenKind token;
  BinaryOp op;
  int precedence;
};
const OperatorRow* FindOperator(TokenKind kind);
// The operator of a compound assignment, or null: `+=` → kAdd.
const BinaryOp* FindCompound(TokenKind kind);

}  // namespace memtrace::syntax
