// Values of literals: what the text of a number or string token means.
//
// Mistakes are reported and answered with a value to go on with (zero, or the text so far).
#pragma once

#include <string>
#include <string_view>

#include "compiler/diag/diagnostics.h"
#include "compiler/syntax/ast.h"

namespace memtrace::syntax {

struct IntegerValue {
  uint64_t value;
  UnitName unit;
};

// `text` begins with a digit: 1_000, 0x1f, 0b101, 0755, 1e6, 250ms, 4KiB, 10UL.
IntegerValue DecodeInteger(std::string_view text, diag::Span span, diag::Diagnostics& diagnostics);

// `text` with its quotes, as the lexer left it (the last one may be missing).
std::string DecodeString(std::string_view text, diag::Span span, diag::Diagnostics& diagnostics);

}  // namespace memtrace::syntax
