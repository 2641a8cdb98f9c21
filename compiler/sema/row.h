// A row: everything that is known about one builtin or function, without LLVM.
//
// `check` turns the syntax of a call into a typed node and reports what is wrong with it; what code
// it becomes is the lowering of the same Function (builtins/lowering). Manual and help are printed
// from the rows.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "compiler/sema/typed.h"

namespace memtrace::sema {

class Checker;

enum class RowKind : uint8_t { kBuiltin, kFunction, kBuiltinOrFunction, kAggregation };

struct CallSyntax {
  Span span;
  Span name_span;
  const std::vector<syntax::Argument>* arguments;  // null: written without parentheses
};

struct Row {
  Function function;
  RowKind kind;
  std::string_view signature;  // "string str(pointer p[, int length])"
  std::string_view doc;        // sentences: what it gives, in which unit, when it fails
  std::string_view example;    // one line that compiles
  Expr* (*check)(Checker&, const Row&, const CallSyntax&);
};

// All rows, indexed by Function.
std::span<const Row> Rows();

}  // namespace memtrace::sema
