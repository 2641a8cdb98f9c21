// Types as they are written in casts, sizeof and let.
#include <algorithm>
#include <charconv>

#include "compiler/syntax/literal.h"
#include "compiler/syntax/parser_impl.h"

namespace memtrace::syntax {
namespace {

// Words that are types wherever they stand. Other names need `*` or `struct` to be seen as types.
constexpr std::string_view kTypeWords[] = {
    "bool",   "int8",     "int16",   "int32",   "int64",     "uint8",    "uint16",   "uint32",
    "uint64", "void",     "string",  "buffer",  "char",      "short",    "int",      "long",
    "signed", "unsigned", "u8",      "u16",     "u32",       "u64",      "s8",       "s16",
    "s32",    "s64",      "size_t",  "ssize_t", "uint8_t",   "uint16_t", "uint32_t", "uint64_t",
    "int8_t", "int16_t",  "int32_t", "int64_t", "uintptr_t", "intptr_t"};

// Words of which several make one C type: unsigned long long.
constexpr std::string_view kCWords[] = {"char", "short", "int", "long", "signed", "unsigned"};

constexpr unsigned kMaxPointerDepth = 8;

template <size_t N>
bool IsOneOf(const std::string_view (&words)[N], std::string_view word) {
  return std::count(words, words + N, word) > 0;
}

bool IsTag(TokenKind kind) {
  return kind == TokenKind::kStruct || kind == TokenKind::kUnion || kind == TokenKind::kEnum;
}

// Whether a token can begin the operand of a cast and can't go on with an expression in
// parentheses.
bool BeginsOperandOnly(TokenKind kind) {
  switch (kind) {
    case TokenKind::kName:
    case TokenKind::kInteger:
    case TokenKind::kString:
    case TokenKind::kVariable:
    case TokenKind::kMap:
    case TokenKind::kPositional:
    case TokenKind::kPositionalCount:
    case TokenKind::kSizeof:
    case TokenKind::kOffsetof:
    case TokenKind::kTrue:
    case TokenKind::kFalse:
    case TokenKind::kNot:
    case TokenKind::kTilde:
      return true;
    default:
      return false;
  }
}

}  // namespace

// Index (relative to the next token) behind the type that begins `ahead` tokens from here.
size_t Parser::SkipType(size_t ahead) const {
  if (IsTag(Peek(ahead).kind)) ++ahead;
  const bool c_word = IsOneOf(kCWords, Text(Peek(ahead)));
  ++ahead;
  while (c_word && Peek(ahead).kind == TokenKind::kName && IsOneOf(kCWords, Text(Peek(ahead)))) {
    ++ahead;
  }
  while (Peek(ahead).kind == TokenKind::kStar) ++ahead;
  while (Peek(ahead).kind == TokenKind::kLeftBracket) {
    ++ahead;
    if (Peek(ahead).kind == TokenKind::kInteger) ++ahead;
    if (Peek(ahead).kind != TokenKind::kRightBracket) return ahead;
    ++ahead;
  }
  return ahead;
}

bool Parser::AtType(size_t ahead) const {
  const Token& first = Peek(ahead);
  if (IsTag(first.kind)) return true;
  if (first.kind != TokenKind::kName) return false;
  if (Peek(SkipType(ahead)).kind != TokenKind::kRightParen) return false;
  return IsOneOf(kTypeWords, Text(first)) || Peek(ahead + 1).kind == TokenKind::kStar;
}

bool Parser::AtCast() const {
  if (AtType(1)) return true;
  const bool name = Peek(1).kind == TokenKind::kName && Peek(2).kind == TokenKind::kRightParen;
  if (!name || !BeginsOperandOnly(Peek(3).kind)) return false;
  for (std::string_view word : {"as", "in", "and", "or"}) {
    if (IsWord(Peek(3), word)) return false;
  }
  return true;
}

TypeName Parser::ParseType() {
  TypeName type;
  type.span = Peek().span;
  if (IsTag(Peek().kind)) {
    const TokenKind tag = Take().kind;
    type.tag = tag == TokenKind::kStruct  ? TypeName::Tag::kStruct
               : tag == TokenKind::kUnion ? TypeName::Tag::kUnion
                                          : TypeName::Tag::kEnum;
  }
  if (!At(TokenKind::kName)) {
    Fail(Code::kBadType, Peek().span, "expected a type, found " + Found());
    return type;
  }
  type.name = std::string(Text(Take()));
  const bool c_word = IsOneOf(kCWords, type.name);
  while (c_word && At(TokenKind::kName) && IsOneOf(kCWords, Text(Peek()))) {
    type.name += " " + std::string(Text(Take()));
  }
  while (At(TokenKind::kStar)) {
    if (++type.pointer_depth > kMaxPointerDepth) {
      Fail(Code::kBadType, Peek().span, "a pointer to more pointers than memtrace follows");
      return type;
    }
    Take();
  }
  while (At(TokenKind::kLeftBracket)) {
    const Token open = Take();
    uint64_t count = 0;
    if (At(TokenKind::kInteger)) {
      const Token token = Take();
      count = DecodeInteger(Text(token), token.span, diagnostics_).value;
      if (count == 0 || count > UINT32_MAX) {
        Complain(Code::kBadType, token.span, "an array can't have this many elements");
        count = 1;
      }
    }
    if (!ExpectClose(TokenKind::kRightBracket, open)) return type;
    type.array_counts.push_back(static_cast<uint32_t>(count));
  }
  type.span = From(type.span);
  return type;
}

}  // namespace memtrace::syntax
