// count() and its relatives: what stands on the right of `@map[key] = `.
#include <fmt/format.h>

#include "compiler/builtins/rows/rows.h"

namespace memtrace::sema {

using diag::Code;
using types::Aggregation;
using types::Kind;

namespace {

// lhist() with more buckets than this is a mistake in its step rather than a wish.
constexpr int64_t kMaxLinearBuckets = 1000;

Expr* Aggregated(Checker& checker, const Row& row, const CallSyntax& call, types::TypeInfo info,
                 Expr* value) {
  info.kind = Kind::kAggregation;
  if (value != nullptr) {
    if (value->type.IsError()) return checker.ErrorExpr(call.span);
    info.target = Widened(value->type, checker.types());
    if (!info.target.Is(Kind::kInt)) info.target = checker.types().Int(8, value->type->is_signed);
    value = Checker::IsLiteral(*value) ? value : checker.Convert(value, info.target);
  } else {
    info.target = checker.types().Uint64();
  }
  Call* node = checker.NewCall(row, call, checker.types().MakeAggregation(std::move(info)));
  if (value != nullptr) node->arguments.push_back(value);
  return node;
}

Expr* CheckCount(Checker& checker, const Row& row, const CallSyntax& call) {
  if (!checker.CheckCount(call, row, 0, 0)) return checker.ErrorExpr(call.span);
  return Aggregated(checker, row, call, {.aggregation = Aggregation::kCount}, nullptr);
}

Expr* CheckOfNumber(Checker& checker, const Row& row, const CallSyntax& call,
                    Aggregation aggregation) {
  if (!checker.CheckCount(call, row, 1, 1)) return checker.ErrorExpr(call.span);
  Expr* value = checker.CheckInteger(*Checker::Positional(call)[0],
                                     fmt::format("what {}() takes", Spelling(row.function)));
  return Aggregated(checker, row, call, {.aggregation = aggregation}, value);
}

Expr* CheckSum(Checker& checker, const Row& row, const CallSyntax& call) {
  return CheckOfNumber(checker, row, call, Aggregation::kSum);
}
Expr* CheckMin(Checker& checker, const Row& row, const CallSyntax& call) {
  return CheckOfNumber(checker, row, call, Aggregation::kMin);
}
Expr* CheckMax(Checker& checker, const Row& row, const CallSyntax& call) {
  return CheckOfNumber(checker, row, call, Aggregation::kMax);
}
Expr* CheckAvg(Checker& checker, const Row& row, const CallSyntax& call) {
  return CheckOfNumber(checker, row, call, Aggregation::kAvg);
}
Expr* CheckStats(Checker& checker, const Row& row, const CallSyntax& call) {
  return CheckOfNumber(checker, row, call, Aggregation::kStats);
}

Expr* CheckHist(Checker& checker, const Row& row, const CallSyntax& call) {
  if (!checker.CheckCount(call, row, 1, 2)) return checker.ErrorExpr(call.span);
  auto arguments = Checker::Positional(call);
  Expr* value = checker.CheckInteger(*arguments[0], "what hist() takes");
  int64_t bits = 0;
  if (arguments.size() == 2 &&
      !checker.CheckConstant(*arguments[1], "the bits of hist()", 0, 5, bits)) {
    return checker.ErrorExpr(call.span);
  }
  return Aggregated(checker, row, call,
                    {.aggregation = Aggregation::kHist, .hist_bits = static_cast<uint32_t>(bits)},
                    value);
}

Expr* CheckLhist(Checker& checker, const Row& row, const CallSyntax& call) {
  if (!checker.CheckCount(call, row, 4, 4)) return checker.ErrorExpr(call.span);
  auto arguments = Checker::Positional(call);
  Expr* value = checker.CheckInteger(*arguments[0], "what lhist() takes");
  int64_t min = 0, max = 0, step = 1;
  bool known = checker.CheckConstant(*arguments[1], "the least value of lhist()", INT64_MIN / 4,
                                     INT64_MAX / 4, min);
  known = checker.CheckConstant(*arguments[2], "the greatest value of lhist()", INT64_MIN / 4,
                                INT64_MAX / 4, max) &&
          known;
  known =
      checker.CheckConstant(*arguments[3], "the step of lhist()", 1, INT64_MAX / 4, step) && known;
  if (!known) return checker.ErrorExpr(call.span);
  if (max <= min) {
    checker
        .Error(Code::kOutOfRange, call.span,
               fmt::format("lhist() from {} to {} has no buckets", min, max))
        .Note(fmt::format("written as {}", row.signature));
    return checker.ErrorExpr(call.span);
  }
  if ((max - min + step - 1) / step > kMaxLinearBuckets) {
    checker
        .Error(Code::kOutOfRange, call.span,
               fmt::format("lhist() has {} buckets, more than {}", (max - min + step - 1) / step,
                           kMaxLinearBuckets))
        .Note("take a larger step");
    return checker.ErrorExpr(call.span);
  }
  return Aggregated(checker, row, call,
                    {.aggregation = Aggregation::kLinearHist,
                     .lhist_min = min,
                     .lhist_max = max,
                     .lhist_step = step},
                    value);
}

}  // namespace

constinit const Row kCountRow = {Function::kCount,
                                 RowKind::kAggregation,
                                 "@map[key] = count()",
                                 "How often this ran.",
                                 "tracepoint:kmem:mm_page_alloc { @[comm] = count(); }",
                                 CheckCount};
constinit const Row kSumRow = {Function::kSum,
                               RowKind::kAggregation,
                               "@map[key] = sum(int n)",
                               "Sum of n.",
                               "tracepoint:kmem:mm_page_alloc { @[comm] = sum(1 << args.order); }",
                               CheckSum};
constinit const Row kMinRow = {Function::kMin,
                               RowKind::kAggregation,
                               "@map[key] = min(int n)",
                               "Least n.",
                               "tracepoint:kmem:mm_page_alloc { @ = min(args.order); }",
                               CheckMin};
constinit const Row kMaxRow = {Function::kMax,
                               RowKind::kAggregation,
                               "@map[key] = max(int n)",
                               "Greatest n.",
                               "tracepoint:kmem:mm_page_alloc { @ = max(args.order); }",
                               CheckMax};
constinit const Row kAvgRow = {Function::kAvg,
                               RowKind::kAggregation,
                               "@map[key] = avg(int n)",
                               "Mean of n, rounded towards zero.",
                               "tracepoint:kmem:mm_page_alloc { @ = avg(args.order); }",
                               CheckAvg};
constinit const Row kStatsRow = {Function::kStats,
                                 RowKind::kAggregation,
                                 "@map[key] = stats(int n)",
                                 "Count, total, mean, least and greatest n.",
                                 "tracepoint:kmem:mm_page_alloc { @[comm] = stats(args.order); }",
                                 CheckStats};
constinit const Row kHistRow = {Function::kHist,
                                RowKind::kAggregation,
                                "@map[key] = hist(int n[, int bits])",
                                "Histogram of n by powers of two, each cut into 2^bits buckets "
                                "(bits is 0 to 5, 0 when not given).",
                                "tracepoint:syscalls:sys_enter_read { @bytes = hist(args.count); }",
                                CheckHist};
constinit const Row kLhistRow = {
    Function::kLhist,
    RowKind::kAggregation,
    "@map[key] = lhist(int n, int min, int max, int step)",
    "Histogram of n in steps of equal width from min to max, and one bucket on each side for the "
    "rest.",
    "tracepoint:kmem:mm_page_alloc { @ = lhist(args.order, 0, 11, 1); }",
    CheckLhist};

}  // namespace memtrace::sema
