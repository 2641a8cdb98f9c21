// Expressions but for operators, members, names and calls; and conversions.
#include <charconv>

#include <fmt/format.h>

#include "compiler/kernel/c_types.h"
#include "compiler/sema/checker.h"

namespace memtrace::sema {

using diag::Code;
using types::Kind;
using types::Unit;

namespace {

template <typename T>
const T& As(const syntax::Expr& expr) {
  return static_cast<const T&>(expr);
}

// `bits` cut to the size of an integer type and extended to 64 bits again.
uint64_t Extended(uint64_t bits, const types::TypeInfo& type) {
  if (type.kind == Kind::kBool) return bits != 0;
  if (type.size == 0 || type.size >= 8) return bits;
  int shift = 64 - 8 * static_cast<int>(type.size);
  bits <<= shift;
  if (type.is_signed) return static_cast<uint64_t>(static_cast<int64_t>(bits) >> shift);
  return bits >> shift;
}

}  // namespace

Expr* Checker::ErrorExpr(Span span) { return ConstantOf(span, types().Error(), 0); }

Expr* Checker::ConstantOf(Span span, Type type, uint64_t bits) {
  auto* node = New<Constant>(ExprKind::kConstant, span, type);
  node->bits = Extended(bits, *type);
  return node;
}

bool Checker::IsLiteral(const Expr& expr) {
  return expr.kind == ExprKind::kConstant && expr.type.Is(Kind::kInt) &&
         static_cast<int64_t>(static_cast<const Constant&>(expr).bits) >= 0;
}

Expr* Checker::CheckExpr(const syntax::Expr& expr) {
  switch (expr.kind) {
    case syntax::ExprKind::kInteger: {
      const auto& integer = As<syntax::Integer>(expr);
      return ConstantOf(expr.span, types().Int(8, integer.value <= INT64_MAX, UnitOf(integer.unit)),
                        integer.value);
    }
    case syntax::ExprKind::kString:
      return CheckString(As<syntax::String>(expr));
    case syntax::ExprKind::kBool:
      return ConstantOf(expr.span, types().Bool(), As<syntax::Bool>(expr).value);
    case syntax::ExprKind::kName:
      return CheckName(As<syntax::Name>(expr));
    case syntax::ExprKind::kVariable:
      return CheckVariable(As<syntax::Variable>(expr));
    case syntax::ExprKind::kMap:
      return ReadMap(expr.span, CheckPlace(As<syntax::Map>(expr)));
    case syntax::ExprKind::kPositional:
      return CheckPositional(As<syntax::Positional>(expr));
    case syntax::ExprKind::kPositionalCount:
      return ConstantOf(expr.span, types().Int64(), options_.positional.size());
    case syntax::ExprKind::kUnary:
      return CheckUnary(As<syntax::Unary>(expr));
    case syntax::ExprKind::kBinary:
      return CheckBinary(As<syntax::Binary>(expr));
    case syntax::ExprKind::kConditional:
      return CheckConditional(As<syntax::Conditional>(expr));
    case syntax::ExprKind::kCall:
      return CheckCall(As<syntax::Call>(expr));
    case syntax::ExprKind::kMember:
      return CheckMember(As<syntax::Member>(expr));
    case syntax::ExprKind::kIndex:
      return CheckIndex(As<syntax::Index>(expr));
    case syntax::ExprKind::kCast:
      return CheckCast(As<syntax::Cast>(expr));
    case syntax::ExprKind::kTuple: {
      std::vector<Expr*> elements;
      for (const syntax::Expr* element : As<syntax::Tuple>(expr).elements) {
        elements.push_back(CheckValue(*element));
      }
      return CheckTuple(expr.span, elements, {});
    }
    case syntax::ExprKind::kRecord: {
      std::vector<Expr*> elements;
      std::vector<std::string> names;
      for (const syntax::Argument& element : As<syntax::Record>(expr).elements) {
        elements.push_back(CheckValue(*element.value));
        names.push_back(element.name);
      }
      return CheckTuple(expr.span, elements, names);
    }
    case syntax::ExprKind::kSizeof:
      return CheckSizeof(As<syntax::Sizeof>(expr));
    case syntax::ExprKind::kOffsetof:
      return CheckOffsetof(As<syntax::Offsetof>(expr));
    case syntax::ExprKind::kIncrement:
      return CheckIncrement(As<syntax::Increment>(expr));
    case syntax::ExprKind::kUnit:
      return CheckUnitCast(As<syntax::UnitCast>(expr));
    case syntax::ExprKind::kIn:
      return CheckIn(As<syntax::In>(expr));
    case syntax::ExprKind::kHas:
      return ConstantOf(expr.span, types().Bool(), Decide(expr).value_or(false));
    case syntax::ExprKind::kError:
      return ErrorExpr(expr.span);
  }
  return ErrorExpr(expr.span);
}

Expr* Checker::CheckValue(const syntax::Expr& expr) {
  Expr* value = CheckExpr(expr);
  if (value->type.Is(Kind::kNone)) {
    Error(Code::kNoValue, expr.span, "this gives no value");
    return ErrorExpr(expr.span);
  }
  return value;
}

Expr* Checker::CheckString(const syntax::String& string) {
  size_t size = string.value.size() + 1;
  if (size > config_.max_strlen) {
    Error(Code::kStringTooLong, string.span,
          fmt::format("a string of {} bytes is longer than max_strlen, {}", size - 1,
                      config_.max_strlen))
        .Note("config = { max_strlen = … } makes room");
    return ErrorExpr(string.span);
  }
  auto* node =
      New<String>(ExprKind::kString, string.span, types().String(static_cast<uint32_t>(size)));
  node->value = string.value;
  return node;
}

bool Checker::IsGiven(const syntax::Positional& positional) const {
  return positional.index > 0 && positional.index <= options_.positional.size();
}

// $1 is a number when it looks like one, and a string else. One that was not given is 0, and "" in
// str().
Expr* Checker::CheckPositional(const syntax::Positional& positional) {
  if (!IsGiven(positional)) {
    return ConstantOf(positional.span, types().Int64(), 0);
  }
  std::string_view text = options_.positional[positional.index - 1];
  std::string_view digits = text;
  bool is_negative = digits.starts_with('-');
  if (is_negative) digits.remove_prefix(1);
  int base = 10;
  if (digits.starts_with("0x")) {
    base = 16;
    digits.remove_prefix(2);
  }
  uint64_t value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (!digits.empty() && error == std::errc() && end == digits.data() + digits.size()) {
    bool is_signed = is_negative || value <= INT64_MAX;
    return ConstantOf(positional.span, types().Int(8, is_signed), is_negative ? -value : value);
  }
  auto* node = New<String>(ExprKind::kString, positional.span,
                           types().String(static_cast<uint32_t>(text.size() + 1)));
  node->value = std::string(text);
  return node;
}

Expr* Checker::CheckCondition(const syntax::Expr& expr) {
  Expr* value = CheckValue(expr);
  if (value->type.IsError() || value->type.IsPointer()) return value;
  if (Expr* integer = AsInteger(value)) return integer;
  auto builder = Error(Code::kBadCondition, expr.span,
                       fmt::format("{} is neither true nor false", value->type.Name()));
  if (value->type.Is(Kind::kString)) builder.Note("compare it: x != \"\"");
  return ErrorExpr(expr.span);
}

Expr* Checker::CheckInteger(const syntax::Expr& expr, std::string_view what) {
  Expr* value = CheckValue(expr);
  if (value->type.IsError()) return value;
  if (Expr* integer = AsInteger(value)) return integer;
  Error(Code::kExpectedInteger, expr.span,
        fmt::format("{} is a number, this is {}", what, value->type.Name()));
  return ErrorExpr(expr.span);
}

bool Checker::CheckConstant(const syntax::Expr& expr, std::string_view what, int64_t low,
                            int64_t high, int64_t& out) {
  Expr* value = CheckInteger(expr, what);
  if (value->type.IsError()) return false;
  if (value->kind != ExprKind::kConstant) {
    Error(Code::kNotConstant, expr.span,
          fmt::format("{} has to be known before the script runs", what));
    return false;
  }
  out = static_cast<int64_t>(static_cast<Constant*>(value)->bits);
  if (out >= low && out <= high) return true;
  Error(Code::kOutOfRange, expr.span, fmt::format("{} is from {} to {}", what, low, high));
  return false;
}

const std::string* Checker::CheckLiteral(const syntax::Expr& expr, std::string_view what) {
  if (expr.kind == syntax::ExprKind::kString) return &As<syntax::String>(expr).value;
  Error(Code::kExpectedLiteral, expr.span, fmt::format("{} is a string in quotes", what));
  return nullptr;
}

Expr* Checker::AsInteger(Expr* expr) {
  if (expr->type.IsInteger()) return expr;
  // mm_flags_t, atomic_long_t and their like: structs around one number.
  while (expr->type.IsStruct()) {
    Complete(expr->type);
    if (expr->type->members.size() != 1) return nullptr;
    const types::Member& member = expr->type->members[0];
    auto* node = New<Member>(ExprKind::kMember, expr->span, member.type);
    node->object = expr;
    node->offset = member.offset;
    node->bit_offset = member.bit_offset;
    node->bit_size = member.bit_size;
    expr = node;
    if (expr->type.IsInteger()) return expr;
  }
  return nullptr;
}

Expr* Checker::CheckConditional(const syntax::Conditional& conditional) {
  if (std::optional<bool> decided = Decide(*conditional.condition)) {
    if (!*decided) return CheckValue(*conditional.otherwise);
    if (conditional.then != nullptr) return CheckValue(*conditional.then);
  }
  Expr* condition = CheckCondition(*conditional.condition);
  Expr* then = conditional.then != nullptr ? CheckValue(*conditional.then) : condition;
  Expr* otherwise = CheckValue(*conditional.otherwise);
  if (then->type.IsError() || otherwise->type.IsError() || condition->type.IsError()) {
    return ErrorExpr(conditional.span);
  }
  if (Expr* integer = AsInteger(then)) then = integer;
  if (Expr* integer = AsInteger(otherwise)) otherwise = integer;
  Type type = Unify(then->type, IsLiteral(*then), otherwise->type, IsLiteral(*otherwise), types());
  if (!type) {
    Error(Code::kTypeClash, conditional.span, "the two values have different types")
        .Label(then->span, fmt::format("this is {}", then->type.Name()))
        .Label(otherwise->span, fmt::format("this is {}", otherwise->type.Name()));
    return ErrorExpr(conditional.span);
  }
  auto* node = New<Conditional>(ExprKind::kConditional, conditional.span, type);
  node->otherwise = Convert(otherwise, type);
  if (conditional.then != nullptr) {
    node->condition = condition;
    node->then = Convert(then, type);
  } else {
    node->condition = Convert(condition, type);
    node->then = nullptr;
  }
  return node;
}

Expr* Checker::CheckTuple(Span span, const std::vector<Expr*>& elements,
                          const std::vector<std::string>& names) {
  auto* node = New<Tuple>(ExprKind::kTuple, span, types().Error());
  std::vector<std::pair<std::string, Type>> named;
  std::vector<Type> unnamed;
  for (size_t i = 0; i < elements.size(); ++i) {
    Expr* element = elements[i];
    if (element->type.IsError()) return ErrorExpr(span);
    element = Convert(element, Widened(element->type, types()));
    node->elements.push_back(element);
    unnamed.push_back(element->type);
    named.emplace_back(names.empty() ? "" : names[i], element->type);
  }
  node->type = names.empty() ? types().Tuple(unnamed) : types().Record(named);
  return node;
}

Expr* Checker::ConvertTuple(Expr* expr, Type type) {
  auto* node = New<Tuple>(ExprKind::kTuple, expr->span, type);
  for (uint32_t i = 0; i < type->members.size(); ++i) {
    Expr* element;
    if (expr->kind == ExprKind::kTuple) {
      element = static_cast<Tuple*>(expr)->elements[i];
    } else {
      auto* taken =
          New<TupleElement>(ExprKind::kTupleElement, expr->span, expr->type->members[i].type);
      taken->tuple = expr;
      taken->index = i;
      element = taken;
    }
    node->elements.push_back(Convert(element, type->members[i].type));
  }
  return node;
}

Expr* Checker::Convert(Expr* expr, Type type) {
  if (expr->type == type || expr->type.IsError() || type.IsError()) return expr;
  if (type.IsTuple()) return ConvertTuple(expr, type);
  if (expr->kind == ExprKind::kConstant && (type.IsInteger() || type.IsPointer())) {
    return ConstantOf(expr->span, type, static_cast<Constant*>(expr)->bits);
  }
  if (expr->kind == ExprKind::kString && type.Is(Kind::kString)) {
    auto* node = New<String>(ExprKind::kString, expr->span, type);
    node->value = static_cast<String*>(expr)->value;
    return node;
  }
  if (Expr* integer = type.IsInteger() ? AsInteger(expr) : nullptr) expr = integer;
  auto* node = New<Cast>(ExprKind::kCast, expr->span, type);
  node->operand = expr;
  return node;
}

}  // namespace memtrace::sema
