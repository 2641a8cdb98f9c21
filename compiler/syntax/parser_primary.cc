// What an expression is built from: literals, names, calls, maps, and everything in parentheses.
#include <charconv>

#include "compiler/syntax/literal.h"
#include "compiler/syntax/parser_impl.h"
#include "compiler/syntax/probe_text.h"

namespace memtrace::syntax {
namespace {

template <typename Elements>
uint16_t HeightOver(const Elements& arguments) {
  uint16_t height = 1;
  for (const Argument& argument : arguments) {
    height = std::max<uint16_t>(height, argument.value->height + 1);
  }
  return height;
}

}  // namespace

Expr* Parser::ParsePrimary() {
  const Token token = Peek();
  switch (token.kind) {
    case TokenKind::kInteger: {
      Take();
      const IntegerValue literal = DecodeInteger(Text(token), token.span, diagnostics_);
      return New<Integer>(Expr{ExprKind::kInteger, token.span}, literal.value, literal.unit);
    }
    case TokenKind::kString:
      Take();
      return New<String>(Expr{ExprKind::kString, token.span},
                         DecodeString(Text(token), token.span, diagnostics_));
    case TokenKind::kTrue:
    case TokenKind::kFalse:
      Take();
      return New<Bool>(Expr{ExprKind::kBool, token.span}, token.kind == TokenKind::kTrue);
    case TokenKind::kVariable:
      Take();
      return New<Variable>(Expr{ExprKind::kVariable, token.span}, std::string(Text(token)));
    case TokenKind::kPositionalCount:
      Take();
      return New<PositionalCount>(Expr{ExprKind::kPositionalCount, token.span});
    case TokenKind::kPositional:
      return ParsePositional();
    case TokenKind::kMap:
      return ParseMap();
    case TokenKind::kName:
      return ParseNameOrCall();
    case TokenKind::kLeftParen:
      return ParseParentheses();
    case TokenKind::kSizeof:
      return ParseSizeof();
    case TokenKind::kOffsetof:
      return ParseOffsetof();
    default:
      Fail(Code::kExpectedExpression, token.span, "expected an expression, found " + Found());
      return ErrorNode(token.span);
  }
}

Expr* Parser::ParsePositional() {
  const Token token = Take();
  const std::string_view digits = Text(token).substr(1);
  uint32_t index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (error != std::errc()) {
    Complain(Code::kNumberTooLarge, token.span, "no script has this many arguments");
  }
  return New<Positional>(Expr{ExprKind::kPositional, token.span}, index);
}

// ( expression ), a tuple or a record.
Expr* Parser::ParseParentheses() {
  const Token open = Take();
  if (At(TokenKind::kName) && Peek(1).kind == TokenKind::kAssign) return ParseRecord(open);
  Expr* first = ParseExpr();
  if (At(TokenKind::kAssign) && !lost_) first = RejectAssignment(first);
  if (lost_) return first;
  if (At(TokenKind::kComma)) return ParseTuple(open, first);
  if (!ExpectClose(TokenKind::kRightParen, open)) return first;
  first->span = From(open.span);
  return first;
}

// The rest of ( first, … ). A comma before the end is allowed, and makes a tuple of one.
Expr* Parser::ParseTuple(const Token& open, Expr* first) {
  std::vector<Expr*> elements{first};
  uint16_t height = first->height;
  while (Accept(TokenKind::kComma) && !At(TokenKind::kRightParen)) {
    elements.push_back(ParseExpr());
    height = std::max(height, elements.back()->height);
    if (lost_) return elements.back();
  }
  if (!ExpectClose(TokenKind::kRightParen, open)) return ErrorNode(open.span);
  Expr* tuple = New<Tuple>(Expr{ExprKind::kTuple, From(open.span)}, std::move(elements));
  tuple->height = height + 1;
  return Bounded(tuple, {});
}

// The rest of ( name = value, … ).
Expr* Parser::ParseRecord(const Token& open) {
  std::vector<Argument> elements = ParseArguments(TokenKind::kRightParen);
  if (lost_) return ErrorNode(open.span);
  for (const Argument& element : elements) {
    if (!element.name.empty()) continue;
    Complain(Code::kExpectedToken, element.value->span, "an element of a record without a name")
        .Note("a record is (a = 1, b = 2), a tuple (1, 2)");
    Accept(TokenKind::kRightParen);
    return ErrorNode(From(open.span));
  }
  if (!ExpectClose(TokenKind::kRightParen, open)) return ErrorNode(open.span);
  const uint16_t height = HeightOver(elements);
  Expr* record = New<Record>(Expr{ExprKind::kRecord, From(open.span)}, std::move(elements));
  record->height = height;
  return Bounded(record, {});
}

// @name or @name[key, …]
Expr* Parser::ParseMap() {
  const Token name = Take();
  Map* map = New<Map>(Expr{ExprKind::kMap, name.span}, std::string(Text(name)),
                      std::vector<Expr*>{}, name.span);
  if (!At(TokenKind::kLeftBracket)) return map;
  const Token open = Take();
  do {
    map->keys.push_back(ParseExpr());
    map->height = std::max<uint16_t>(map->height, map->keys.back()->height + 1);
    if (lost_) return map;
  } while (Accept(TokenKind::kComma));
  if (!ExpectClose(TokenKind::kRightBracket, open)) return map;
  map->span = From(name.span);
  return Bounded(map, {});
}

Expr* Parser::ParseNameOrCall() {
  const Token name = Take();
  if (At(TokenKind::kString)) return ParseCallWithoutParentheses(name);
  if (!At(TokenKind::kLeftParen)) {
    return New<Name>(Expr{ExprKind::kName, name.span}, std::string(Text(name)));
  }
  if (Text(name) == "has") return ParseHas(name);
  const Token open = Take();
  std::vector<Argument> arguments = ParseArguments(TokenKind::kRightParen);
  if (lost_ || !ExpectClose(TokenKind::kRightParen, open)) return ErrorNode(name.span);
  const uint16_t height = HeightOver(arguments);
  Expr* call = New<Call>(Expr{ExprKind::kCall, From(name.span)}, std::string(Text(name)), name.span,
                         std::move(arguments));
  call->height = height;
  return Bounded(call, {});
}

// A name and what can only be its argument, on one line: printf "x", delete @m.
bool Parser::CallLacksParentheses() const {
  if (!At(TokenKind::kName)) return false;
  if (sources_.LineStart(Peek().span.begin) != sources_.LineStart(Peek(1).span.begin)) return false;
  const TokenKind next = Peek(1).kind;
  return next == TokenKind::kString || next == TokenKind::kVariable || next == TokenKind::kMap ||
         next == TokenKind::kInteger;
}

// `name`, just taken, is followed by an argument instead of `(`.
Expr* Parser::ParseCallWithoutParentheses(const Token& name) {
  const std::string text(Text(name));
  Complain(Code::kMissingParentheses, name.span,
           "the arguments of `" + text + "` stand in parentheses")
      .Hint("write `" + text + "(…)`");
  std::vector<Argument> arguments = ParseArguments(TokenKind::kSemicolon);
  if (lost_) return ErrorNode(name.span);
  const uint16_t height = HeightOver(arguments);
  Expr* call =
      New<Call>(Expr{ExprKind::kCall, From(name.span)}, text, name.span, std::move(arguments));
  call->height = height;
  return Bounded(call, {});
}

// Arguments up to `close`, which stays; none is allowed. Lost when something was wrong.
std::vector<Argument> Parser::ParseArguments(TokenKind close) {
  std::vector<Argument> arguments;
  if (At(close)) return arguments;
  do {
    if (!arguments.empty() && At(close)) break;  // a comma before the end
    arguments.push_back(ParseArgument());
  } while (!lost_ && Accept(TokenKind::kComma));
  return arguments;
}

Argument Parser::ParseArgument() {
  Argument argument{.name = {}, .value = nullptr};
  if (At(TokenKind::kName) && Peek(1).kind == TokenKind::kAssign) {
    argument.name = std::string(Text(Take()));
    Take();
  }
  argument.value = ParseExpr();
  if (At(TokenKind::kAssign) && !lost_) argument.value = RejectAssignment(argument.value);
  return argument;
}

// has(probe) or has(object.member). In an expression a probe is no token; its text is what stands
// between the parentheses.
Expr* Parser::ParseHas(const Token& word) {
  const Token open = Take();
  ProbeSpec* probe = nullptr;
  Expr* field = nullptr;
  if (At(TokenKind::kName) && Peek(1).kind == TokenKind::kColon) {
    Span text = Peek().span;
    while (!At(TokenKind::kRightParen) && !At(TokenKind::kEnd) && !OnNewLine()) {
      text.end = Take().span.end;
    }
    probe = ast_.arena.New<ProbeSpec>();
    probe->span = text;
    probe->parts = SplitProbe(sources_.Text(text), text);
  } else {
    field = ParseExpr();
    if (lost_) return ErrorNode(word.span);
    if (field->kind != ExprKind::kMember) {
      Fail(Code::kExpectedToken, field->span, "has() takes a probe or a field")
          .Note("as in has(kprobe:oom_kill_process) or has(args.order)");
      return ErrorNode(word.span);
    }
  }
  if (!ExpectClose(TokenKind::kRightParen, open)) return ErrorNode(word.span);
  return Bounded(
      New<Has>(Expr{ExprKind::kHas, From(word.span)}, probe, static_cast<Member*>(field)), {field});
}

// sizeof(type) or sizeof(expression)
Expr* Parser::ParseSizeof() {
  const Token word = Take();
  const Token open = Peek();
  if (!Expect(TokenKind::kLeftParen, "`(` behind `sizeof`")) return ErrorNode(word.span);
  const bool has_type = AtType(0);
  TypeName type;
  Expr* operand = nullptr;
  if (has_type) {
    type = ParseType();
  } else {
    operand = ParseExpr();
  }
  if (lost_ || !ExpectClose(TokenKind::kRightParen, open)) return ErrorNode(word.span);
  return Bounded(
      New<Sizeof>(Expr{ExprKind::kSizeof, From(word.span)}, has_type, std::move(type), operand),
      {operand});
}

// offsetof(type, member.member)
Expr* Parser::ParseOffsetof() {
  const Token word = Take();
  const Token open = Peek();
  if (!Expect(TokenKind::kLeftParen, "`(` behind `offsetof`")) return ErrorNode(word.span);
  TypeName type = ParseType();
  if (lost_ || !Expect(TokenKind::kComma, "`,` and a member")) return ErrorNode(word.span);
  std::vector<std::string> path;
  do {
    if (!At(TokenKind::kName)) {
      Fail(Code::kExpectedToken, Peek().span, "expected the name of a member, found " + Found());
      return ErrorNode(word.span);
    }
    path.push_back(std::string(Text(Take())));
  } while (Accept(TokenKind::kDot));
  if (!ExpectClose(TokenKind::kRightParen, open)) return ErrorNode(word.span);
  return New<Offsetof>(Expr{ExprKind::kOffsetof, From(word.span)}, std::move(type),
                       std::move(path));
}

}  // namespace memtrace::syntax
