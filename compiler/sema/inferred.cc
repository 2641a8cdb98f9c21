#include "compiler/sema/inferred.h"

#include <algorithm>
#include <vector>

namespace memtrace::sema {
namespace {

using types::Kind;
using types::Type;
using types::TypeTable;
using types::Unit;

// Units of two values that are kept in one place: a plain number takes the other's.
bool UnifyUnits(Unit left, Unit right, Unit& out) {
  if (left != Unit::kNone && right != Unit::kNone && left != right) return false;
  out = left != Unit::kNone ? left : right;
  return true;
}

bool CountsAsSigned(Type type, bool literal) { return !literal && type->is_signed; }

Type UnifyIntegers(Type left, bool left_literal, Type right, bool right_literal, TypeTable& types) {
  Unit unit;
  if (!UnifyUnits(left->unit, right->unit, unit)) return {};
  bool is_signed = CountsAsSigned(left, left_literal) || CountsAsSigned(right, right_literal) ||
                   (left_literal && right_literal) ||
                   // A literal beside an unsigned value takes its side.
                   (left_literal && right->is_signed) || (right_literal && left->is_signed);
  return types.Int(8, is_signed, unit);
}

Type UnifyTuples(Type left, Type right, TypeTable& types) {
  if (left->kind != right->kind || left->members.size() != right->members.size()) return {};
  std::vector<std::pair<std::string, Type>> elements;
  for (size_t i = 0; i < left->members.size(); ++i) {
    if (left->members[i].name != right->members[i].name) return {};
    Type element = Unify(left->members[i].type, false, right->members[i].type, false, types);
    if (!element) return {};
    elements.emplace_back(left->members[i].name, element);
  }
  if (left.Is(Kind::kRecord)) return types.Record(elements);
  std::vector<Type> unnamed;
  for (auto& [name, type] : elements) unnamed.push_back(type);
  return types.Tuple(unnamed);
}

Type UnifyAggregations(Type left, bool left_literal, Type right, bool right_literal,
                       TypeTable& types) {
  types::TypeInfo merged = *left;
  const types::TypeInfo& other = *right;
  if (merged.aggregation != other.aggregation || merged.hist_bits != other.hist_bits ||
      merged.lhist_min != other.lhist_min || merged.lhist_max != other.lhist_max ||
      merged.lhist_step != other.lhist_step) {
    return {};
  }
  if (left->target && right->target) {
    merged.target = Unify(left->target, left_literal, right->target, right_literal, types);
    if (!merged.target) return {};
  }
  return types.MakeAggregation(std::move(merged));
}

Type UnifyPointers(Type left, Type right, TypeTable& types) {
  bool fits = left->target.Is(Kind::kVoid) || right->target.Is(Kind::kVoid);
  if (left->space != right->space || !fits) return {};
  return types.Pointer(types.Void(), left->space);
}

}  // namespace

Type Widened(Type type, TypeTable& types) {
  if (type.Is(Kind::kInt)) return types.Int(8, type->is_signed, type->unit);
  if (!type.IsTuple()) return type;
  std::vector<std::pair<std::string, Type>> elements;
  std::vector<Type> unnamed;
  for (const types::Member& member : type->members) {
    elements.emplace_back(member.name, Widened(member.type, types));
    unnamed.push_back(elements.back().second);
  }
  return type.Is(Kind::kRecord) ? types.Record(elements) : types.Tuple(unnamed);
}

Type Unify(Type left, bool left_literal, Type right, bool right_literal, TypeTable& types) {
  if (left == right) return left.Is(Kind::kInt) ? Widened(left, types) : left;
  if (left.IsError()) return right;
  if (right.IsError()) return left;
  if (left.IsInteger() && right.IsInteger()) {
    return UnifyIntegers(left, left_literal, right, right_literal, types);
  }
  if (left->kind != right->kind) {
    // The null pointer.
    if (left.IsPointer() && right_literal) return left;
    if (right.IsPointer() && left_literal) return right;
    return {};
  }
  switch (left->kind) {
    case Kind::kString:
      return types.String(std::max(left->size, right->size));
    case Kind::kTuple:
    case Kind::kRecord:
      return UnifyTuples(left, right, types);
    case Kind::kPointer:
      return UnifyPointers(left, right, types);
    case Kind::kAggregation:
      return UnifyAggregations(left, left_literal, right, right_literal, types);
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kEnum:
    case Kind::kError:
    case Kind::kNone:
    case Kind::kVoid:
    case Kind::kBuffer:
    case Kind::kArray:
    case Kind::kStruct:
    case Kind::kUnion:
    case Kind::kFunction:
    case Kind::kKernelStack:
    case Kind::kUserStack:
    case Kind::kKernelSymbol:
    case Kind::kUserSymbol:
    case Kind::kTimestamp:
    case Kind::kUserName:
    case Kind::kGroupName:
    case Kind::kCgroupPath:
    case Kind::kMemcgPath:
    case Kind::kLoadAverage:
    case Kind::kProbeName:
      return {};
  }
  return {};
}

MergeResult Merge(Inferred& inferred, Type type, bool is_literal, diag::Span span,
                  TypeTable& types) {
  if (type.IsError()) return MergeResult::kSame;
  if (!inferred.type) {
    inferred = {.type = Widened(type, types), .first = span, .only_literals = is_literal};
    return MergeResult::kChanged;
  }
  Type unified = Unify(inferred.type, inferred.only_literals, type, is_literal, types);
  if (!unified) return MergeResult::kClash;
  if (inferred.is_declared) return MergeResult::kSame;
  bool only_literals = inferred.only_literals && is_literal;
  bool changed = unified != inferred.type || only_literals != inferred.only_literals;
  inferred.type = unified;
  inferred.only_literals = only_literals;
  return changed ? MergeResult::kChanged : MergeResult::kSame;
}

types::Unit UnitOf(syntax::UnitName name) {
  switch (name) {
    case syntax::UnitName::kNone:
      return types::Unit::kNone;
    case syntax::UnitName::kNanoseconds:
      return types::Unit::kNanoseconds;
    case syntax::UnitName::kBytes:
      return types::Unit::kBytes;
    case syntax::UnitName::kPages:
      return types::Unit::kPages;
  }
  return types::Unit::kNone;
}

std::string_view UnitText(types::Unit unit) {
  return unit == types::Unit::kNone ? "no unit" : types::Spelling(unit);
}

}  // namespace memtrace::sema
