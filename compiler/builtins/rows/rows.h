// One constant per entry of functions.def: kPidRow, kPrintfRow, …. Private to this folder.
#pragma once

#include "compiler/sema/checker.h"
#include "compiler/sema/row.h"

namespace memtrace::sema {

#define MT_FUNCTION(enumerator, spelling) extern const Row enumerator##Row;
#include "compiler/sema/functions.def"
#undef MT_FUNCTION

// An int64 of `expr`, whose type was checked to be an integer.
inline Expr* ToInt64(Checker& checker, Expr* expr) {
  return checker.Convert(
      expr,
      checker.types().Int(8, true, expr->type.IsError() ? types::Unit::kNone : expr->type->unit));
}

}  // namespace memtrace::sema
