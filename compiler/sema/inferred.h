// What is known about the type of a map's value, a map's key or a variable, from all that is stored
// there.
//
// Types only grow while clauses are read: integers to 64 bits and to signed when a signed value
// that is no literal is among them, strings to the longest. So reading all clauses again until
// nothing changes ends.
#pragma once

#include "compiler/diag/source.h"
#include "compiler/syntax/ast.h"
#include "compiler/types/type.h"

namespace memtrace::sema {

struct Inferred {
  types::Type type;            // empty: nothing was stored yet
  diag::Span first;            // where the type comes from
  bool only_literals = false;  // an integer that so far only had literals, which fit either sign
  bool is_declared = false;    // `let $x : type`: does not grow
};

enum class MergeResult : uint8_t { kSame, kChanged, kClash };

// Takes another value of `type` into account. An error type fits everywhere and changes nothing.
MergeResult Merge(Inferred& inferred, types::Type type, bool is_literal, diag::Span span,
                  types::TypeTable& types);

// The type that holds values of both, or an empty handle. `left_literal`: the value is an integer
// literal.
types::Type Unify(types::Type left, bool left_literal, types::Type right, bool right_literal,
                  types::TypeTable& types);

// `type` as it is kept: integers in 64 bits, also inside tuples. Enums and bools stay.
types::Type Widened(types::Type type, types::TypeTable& types);

// The unit that a literal or `as` names.
types::Unit UnitOf(syntax::UnitName name);
// "ns", "no unit": a unit in a message.
std::string_view UnitText(types::Unit unit);

}  // namespace memtrace::sema
