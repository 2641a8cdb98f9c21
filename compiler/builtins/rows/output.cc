// print, time, exit. printf is in printf.cc.
#include <fmt/format.h>

#include "compiler/builtins/rows/rows.h"

namespace memtrace::sema {

using diag::Code;
using types::Kind;

namespace {

constexpr std::string_view kTop = "top", kDiv = "div", kBy = "by", kDesc = "desc";
constexpr int64_t kMaxTop = 1 << 24;
constexpr uint64_t kMaxExitStatus = 255;  // exit(3) keeps no more

bool CheckNotYet(Checker& checker, const CallSyntax& call) {
  for (std::string_view name : {kBy, kDesc}) {
    if (const syntax::Expr* expr = Checker::Named(call, name)) {
      checker.Error(Code::kUnsupportedFeature, expr->span,
                    fmt::format("{}= is not supported by this version of memtrace", name));
      return false;
    }
  }
  return true;
}

// top and div: the second and third argument, or by name.
bool CheckLimit(Checker& checker, const CallSyntax& call, size_t index, std::string_view name,
                int64_t& out) {
  auto arguments = Checker::Positional(call);
  const syntax::Expr* expr = Checker::Named(call, name);
  if (expr == nullptr && arguments.size() > index) expr = arguments[index];
  return expr == nullptr ||
         checker.CheckConstant(*expr, fmt::format("{} of print()", name), index == 1 ? 0 : 1,
                               index == 1 ? kMaxTop : INT64_MAX, out);
}

Expr* PrintMap(Checker& checker, const Row& row, const CallSyntax& call) {
  if (!checker.CheckCount(call, row, 1, 3, {kTop, kDiv})) return checker.ErrorExpr(call.span);
  MapPlace place;
  ActionSite site{.kind = plan::ActionKind::kPrintMap, .span = call.span};
  if (!checker.CheckMapArgument(call, row, 0, false, place) ||
      !CheckLimit(checker, call, 1, kTop, site.top) ||
      !CheckLimit(checker, call, 2, kDiv, site.div)) {
    return checker.ErrorExpr(call.span);
  }
  site.map = place.map;
  site.closed_window = place.closed_window;
  Call* node = checker.NewCall(row, call, checker.types().None());
  node->action = checker.AddAction(std::move(site));
  node->place = std::move(place);
  return node;
}

bool CanBePrinted(types::Type type) {
  return type.IsScalar() || type.Is(Kind::kString) || type.IsTuple() || type.IsStack() ||
         type.Is(Kind::kUserSymbol) || type.Is(Kind::kBuffer);
}

Expr* CheckPrint(Checker& checker, const Row& row, const CallSyntax& call) {
  auto arguments = Checker::Positional(call);
  if (!CheckNotYet(checker, call)) return checker.ErrorExpr(call.span);
  if (!arguments.empty() && arguments[0]->kind == syntax::ExprKind::kMap &&
      static_cast<const syntax::Map*>(arguments[0])->keys.empty()) {
    return PrintMap(checker, row, call);
  }
  if (!checker.CheckCount(call, row, 1, 1)) return checker.ErrorExpr(call.span);
  Expr* value = checker.CheckValue(*arguments[0]);
  if (value->type.IsError()) return checker.ErrorExpr(call.span);
  if (value->type.IsStruct()) {
    if (Expr* integer = checker.AsInteger(value)) value = integer;
  }
  if (!CanBePrinted(value->type)) {
    checker
        .Error(Code::kBadPrint, arguments[0]->span,
               fmt::format("{} can't be printed as a whole", value->type.Name()))
        .Note("print its fields or elements");
    return checker.ErrorExpr(call.span);
  }
  Call* node = checker.NewCall(row, call, checker.types().None());
  node->arguments.push_back(value);
  node->action = checker.AddAction(
      {.kind = plan::ActionKind::kPrintValue, .span = call.span, .arguments = {value->type}});
  return node;
}

Expr* CheckTime(Checker& checker, const Row& row, const CallSyntax& call) {
  if (!checker.CheckCount(call, row, 0, 1)) return checker.ErrorExpr(call.span);
  auto arguments = Checker::Positional(call);
  std::string format = "%H:%M:%S\n";
  if (!arguments.empty()) {
    const std::string* given = checker.CheckLiteral(*arguments[0], "the format of time()");
    if (given == nullptr) return checker.ErrorExpr(call.span);
    format = *given;
  }
  Call* node = checker.NewCall(row, call, checker.types().None());
  node->action = checker.AddAction(
      {.kind = plan::ActionKind::kTime, .span = call.span, .format = std::move(format)});
  return node;
}

Expr* CheckExit(Checker& checker, const Row& row, const CallSyntax& call) {
  if (!checker.CheckCount(call, row, 0, 1)) return checker.ErrorExpr(call.span);
  auto arguments = Checker::Positional(call);
  types::Type type = checker.types().Int64();
  Expr* status = arguments.empty() ? checker.ConstantOf(call.span, type, 0)
                                   : checker.CheckInteger(*arguments[0], "the status of exit()");
  if (status->kind == ExprKind::kConstant &&
      static_cast<const Constant*>(status)->bits > kMaxExitStatus) {
    checker.Error(Code::kOutOfRange, arguments[0]->span,
                  fmt::format("an exit status is from 0 to {}", kMaxExitStatus));
    return checker.ErrorExpr(call.span);
  }
  Call* node = checker.NewCall(row, call, checker.types().None());
  node->arguments.push_back(checker.Convert(status, type));
  node->action =
      checker.AddAction({.kind = plan::ActionKind::kExit, .span = call.span, .arguments = {type}});
  return node;
}

}  // namespace

constinit const Row kPrintRow = {
    Function::kPrint,
    RowKind::kFunction,
    "print(value), print(@map[, top[, div]])",
    "Prints a value, or a map: only its `top` greatest entries, each divided by `div`.",
    "interval:1s { print(@, top = 5); } tracepoint:kmem:mm_page_alloc { @[comm] = count(); }",
    CheckPrint};
constinit const Row kTimeRow = {
    Function::kTime,
    RowKind::kFunction,
    "time([string format])",
    "Prints the wall-clock time, through strftime(3)'s format (\"%H:%M:%S\\n\").",
    "interval:1s { time(\"%H:%M:%S \"); }",
    CheckTime};
constinit const Row kExitRow = {
    Function::kExit,
    RowKind::kFunction,
    "exit([int status])",
    "Ends the session and the clause; `status` (0) is memtrace's exit status.",
    "interval:10s { exit(); }",
    CheckExit};

}  // namespace memtrace::sema
