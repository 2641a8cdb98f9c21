// Recursive descent from tokens to the tree.
//
// After a mistake the parser goes on at the next statement or clause, so one run shows several.
// Depth of nesting is bounded (kMaxDepth): a deeper program is a reported error, not a crash.
#pragma once

#include <string>

#include "compiler/diag/diagnostics.h"
#include "compiler/syntax/ast.h"
#include "compiler/syntax/token.h"

namespace memtrace::syntax {

// Deep enough for any program a person writes, and for what the checker and the code generator do
// with one stack frame per level.
inline constexpr int kMaxDepth = 200;

Ast Parse(const diag::SourceMap& sources, const TokenBuffer& tokens,
          diag::Diagnostics& diagnostics);

// An indented tree, one node per line; the same text for the same program.
std::string Dump(const Ast& ast);

}  // namespace memtrace::syntax
