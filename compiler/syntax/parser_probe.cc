// What stands outside of bodies: clauses with their probes and predicates, config, map
// declarations, and the constructs that this version knows by name only.
#include <algorithm>
#include <cctype>

#include "compiler/syntax/parser_impl.h"
#include "compiler/syntax/probe_text.h"

namespace memtrace::syntax {
namespace {

// The constructs that are recognised in order to be refused.
struct Unsupported {
  std::string_view word;
  std::string_view what;
};
constexpr Unsupported kUnsupported[] = {
    {"macro", "macros are"},
    {"fn", "functions are"},
    {"import", "imports are"},
    {"every", "`every` is"},
    {"span", "`span` is"},
    {"live", "`live` is"},
    {"typedef", "C declarations are"},
    {"struct", "C declarations are"},
    {"union", "C declarations are"},
    {"enum", "C declarations are"},
};

// A provider is a word, perhaps with wildcards.
bool LooksLikeProvider(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '*' || c == '$';
  });
}

}  // namespace

void Parser::ParseOutside() {
  switch (Peek().kind) {
    case TokenKind::kProbe:
      return ParseClause();
    case TokenKind::kDirective:
      return RejectDirective();
    case TokenKind::kLet:
      return ParseMapDecl();
    case TokenKind::kSemicolon:
      Take();
      return;
    case TokenKind::kRightBrace:
      Complain(Code::kUnmatchedBrace, Peek().span, "`}` closes nothing");
      Take();
      return;
    case TokenKind::kLeftBrace:
    case TokenKind::kPredicateBegin:
      Complain(Code::kMissingProbe, Peek().span,
               At(TokenKind::kLeftBrace) ? "a body without a probe" : "a predicate without a probe")
          .Note("a clause is PROBE /PREDICATE/ { STATEMENTS }, for instance begin { … }");
      return ParseClauseRest({});
    default:
      break;
  }
  if (AtWord("config")) return ParseConfig();
  RejectDefinition();
}

void Parser::ParseClause() {
  Clause clause;
  clause.span = Peek().span;
  if (!ParseProbes(clause)) return;
  ParseClauseRest(std::move(clause));
}

// Predicate and body. The clause is kept when it has probes and a body.
void Parser::ParseClauseRest(Clause clause) {
  brace_reported_ = false;
  if (At(TokenKind::kPredicateBegin)) clause.predicate = ParsePredicate();
  if (!At(TokenKind::kLeftBrace)) {
    RejectMissingBody(clause);
    if (!At(TokenKind::kProbe) || !OnNewLine()) lost_ = true;
    return;
  }
  clause.body = ParseBlock();
  if (clause.probes.empty()) return;
  clause.span = From(clause.span);
  ast_.clauses.push_back(std::move(clause));
}

void Parser::RejectMissingBody(const Clause& clause) {
  if (At(TokenKind::kEnd) && RestWasSwallowed()) return;
  const Span probe = clause.probes.empty() ? last_ : clause.probes.front().span;
  auto error = Complain(Code::kMissingBody, probe,
                        "`" + std::string(sources_.Text(probe)) + "` has no body");
  if (!At(TokenKind::kEnd) && !OnNewLine()) error.Label(Peek().span, "expected `{` here");
  error.Note("a clause is PROBE /PREDICATE/ { STATEMENTS }");
}

// The list of probes. False when what stands there is no clause at all.
bool Parser::ParseProbes(Clause& clause) {
  while (true) {
    clause.probes.push_back(ParseProbe());
    if (lost_) return false;
    if (Accept(TokenKind::kComma)) {
      if (At(TokenKind::kProbe)) continue;
      Complain(Code::kBadProbe, Peek().span, "expected a probe behind `,`, found " + Found());
      return true;
    }
    const bool second = At(TokenKind::kProbe) && !OnNewLine();
    if (!second || !LooksLikeProvider(SplitProbe(Text(Peek()), Peek().span).front().text)) {
      return true;
    }
    Complain(Code::kBadProbe, Peek().span, "`,` is missing between two probes")
        .Note("a probe holds no blanks; where a name has some, it stands in double quotes");
  }
}

// One probe and its alternatives.
ProbeSpec Parser::ParseProbe() {
  ProbeSpec probe = ParseOneProbe();
  while (!lost_ && Accept(TokenKind::kPipe)) {
    if (!At(TokenKind::kProbe)) {
      Complain(Code::kBadProbe, Peek().span, "expected a probe behind `|`, found " + Found());
      break;
    }
    probe.alternatives.push_back(ParseOneProbe());
  }
  return probe;
}

ProbeSpec Parser::ParseOneProbe() {
  const Token token = Take();
  std::string_view text = Text(token);
  ProbeSpec probe;
  probe.span = token.span;
  Span parts = token.span;
  if (text.size() > 1 && text.back() == '?') {
    probe.optional = true;
    text.remove_suffix(1);
    --parts.end;
  }
  probe.parts = SplitProbe(text, parts);
  if (!LooksLikeProvider(probe.parts.front().text)) {
    Fail(Code::kBadProbe, token.span, "`" + std::string(text) + "` is not a probe")
        .Note("statements stand in the body of a clause, for instance begin { … }");
  }
  return probe;
}

Expr* Parser::ParsePredicate() {
  const Token open = Take();
  Expr* predicate = ParseConditionExpr();
  if (Accept(TokenKind::kPredicateEnd)) return predicate;
  if (At(TokenKind::kLeftBrace) || At(TokenKind::kEnd)) {
    Complain(Code::kUnclosed, After(), "the predicate is not closed")
        .Hint("`/` is missing")
        .Label(open.span, "opened here");
  } else {
    Complain(Code::kExpectedToken, Peek().span,
             "expected an operator or the `/` that ends the predicate, found " + Found())
        .Label(open.span, "begins here");
  }
  // Whatever else stands in the predicate: the body can be read all the same.
  lost_ = false;
  while (!At(TokenKind::kLeftBrace) && !AtOutside()) {
    if (Accept(TokenKind::kPredicateEnd)) break;
    Take();
  }
  return predicate;
}

// config = { name = value; … }
void Parser::ParseConfig() {
  Take();
  Take();  // the lexer has seen `=`
  const Token open = Peek();
  if (!Expect(TokenKind::kLeftBrace, "`{` of the config block")) return;
  while (!At(TokenKind::kRightBrace) && !AtOutside()) {
    const size_t before = index_;
    ParseConfigItem();
    if (lost_) Recover();
    if (index_ == before) Take();
  }
  ExpectClose(TokenKind::kRightBrace, open);
}

void Parser::ParseConfigItem() {
  if (Accept(TokenKind::kSemicolon)) return;
  const Token name = Peek();
  if (!At(TokenKind::kName)) {
    Fail(Code::kBadDeclaration, name.span, "expected the name of a setting, found " + Found());
    return;
  }
  Take();
  if (!At(TokenKind::kAssign)) {
    Fail(Code::kBadDeclaration, Peek().span,
         "expected `=` behind the setting `" + std::string(Text(name)) + "`, found " + Found());
    return;
  }
  Take();
  ConfigItem item{.name = std::string(Text(name)), .name_span = name.span, .value = ParseExpr()};
  if (At(TokenKind::kComma)) {
    Complain(Code::kBadDeclaration, Peek().span, "settings are separated by `;`");
    Take();
  } else {
    EndStatement();
  }
  ast_.config.push_back(std::move(item));
}

// let @name = kind(entries);
void Parser::ParseMapDecl() {
  const Token let = Take();
  const Token map = Peek();
  if (!At(TokenKind::kMap)) {
    Fail(Code::kBadDeclaration, map.span, "expected a map behind `let`, found " + Found())
        .Note("outside of clauses only maps are declared, as in let @m = lruhash(1000);");
    return;
  }
  Take();
  if (!Accept(TokenKind::kAssign) || !At(TokenKind::kName)) {
    Fail(Code::kBadDeclaration, Peek().span, "expected the kind of the map, found " + Found())
        .Note("a map is declared as in let @m = lruhash(1000);");
    return;
  }
  MapDecl decl{.span = let.span,
               .name = std::string(Text(map)),
               .name_span = map.span,
               .kind = std::string(Text(Take())),
               .max_entries = nullptr};
  const Token open = Peek();
  if (!Expect(TokenKind::kLeftParen, "`(` behind the kind of the map")) return;
  if (!At(TokenKind::kRightParen)) decl.max_entries = ParseExpr();
  if (!ExpectClose(TokenKind::kRightParen, open)) return;
  decl.span = From(let.span);
  ast_.map_declarations.push_back(std::move(decl));
  if (Accept(TokenKind::kSemicolon) || At(TokenKind::kEnd)) return;
  Fail(Code::kMissingSemicolon, After(), "missing `;`");
}

void Parser::RejectDirective() {
  const Token token = Take();
  const std::string what = "C declarations are";
  if (std::count(rejected_.begin(), rejected_.end(), what) > 0) return;
  rejected_.push_back(what);
  Complain(Code::kNotSupported, token.span, what + " not supported in this version");
}

// A definition of a kind that has no tree yet, reported once per kind, or a token out of place.
void Parser::RejectDefinition() {
  const Token token = Take();
  const auto* row = std::find_if(std::begin(kUnsupported), std::end(kUnsupported),
                                 [&](const Unsupported& u) { return u.word == Text(token); });
  if (row == std::end(kUnsupported)) {
    Fail(Code::kExpectedToken, token.span,
         "expected a probe, found `" + std::string(Text(token)) + "`");
    return;
  }
  const std::string what(row->what);
  if (std::count(rejected_.begin(), rejected_.end(), what) == 0) {
    rejected_.push_back(what);
    Complain(Code::kNotSupported, token.span, what + " not supported in this version");
  }
  lost_ = true;
}

}  // namespace memtrace::syntax
