// Visits every expression of a typed statement or expression, outer ones first.
#pragma once

#include <functional>

#include "compiler/sema/typed.h"

namespace memtrace::sema {

struct TypedVisitor {
  std::function<void(const Expr&)> expr;
  std::function<void(const Stmt&)> stmt = nullptr;  // may be empty
};

void Walk(const Stmt& stmt, const TypedVisitor& visitor);
void Walk(const Expr& expr, const TypedVisitor& visitor);

}  // namespace memtrace::sema
