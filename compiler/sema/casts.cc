// Casts, units, ranges, sizeof, offsetof and increments.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/kernel/c_types.h"
#include "compiler/sema/checker.h"

namespace memtrace::sema {

using diag::Code;
using types::Kind;
using types::Unit;

namespace {

// The language's own names of integers; C's are known to kernel::BasicCType.
struct IntName {
  std::string_view name;
  uint32_t size;
  bool is_signed;
};
constexpr IntName kIntNames[] = {
    {"int8", 1, true},   {"int16", 2, true},   {"int32", 4, true},   {"int64", 8, true},
    {"uint8", 1, false}, {"uint16", 2, false}, {"uint32", 4, false}, {"uint64", 8, false},
};

Type IntNamed(std::string_view name, types::TypeTable& types) {
  for (const IntName& row : kIntNames) {
    if (row.name == name) return types.Int(row.size, row.is_signed);
  }
  return {};
}

std::string_view TagText(syntax::TypeName::Tag tag) {
  switch (tag) {
    case syntax::TypeName::Tag::kNone:
      return "";
    case syntax::TypeName::Tag::kStruct:
      return "struct ";
    case syntax::TypeName::Tag::kUnion:
      return "union ";
    case syntax::TypeName::Tag::kEnum:
      return "enum ";
  }
  return "";
}

kernel::BtfKind KindOf(syntax::TypeName::Tag tag) {
  switch (tag) {
    case syntax::TypeName::Tag::kNone:
      return kernel::BtfKind::kTypedef;
    case syntax::TypeName::Tag::kStruct:
      return kernel::BtfKind::kStruct;
    case syntax::TypeName::Tag::kUnion:
      return kernel::BtfKind::kUnion;
    case syntax::TypeName::Tag::kEnum:
      return kernel::BtfKind::kEnum;
  }
  return kernel::BtfKind::kTypedef;
}

}  // namespace

Type Checker::TypeNamed(const syntax::TypeName& name) {
  // The one type whose size in brackets is its own and not an array's.
  static constexpr std::string_view kStringName = "string";
  Type type;
  if (name.tag == syntax::TypeName::Tag::kNone) {
    if (name.name == kStringName) {
      uint32_t size = name.array_counts.empty() ? config_.max_strlen : name.array_counts[0];
      return types().String(size);
    }
    type = IntNamed(name.name, types());
    if (!type) type = kernel::BasicCType(name.name, types());
    if (!type && name.name == types().Void().Name()) type = types().Void();
  }
  auto btf = kernel_.LoadBtf();
  if (!type && btf.ok()) {
    type = btf.value()->TypeNamed(std::string(TagText(name.tag)) + name.name);
  }
  if (!type) {
    auto builder = Error(Code::kUnknownType, name.span,
                         fmt::format("unknown type `{}{}`", TagText(name.tag), name.name));
    if (btf.ok()) {
      std::string_view closest =
          diag::ClosestName(name.name, btf.value()->NamesOf(KindOf(name.tag)));
      if (!closest.empty()) builder.Hint(fmt::format("did you mean `{}`?", closest));
    } else {
      builder.Note("types of the kernel are not known: " + btf.error().message());
    }
    return types().Error();
  }
  for (uint8_t i = 0; i < name.pointer_depth; ++i) type = types().Pointer(type, AddressSpace());
  for (auto count = name.array_counts.rbegin(); count != name.array_counts.rend(); ++count) {
    type = types().Array(type, *count);
  }
  return type;
}

Expr* Checker::CheckCast(const syntax::Cast& cast) {
  Type type = TypeNamed(cast.type);
  Expr* operand = CheckValue(*cast.operand);
  if (type.IsError() || operand->type.IsError()) return ErrorExpr(cast.span);
  bool is_number = operand->type.IsPointer() || operand->type.Is(Kind::kKernelSymbol);
  if (Expr* integer = AsInteger(operand)) {
    operand = integer;
    is_number = true;
  }
  if (type.IsPointer()) {
    if (operand->type.IsPointer()) type = InSpace(type, operand->type->space);
    if (is_number) return Convert(operand, type);
  }
  if (type.IsInteger() && is_number) {
    if (type.Is(Kind::kInt) && operand->type.Is(Kind::kInt)) {
      type = types().Int(type->size, type->is_signed, operand->type->unit);
    }
    return Convert(operand, type);
  }
  if (type.Is(Kind::kString) && operand->type.Is(Kind::kString)) return Convert(operand, type);
  auto builder = Error(Code::kBadCast, cast.span,
                       fmt::format("{} can't be cast to {}", operand->type.Name(), type.Name()));
  if (type.IsStruct() && is_number) {
    builder.Note(fmt::format("cast to a pointer: ({} *)…", type.Name()));
  }
  if (operand->type.IsPointer() && type.Is(Kind::kString))
    builder.Note("str(pointer) reads a string");
  return ErrorExpr(cast.span);
}

Expr* Checker::CheckUnitCast(const syntax::UnitCast& cast) {
  Expr* operand = CheckInteger(*cast.operand, "what gets a unit");
  if (operand->type.IsError()) return operand;
  Unit from = operand->type->unit, to = UnitOf(cast.unit);
  Type type = types().Int(8, operand->type->is_signed, to);
  if (from == to || from == Unit::kNone) return Convert(operand, type);
  if (from == Unit::kPages && to == Unit::kBytes) {
    return NewBinary(cast.span, syntax::BinaryOp::kMul, Convert(operand, type),
                     ConstantOf(cast.span, type, kernel_.page_size()), type, type->is_signed);
  }
  auto builder = Error(Code::kUnitMismatch, cast.span,
                       fmt::format("{} can't become {}", UnitText(from), UnitText(to)));
  if (from == Unit::kBytes && to == Unit::kPages) {
    builder.Note(fmt::format("divide by the page size: (x / {}) as pages",
                             kernel_.page_size() == 4096 ? "4KiB" : "the machine's page size"));
  } else if (from == Unit::kNanoseconds) {
    builder.Note("x / 1ns is a plain number");
  }
  return ErrorExpr(cast.span);
}

// x in a .. b is a <= x && x < b.
Expr* Checker::CheckIn(const syntax::In& in) {
  Expr* value = CheckValue(*in.value);
  Expr* begin = CheckValue(*in.begin);
  Expr* end = CheckValue(*in.end);
  auto* node = New<Logical>(ExprKind::kLogical, in.span, types().Bool());
  node->is_and = true;
  if (value->type.IsScalar()) node->shared = value;
  node->left = CheckComparison(in.span, syntax::BinaryOp::kGe, value, begin);
  node->right = CheckComparison(in.span, syntax::BinaryOp::kLt, value, end);
  if (node->left->type.IsError() || node->right->type.IsError()) return ErrorExpr(in.span);
  return node;
}

Expr* Checker::CheckSizeof(const syntax::Sizeof& expr) {
  Type type = expr.has_type ? TypeNamed(expr.type) : CheckValue(*expr.operand)->type;
  if (type.IsError()) return ErrorExpr(expr.span);
  Complete(type);
  return ConstantOf(expr.span, types().Int64(), type->size);
}

Expr* Checker::CheckOffsetof(const syntax::Offsetof& expr) {
  Type type = TypeNamed(expr.type);
  uint64_t offset = 0;
  for (const std::string& name : expr.path) {
    if (type.IsError()) return ErrorExpr(expr.span);
    Complete(type);
    types::FoundMember found = types::FindMember(type, name);
    if (!found.found) {
      Error(Code::kUnknownField, expr.span, fmt::format("{} has no field `{}`", type.Name(), name));
      return ErrorExpr(expr.span);
    }
    offset += found.member.offset;
    type = found.member.type;
  }
  return type.IsError() ? ErrorExpr(expr.span) : ConstantOf(expr.span, types().Int64(), offset);
}

Expr* Checker::CheckIncrement(const syntax::Increment& increment) {
  auto* node = New<Increment>(ExprKind::kIncrement, increment.span, types().Error());
  node->is_prefix = increment.is_prefix;
  node->delta = increment.is_increment ? 1 : -1;
  node->variable = kNoId;
  if (increment.target->kind == syntax::ExprKind::kMap) {
    const auto& map = static_cast<const syntax::Map&>(*increment.target);
    node->place = CheckPlace(map);
    node->place.closed_window = false;
    Type type = maps_[node->place.map].value.type;
    if (!type || type.IsInteger()) {
      StoreIn(node->place.map, types().Int64(), true, increment.span);
      type = maps_[node->place.map].value.type;
    }
    if (!type || type.IsError()) return ErrorExpr(increment.span);
    if (!type.Is(Kind::kInt)) {
      ReportNotNumber(node->place.map, increment.span, "incremented");
      return ErrorExpr(increment.span);
    }
    node->type = type;
    return node;
  }
  Expr* target = CheckExpr(*increment.target);
  if (target->type.IsError()) return target;
  bool is_number = target->type.Is(Kind::kInt) || target->type.IsPointer();
  if (target->kind != ExprKind::kVariable || !is_number) {
    Error(Code::kNotNumber, increment.span,
          fmt::format("{} can't be incremented", target->type.Name()));
    return ErrorExpr(increment.span);
  }
  node->type = target->type;
  node->variable = static_cast<Variable*>(target)->variable;
  if (target->type.IsPointer()) {
    Complete(target->type->target);
    node->delta *= std::max<int64_t>(1, target->type->target->size);
  }
  return node;
}

}  // namespace memtrace::sema
