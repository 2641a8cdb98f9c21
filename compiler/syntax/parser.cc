#include "compiler/syntax/parser.h"

#include <algorithm>

#include "compiler/syntax/parser_impl.h"

namespace memtrace::syntax {

Token Parser::Take() {
  const Token token = Peek();
  if (token.kind != TokenKind::kEnd) {
    ++index_;
    last_ = token.span;
  }
  return token;
}

bool Parser::Accept(TokenKind kind) {
  if (!At(kind)) return false;
  Take();
  return true;
}

bool Parser::Expect(TokenKind kind, std::string_view what) {
  if (Accept(kind)) return true;
  Fail(Code::kExpectedToken, Peek().span, "expected " + std::string(what) + ", found " + Found());
  return false;
}

bool Parser::ExpectClose(TokenKind kind, const Token& open) {
  if (Accept(kind)) return true;
  const std::string opening(Spelling(open.kind)), closing(Spelling(kind));
  // Where nothing sensible can follow, the bracket was forgotten; elsewhere something is between.
  const bool at_end = At(TokenKind::kSemicolon) || At(TokenKind::kRightBrace) ||
                      At(TokenKind::kLeftBrace) || At(TokenKind::kPredicateEnd) || AtOutside();
  if (At(TokenKind::kEnd) && RestWasSwallowed()) {
    lost_ = true;
  } else if (at_end) {
    Fail(Code::kUnclosed, After(), "`" + opening + "` is not closed")
        .Hint("`" + closing + "` is missing")
        .Label(open.span, "opened here");
  } else {
    Fail(Code::kExpectedToken, Peek().span, "expected `" + closing + "`, found " + Found())
        .Label(open.span, "to close this");
  }
  return false;
}

bool Parser::AtOutside() const {
  return At(TokenKind::kEnd) || At(TokenKind::kProbe) || At(TokenKind::kDirective) ||
         At(TokenKind::kPredicateBegin);
}

bool Parser::OnNewLine() const {
  return sources_.LineStart(last_.end) != sources_.LineStart(Peek().span.begin);
}

bool Parser::RestWasSwallowed() const {
  return std::any_of(diagnostics_.all().begin(), diagnostics_.all().end(), [](const auto& d) {
    return d.code == Code::kUnterminatedString || d.code == Code::kUnterminatedComment;
  });
}

bool Parser::SkippedHere() const {
  const auto& all = diagnostics_.all();
  return std::any_of(all.begin(), all.end(), [this](const diag::Diagnostic& d) {
    return d.span.begin >= last_.end && d.span.end <= Peek().span.begin;
  });
}

std::string Parser::Found() const {
  const Token& token = Peek();
  if (token.kind == TokenKind::kEnd) return "the end of the script";
  constexpr size_t kShown = 40;
  const std::string_view text = Text(token);
  if (text.size() <= kShown) return "`" + std::string(text) + "`";
  return "`" + std::string(text.substr(0, kShown)) + "…`";
}

DiagnosticBuilder Parser::Fail(Code code, Span span, std::string message) {
  DiagnosticBuilder builder = Complain(code, span, std::move(message));
  lost_ = true;
  return builder;
}

DiagnosticBuilder Parser::Complain(Code code, Span span, std::string message) {
  if (!lost_) return diagnostics_.Error(code, span, std::move(message));
  silent_ = {};
  return DiagnosticBuilder(silent_);
}

void Parser::FailTooDeep() {
  Fail(Code::kTooDeep, Peek().span,
       "nested more than " + std::to_string(kMaxDepth) + " levels deep");
}

// Skips to behind the next `;` or closing brace of this block, or to the end of the block.
void Parser::Recover() {
  lost_ = false;
  while (!AtOutside() && !At(TokenKind::kRightBrace)) {
    if (At(TokenKind::kLeftBrace)) return SkipBraces();
    if (Take().kind == TokenKind::kSemicolon) return;
  }
}

// Skips to behind the next `;` or body, or to a probe on a line of its own.
void Parser::RecoverOutside() {
  lost_ = false;
  const size_t begin = index_;
  while (!At(TokenKind::kEnd) && !At(TokenKind::kDirective)) {
    const bool after_comma = index_ > 0 && tokens_[index_ - 1].kind == TokenKind::kComma;
    if (At(TokenKind::kProbe) && index_ > begin && OnNewLine() && !after_comma) return;
    if (At(TokenKind::kLeftBrace)) return SkipBraces();
    if (Take().kind == TokenKind::kSemicolon) return;
  }
}

// Skips from `{` to behind its `}`, or to the next clause when that is missing.
void Parser::SkipBraces() {
  size_t open = 0;
  do {
    if (At(TokenKind::kLeftBrace)) ++open;
    if (At(TokenKind::kRightBrace)) --open;
    Take();
  } while (open > 0 && !AtOutside());
}

Expr* Parser::Bounded(Expr* node, std::initializer_list<const Expr*> children) {
  for (const Expr* child : children) {
    if (child == nullptr) continue;
    node->height = std::max<uint16_t>(node->height, child->height + 1);
  }
  if (node->height <= kMaxDepth) return node;
  FailTooDeep();
  return ErrorNode(node->span);
}

Ast Parser::Run() {
  while (!At(TokenKind::kEnd)) {
    const size_t before = index_;
    ParseOutside();
    if (lost_) RecoverOutside();
    if (index_ == before) Take();
  }
  return std::move(ast_);
}

Ast Parse(const diag::SourceMap& sources, const TokenBuffer& tokens,
          diag::Diagnostics& diagnostics) {
  return Parser(sources, tokens, diagnostics).Run();
}

}  // namespace memtrace::syntax
