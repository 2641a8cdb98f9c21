// Calls: finding the row, counting arguments, actions.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/sema/checker.h"

namespace memtrace::sema {

using diag::Code;

namespace {

// Functions of the language that this version does not have, and other tracers' names for what it
// does.
struct OtherFunction {
  std::string_view name;
  std::string_view note;  // empty: not supported by this version
};
constexpr OtherFunction kOtherFunctions[] = {
    {"cat", ""},
    {"system", ""},
    {"join", ""},
    {"buf", ""},
    {"path", ""},
    {"kaddr", ""},
    {"uaddr", ""},
    {"reg", ""},
    {"strstr", ""},
    {"substr", ""},
    {"memcmp", ""},
    {"bswap", ""},
    {"ntop", ""},
    {"pton", ""},
    {"macaddr", ""},
    {"signal", ""},
    {"strerror", ""},
    {"signal_name", ""},
    {"syscall_name", ""},
    {"percpu_kaddr", ""},
    {"container_of", ""},
    {"assert", ""},
    {"getopt", ""},
    {"tseries", ""},
    {"flags", ""},
    {"printk", "printf() prints where memtrace runs"},
    {"strcmp", "strings are compared by =="},
    {"memcpy", "a struct's fields are read in place: x.field"},
    {"quantize", "a histogram by powers of two is hist()"},
    {"lquantize", "a linear histogram is lhist()"},
    {"stack", "stacks are kstack and ustack"},
    {"copyinstr", "str() reads a string"},
    {"trace", "print() prints a value"},
    {"stringof", "str() reads a string"},
};

}  // namespace

const Row* FindRow(std::string_view name) {
  for (size_t i = 0; i < kFunctionCount; ++i) {
    if (kFunctionSpellings[i] == name) return &Rows()[i];
  }
  return nullptr;
}

std::vector<const syntax::Expr*> Checker::Positional(const CallSyntax& call) {
  std::vector<const syntax::Expr*> exprs;
  if (call.arguments == nullptr) return exprs;
  for (const syntax::Argument& argument : *call.arguments) {
    if (argument.name.empty()) exprs.push_back(argument.value);
  }
  return exprs;
}

const syntax::Expr* Checker::Named(const CallSyntax& call, std::string_view name) {
  if (call.arguments == nullptr) return nullptr;
  for (const syntax::Argument& argument : *call.arguments) {
    if (argument.name == name) return argument.value;
  }
  return nullptr;
}

bool Checker::CheckCount(const CallSyntax& call, const Row& row, size_t least, size_t most,
                         const std::vector<std::string_view>& names) {
  std::string_view function = Spelling(row.function);
  if (call.arguments != nullptr) {
    for (const syntax::Argument& argument : *call.arguments) {
      if (argument.name.empty() ||
          std::find(names.begin(), names.end(), argument.name) != names.end()) {
        continue;
      }
      Error(Code::kUnknownArgument, argument.value->span,
            fmt::format("{}() has no argument called `{}`", function, argument.name))
          .Note(fmt::format("written as {}", row.signature));
      return false;
    }
  }
  size_t count = Positional(call).size();
  if (count >= least && count <= most) return true;
  std::string takes = least == most      ? std::to_string(least)
                      : most == SIZE_MAX ? fmt::format("at least {}", least)
                                         : fmt::format("{} to {}", least, most);
  if (least == 0 && most == 0) takes = "no";
  bool is_one = least == 1 && (most == 1 || most == SIZE_MAX);
  Error(Code::kArgumentCount, call.span,
        fmt::format("{}() takes {} argument{}, here {} {}", function, takes, is_one ? "" : "s",
                    count == 1 ? "is" : "are", count))
      .Note(fmt::format("written as {}", row.signature));
  return false;
}

Call* Checker::NewCall(const Row& row, const CallSyntax& call, Type type) {
  auto* node = New<Call>(ExprKind::kCall, call.span, type);
  node->function = row.function;
  return node;
}

plan::Index Checker::AddAction(ActionSite site) {
  product_.actions.push_back(std::move(site));
  return static_cast<plan::Index>(product_.actions.size() - 1);
}

const Row* Checker::AggregationOf(const syntax::Expr& expr) {
  if (expr.kind != syntax::ExprKind::kCall) return nullptr;
  const Row* row = FindRow(static_cast<const syntax::Call&>(expr).name);
  return row != nullptr && row->kind == RowKind::kAggregation ? row : nullptr;
}

Expr* Checker::CallAggregation(const syntax::Call& call) {
  const Row& row = *FindRow(call.name);
  return row.check(*this, row,
                   {.span = call.span, .name_span = call.name_span, .arguments = &call.arguments});
}

Expr* Checker::CheckCall(const syntax::Call& call) {
  const Row* row = FindRow(call.name);
  if (row == nullptr) {
    ReportUnknownFunction(call);
    return ErrorExpr(call.span);
  }
  if (row->kind == RowKind::kBuiltin) {
    Error(Code::kNotCallable, call.name_span,
          fmt::format("{} is written without parentheses", call.name));
    return ErrorExpr(call.span);
  }
  if (row->kind == RowKind::kAggregation) {
    Error(Code::kAggregationMisuse, call.span,
          fmt::format("{}() stands alone on the right of a map's assignment", call.name))
        .Note(fmt::format("for example {}", row->example));
    return ErrorExpr(call.span);
  }
  return row->check(*this, *row,
                    {.span = call.span, .name_span = call.name_span, .arguments = &call.arguments});
}

void Checker::ReportUnknownFunction(const syntax::Call& call) {
  for (const OtherFunction& other : kOtherFunctions) {
    if (other.name != call.name) continue;
    if (other.note.empty()) {
      Error(Code::kUnsupportedFeature, call.name_span,
            fmt::format("{}() is not supported by this version of memtrace", call.name));
    } else {
      Error(Code::kUnknownFunction, call.name_span,
            fmt::format("no function is called `{}`", call.name))
          .Note(std::string(other.note));
    }
    return;
  }
  std::vector<std::string_view> names;
  for (const Row& row : Rows()) {
    if (row.kind != RowKind::kBuiltin) names.push_back(Spelling(row.function));
  }
  auto builder = Error(Code::kUnknownFunction, call.name_span,
                       fmt::format("no function is called `{}`", call.name));
  std::string_view closest = diag::ClosestName(call.name, names);
  if (!closest.empty()) builder.Hint(fmt::format("did you mean `{}`?", closest));
}

}  // namespace memtrace::sema
