// Tokens: the product of Lex.
//
// A probe's text up to ',', '{', '|' or its predicate is one token (kProbe): probe names hold
// paths, stars and signs that mean something else inside a clause. The lexer knows where probes
// stand (outside of braces, where no keyword begins a definition).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/diag/source.h"

namespace memtrace::syntax {

enum class TokenKind : uint8_t {
#define MT_TOKEN(name, spelling) name,
#include "compiler/syntax/token.def"
};
std::string_view Spelling(TokenKind kind);

struct Token {
  TokenKind kind;
  diag::Span span;
};

struct TokenBuffer {
  std::vector<Token> tokens;  // ends with kEnd
};

// `text` is the span of a whole file in `sources`. Every byte of it is covered by a token, white
// space or a comment; bytes that fit nothing are reported once per run (the first runs of a file)
// and skipped. A file with a NUL byte is no script: reported, and not looked at.
TokenBuffer Lex(const diag::SourceMap& sources, diag::Span text, diag::Diagnostics& diagnostics);

// One line per token: "line:column kind text".
std::string Dump(const TokenBuffer& tokens, const diag::SourceMap& sources);

}  // namespace memtrace::syntax
