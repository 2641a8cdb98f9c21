// What can be told from the tree alone, before any type is known.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "compiler/probes/attach_plan.h"
#include "compiler/syntax/ast.h"

namespace memtrace::sema {

// The name behind which the fields of a probe stand. It is no value of its own.
inline constexpr std::string_view kArgs = "args";

// N of `argN`, or -1.
int NumberedArgument(std::string_view name);

// Calls `visit` for each expression of a statement or expression, outer ones first.
void ForEachExpr(const syntax::Stmt& stmt, const std::function<void(const syntax::Expr&)>& visit);
void ForEachExpr(const syntax::Expr& expr, const std::function<void(const syntax::Expr&)>& visit);

// What the clause uses of its probes.
probes::Usage UsageOf(const syntax::Clause& clause);

// For each block, the maps that it reads and clears as a whole.
using SwapPlan = std::map<const syntax::Block*, std::set<std::string>>;
void FindSwaps(const syntax::Block& block, SwapPlan& swaps);

}  // namespace memtrace::sema
