#include "compiler/sema/plan_types.h"

namespace memtrace::sema {
namespace {

using types::Kind;

plan::TypeKind PlanKind(Kind kind) {
  switch (kind) {
    case Kind::kError:
    case Kind::kNone:
    case Kind::kVoid:
    case Kind::kFunction:
    case Kind::kAggregation:
      return plan::TypeKind::kNone;
    case Kind::kBool:
      return plan::TypeKind::kBool;
    case Kind::kInt:
      return plan::TypeKind::kInt;
    case Kind::kEnum:
      return plan::TypeKind::kEnum;
    case Kind::kString:
      return plan::TypeKind::kString;
    case Kind::kBuffer:
      return plan::TypeKind::kBuffer;
    case Kind::kPointer:
      return plan::TypeKind::kPointer;
    case Kind::kArray:
      return plan::TypeKind::kArray;
    case Kind::kStruct:
    case Kind::kUnion:
      return plan::TypeKind::kStruct;
    case Kind::kTuple:
      return plan::TypeKind::kTuple;
    case Kind::kRecord:
      return plan::TypeKind::kRecord;
    case Kind::kKernelStack:
      return plan::TypeKind::kKernelStack;
    case Kind::kUserStack:
      return plan::TypeKind::kUserStack;
    case Kind::kKernelSymbol:
      return plan::TypeKind::kKernelSymbol;
    case Kind::kUserSymbol:
      return plan::TypeKind::kUserSymbol;
    case Kind::kTimestamp:
      return plan::TypeKind::kTimestamp;
    case Kind::kUserName:
      return plan::TypeKind::kUserName;
    case Kind::kGroupName:
      return plan::TypeKind::kGroupName;
    case Kind::kCgroupPath:
      return plan::TypeKind::kCgroupPath;
    case Kind::kMemcgPath:
      return plan::TypeKind::kMemcgPath;
    case Kind::kLoadAverage:
      return plan::TypeKind::kLoadAverage;
    case Kind::kProbeName:
      return plan::TypeKind::kProbeName;
  }
  return plan::TypeKind::kNone;
}

}  // namespace

plan::Unit PlanUnit(types::Unit unit) {
  switch (unit) {
    case types::Unit::kNone:
      return plan::Unit::kNone;
    case types::Unit::kNanoseconds:
      return plan::Unit::kNanoseconds;
    case types::Unit::kBytes:
      return plan::Unit::kBytes;
    case types::Unit::kPages:
      return plan::Unit::kPages;
  }
  return plan::Unit::kNone;
}

plan::Type PlanTypes::Flatten(types::Type type) {
  plan::Type flat{.kind = PlanKind(type->kind),
                  .size = type->size,
                  .is_signed = type->is_signed,
                  .unit = PlanUnit(type->unit),
                  .name = type->name};
  if (type.IsStack()) flat.depth = type->depth;
  if (type.Is(Kind::kArray)) {
    flat.element = Of(type->target);
    flat.count = type->count;
  }
  if (type.IsTuple()) {
    for (const types::Member& member : type->members) {
      flat.fields.push_back(
          {.name = member.name, .type = Of(member.type), .offset = member.offset});
    }
  }
  for (const types::Enumerator& enumerator : type->enumerators) {
    flat.names.push_back({.value = enumerator.value, .name = enumerator.name});
  }
  return flat;
}

plan::Index PlanTypes::Of(types::Type type) {
  if (!type || PlanKind(type->kind) == plan::TypeKind::kNone) return plan::kNoIndex;
  if (auto found = known_.find(&*type); found != known_.end()) return found->second;
  plan::Type flat = Flatten(type);
  plan::Index index = static_cast<plan::Index>(plan_.types.size());
  plan_.types.push_back(std::move(flat));
  known_[&*type] = index;
  return index;
}

}  // namespace memtrace::sema
