// Functions on maps.
#include <fmt/format.h>

#include "compiler/builtins/rows/rows.h"

namespace memtrace::sema {

using diag::Code;
using types::Kind;

namespace {

Expr* CheckWhole(Checker& checker, const Row& row, const CallSyntax& call, plan::ActionKind kind) {
  if (!checker.CheckCount(call, row, 1, 1)) return checker.ErrorExpr(call.span);
  MapPlace place;
  if (!checker.CheckMapArgument(call, row, 0, false, place)) return checker.ErrorExpr(call.span);
  Call* node = checker.NewCall(row, call, checker.types().None());
  node->action = checker.AddAction(
      {.kind = kind, .span = call.span, .map = place.map, .closed_window = place.closed_window});
  node->place = std::move(place);
  return node;
}

Expr* CheckClear(Checker& checker, const Row& row, const CallSyntax& call) {
  return CheckWhole(checker, row, call, plan::ActionKind::kClear);
}

Expr* CheckZero(Checker& checker, const Row& row, const CallSyntax& call) {
  return CheckWhole(checker, row, call, plan::ActionKind::kZero);
}

// FUNCTION(@m, key): the map and its key, which may be a tuple of all keys.
bool CheckMapAndKey(Checker& checker, const Row& row, const CallSyntax& call, MapPlace& place) {
  auto arguments = Checker::Positional(call);
  if (!checker.CheckMapArgument(call, row, 0, false, place)) return false;
  checker.CheckKeys(place, {arguments[1]}, call.span);
  return true;
}

Expr* CheckDelete(Checker& checker, const Row& row, const CallSyntax& call) {
  if (!checker.CheckCount(call, row, 1, 2)) return checker.ErrorExpr(call.span);
  MapPlace place;
  bool is_place = Checker::Positional(call).size() == 1;
  bool fine = is_place ? checker.CheckMapArgument(call, row, 0, true, place)
                       : CheckMapAndKey(checker, row, call, place);
  if (!fine) return checker.ErrorExpr(call.span);
  Call* node = checker.NewCall(row, call, checker.types().Bool());
  place.closed_window = false;
  node->place = std::move(place);
  return node;
}

Expr* CheckLen(Checker& checker, const Row& row, const CallSyntax& call) {
  if (!checker.CheckCount(call, row, 1, 1)) return checker.ErrorExpr(call.span);
  MapPlace place;
  if (!checker.CheckMapArgument(call, row, 0, false, place)) return checker.ErrorExpr(call.span);
  Call* node = checker.NewCall(row, call, checker.types().Int64());
  node->place = std::move(place);
  return node;
}

Expr* CheckHasKey(Checker& checker, const Row& row, const CallSyntax& call) {
  if (!checker.CheckCount(call, row, 2, 2)) return checker.ErrorExpr(call.span);
  MapPlace place;
  if (!CheckMapAndKey(checker, row, call, place)) return checker.ErrorExpr(call.span);
  Call* node = checker.NewCall(row, call, checker.types().Bool());
  node->place = std::move(place);
  return node;
}

Expr* CheckFind(Checker& checker, const Row& row, const CallSyntax& call) {
  if (!checker.CheckCount(call, row, 3, 3)) return checker.ErrorExpr(call.span);
  const syntax::Expr& out = *Checker::Positional(call)[2];
  if (out.kind != syntax::ExprKind::kVariable) {
    checker.Error(Code::kExpectedVariable, out.span, "what find() sets is a variable")
        .Note(fmt::format("written as {}", row.signature));
    return checker.ErrorExpr(call.span);
  }
  MapPlace place;
  if (!CheckMapAndKey(checker, row, call, place)) return checker.ErrorExpr(call.span);
  types::Type type = checker.ReadType(place.map);
  types::Type held = checker.MapValue(place.map);
  if (held && !type) {
    checker.Error(Code::kNotNumber, call.span,
                  fmt::format("{} holds {}, which is no single value", checker.MapName(place.map),
                              held.Name()));
    return checker.ErrorExpr(call.span);
  }
  const auto& variable = static_cast<const syntax::Variable&>(out);
  Id id = checker.VariableFor(variable, type ? type : checker.types().Error());
  Call* node = checker.NewCall(row, call, checker.types().Bool());
  node->place = std::move(place);
  auto* target = checker.New<Variable>(ExprKind::kVariable, out.span, checker.VariableType(id));
  target->variable = id;
  node->arguments.push_back(target);
  return node;
}

}  // namespace

constinit const Row kClearRow = {
    Function::kClear,
    RowKind::kFunction,
    "clear(@map)",
    "Removes all keys. Exact where the same block of an interval prints the map.",
    "interval:1s { print(@); clear(@); } tracepoint:kmem:mm_page_alloc { @[comm] = count(); }",
    CheckClear};
constinit const Row kZeroRow = {
    Function::kZero,
    RowKind::kFunction,
    "zero(@map)",
    "Sets the values of all keys to zero.",
    "interval:1s { print(@); zero(@); } tracepoint:kmem:mm_page_alloc { @[comm] = count(); }",
    CheckZero};
constinit const Row kDeleteRow = {Function::kDelete,
                                  RowKind::kFunction,
                                  "bool delete(@map[key]), bool delete(@map, key)",
                                  "Removes one key; tells whether it was there.",
                                  "tracepoint:kmem:mm_page_free { delete(@, args.pfn); } "
                                  "tracepoint:kmem:mm_page_alloc { @[args.pfn] = nsecs; }",
                                  CheckDelete};
constinit const Row kLenRow = {
    Function::kLen,
    RowKind::kFunction,
    "int64 len(@map)",
    "Number of keys.",
    "tracepoint:kmem:mm_page_alloc { @[comm] = count(); } interval:1s { print(len(@)); }",
    CheckLen};
constinit const Row kHasKeyRow = {
    Function::kHasKey,
    RowKind::kFunction,
    "bool has_key(@map, key)",
    "Whether the key is there.",
    "tracepoint:kmem:mm_page_alloc /!has_key(@, tid)/ { @[tid] = nsecs; }",
    CheckHasKey};
constinit const Row kFindRow = {
    Function::kFind,
    RowKind::kFunction,
    "bool find(@map, key, $value)",
    "Sets $value to what is kept under the key and tells whether it was there; else leaves it.",
    "tracepoint:kmem:mm_page_free { if (find(@, args.pfn, $t)) { @ns = hist(nsecs - $t); } } "
    "tracepoint:kmem:mm_page_alloc { @[args.pfn] = nsecs; }",
    CheckFind};

}  // namespace memtrace::sema
