// args.field, fields of structs and tuples, elements of arrays, and what pointers point to.
#include <charconv>

#include <fmt/format.h>

#include "compiler/sema/checker.h"

namespace memtrace::sema {

using diag::Code;
using types::Kind;
using types::Space;

namespace {

void CollectNames(Type type, std::vector<std::string_view>& names) {
  for (const types::Member& member : type->members) {
    if (!member.name.empty()) {
      names.push_back(member.name);
    } else if (member.type.IsStruct()) {
      CollectNames(member.type, names);
    }
  }
}

}  // namespace

void Checker::Complete(Type type) {
  if (!type.IsStruct() || type->complete || programs_.Complete(type)) return;
  kernel_.Complete(type);
}

Space Checker::SpaceOf(const Expr& expr) {
  if (expr.type.IsPointer()) return expr.type->space;
  switch (expr.kind) {
    case ExprKind::kMember:
      return SpaceOf(*static_cast<const Member&>(expr).object);
    case ExprKind::kIndex:
      return SpaceOf(*static_cast<const Index&>(expr).object);
    case ExprKind::kDereference:
      return SpaceOf(*static_cast<const Dereference&>(expr).pointer);
    case ExprKind::kConstant:
    case ExprKind::kString:
    case ExprKind::kVariable:
    case ExprKind::kMapRead:
    case ExprKind::kContextField:
    case ExprKind::kAddressOf:
    case ExprKind::kUnary:
    case ExprKind::kBinary:
    case ExprKind::kCompare:
    case ExprKind::kLogical:
    case ExprKind::kConditional:
    case ExprKind::kCast:
    case ExprKind::kTuple:
    case ExprKind::kTupleElement:
    case ExprKind::kIncrement:
    case ExprKind::kCall:
    case ExprKind::kProbeIs:
      return Space::kKernel;
  }
  return Space::kKernel;
}

Type Checker::InSpace(Type type, Space space) {
  if (!type.IsPointer() || type->space == space) return type;
  return types().Pointer(type->target, space);
}

Expr* Checker::FieldOf(Span span, const probes::Field& field) {
  Type type = field.type;
  if (!field.unreadable.empty()) {
    Error(Code::kNoArguments, span, fmt::format("{} can't be read here", field.name))
        .Note(field.unreadable);
    return ErrorExpr(span);
  }
  // The bytes of a __data_loc string lie in the record; how many is known when the event happens.
  if (type.Is(Kind::kString) && type->size == 0) type = types().String(config_.max_strlen);
  if (field.is_constant) return ConstantOf(span, type, static_cast<uint64_t>(field.constant));
  auto* node = New<ContextField>(ExprKind::kContextField, span, type);
  node->from = field.from;
  node->index = field.index;
  node->offset = field.offset;
  node->bit_offset = field.bit_offset;
  node->bit_size = field.bit_size;
  node->operand = field.operand;
  node->is_data_loc = field.is_data_loc;
  node->is_relative_loc = field.is_relative_loc;
  return node;
}

Expr* Checker::CheckArgument(const syntax::Member& member) {
  if (unknown_probes_) return ErrorExpr(member.span);
  for (const probes::Field& field : group_->fields) {
    if (field.name == member.name) return FieldOf(member.span, field);
  }
  if (!group_->unknown_arguments.empty()) {
    Error(Code::kNoArguments, member.span,
          fmt::format("the arguments of {} are not known", group_->targets[0].name))
        .Note(group_->unknown_arguments)
        .Note("arg0 to argN hold them as numbers");
    return ErrorExpr(member.span);
  }
  ReportNoField(member.name_span, member.name);
  return ErrorExpr(member.span);
}

// Names the probes of the clause that lack the field when others have it.
void Checker::ReportNoField(Span span, const std::string& name) {
  std::string lacking;
  size_t lacking_count = 0, having_count = 0;
  std::vector<std::string_view> names;
  for (const probes::Group& group : clause_->groups) {
    bool has_it = false;
    for (const probes::Field& field : group.fields) {
      has_it = has_it || field.name == name;
      names.push_back(field.name);
    }
    for (const probes::Target& target : group.targets) {
      if (has_it) {
        ++having_count;
      } else if (++lacking_count <= 4) {
        lacking += (lacking.empty() ? "" : ", ") + target.name;
      }
    }
  }
  if (lacking_count > 4) lacking += fmt::format(" and {} more", lacking_count - 4);
  if (names.empty()) {
    auto builder = Error(Code::kNoArguments, span, fmt::format("{} has no args", lacking));
    if (group_->is_user && group_->result) {
      builder.Note("where a function returns they are gone: keep them in a map when it is entered");
    }
    return;
  }
  if (having_count > 0) {
    Error(Code::kUnknownField, span,
          fmt::format("not all probes of this clause have args.{}", name))
        .Note("it is missing in " + lacking);
    return;
  }
  auto builder =
      Error(Code::kUnknownField, span, fmt::format("{} has no field `{}`", lacking, name));
  std::string_view closest = diag::ClosestName(name, names);
  if (!closest.empty()) {
    builder.Hint(fmt::format("did you mean `{}`?", closest));
    return;
  }
  std::string list;
  for (const probes::Field& field : group_->fields) {
    if (!list.empty()) list += ", ";
    list += field.name;
  }
  if (!list.empty()) builder.Note("its fields are " + list);
}

Expr* Checker::CheckMember(const syntax::Member& member) {
  if (member.object->kind == syntax::ExprKind::kName &&
      static_cast<const syntax::Name&>(*member.object).name == kArgs) {
    return CheckArgument(member);
  }
  Expr* object = CheckValue(*member.object);
  if (object->type.IsError()) return ErrorExpr(member.span);
  return MemberOf(member.span, member.name_span, object, member.name);
}

Expr* Checker::ElementOf(Span span, Span name_span, Expr* tuple, const std::string& name) {
  const auto& members = tuple->type->members;
  size_t index = members.size();
  std::from_chars(name.data(), name.data() + name.size(), index);
  for (size_t i = 0; i < members.size() && tuple->type.Is(Kind::kRecord); ++i) {
    if (members[i].name == name) index = i;
  }
  if (index >= members.size()) {
    auto builder = Error(Code::kUnknownField, name_span,
                         fmt::format("{} has no element `{}`", tuple->type.Name(), name));
    if (tuple->type.Is(Kind::kTuple)) builder.Note("elements are counted from .0 on");
    return ErrorExpr(span);
  }
  if (tuple->kind == ExprKind::kTuple) return static_cast<Tuple*>(tuple)->elements[index];
  auto* node = New<TupleElement>(ExprKind::kTupleElement, span, members[index].type);
  node->tuple = tuple;
  node->index = static_cast<uint32_t>(index);
  return node;
}

Expr* Checker::MemberOf(Span span, Span name_span, Expr* object, const std::string& name) {
  if (object->type.IsTuple()) return ElementOf(span, name_span, object, name);
  Type type = object->type.IsPointer() ? object->type->target : object->type;
  if (!type.IsStruct()) {
    auto builder =
        Error(Code::kNoFields, name_span, fmt::format("{} has no fields", object->type.Name()));
    if (object->type.IsInteger() || (object->type.IsPointer() && type.Is(Kind::kVoid))) {
      builder.Note("cast it: ((struct NAME *)x)." + name);
    }
    return ErrorExpr(span);
  }
  Complete(type);
  types::FoundMember found = types::FindMember(type, name);
  if (!found.found) {
    if (type->members.empty() && !type->complete) {
      Error(
          Code::kUnknownField, name_span,
          fmt::format("{} does not say what is in {}",
                      SpaceOf(*object) == Space::kUser && group_->is_user ? "the debug information"
                                                                          : "this kernel's BTF",
                      type.Name()));
      return ErrorExpr(span);
    }
    std::vector<std::string_view> names;
    CollectNames(type, names);
    auto builder = Error(Code::kUnknownField, name_span,
                         fmt::format("{} has no field `{}`", type.Name(), name));
    std::string_view closest = diag::ClosestName(name, names);
    if (!closest.empty()) builder.Hint(fmt::format("did you mean `{}`?", closest));
    return ErrorExpr(span);
  }
  auto* node = New<Member>(ExprKind::kMember, span, InSpace(found.member.type, SpaceOf(*object)));
  node->object = object;
  node->offset = found.member.offset;
  node->bit_offset = found.member.bit_offset;
  node->bit_size = found.member.bit_size;
  return node;
}

Expr* Checker::CheckIndex(const syntax::Index& syntax) {
  Expr* object = CheckValue(*syntax.object);
  Expr* index = CheckInteger(*syntax.index, "an index");
  if (object->type.IsError() || index->type.IsError()) return ErrorExpr(syntax.span);
  bool is_array = object->type.Is(Kind::kArray);
  if (!is_array && !object->type.IsPointer()) {
    auto builder = Error(Code::kNotIndexable, syntax.span,
                         fmt::format("{} has no elements to index", object->type.Name()));
    if (object->type.IsTuple()) builder.Note("an element of a tuple is x.0");
    return ErrorExpr(syntax.span);
  }
  Type element = object->type->target;
  Complete(element);
  if (element->size == 0) {
    Error(Code::kNotIndexable, syntax.span, fmt::format("{} has no size", element.Name()))
        .Note("cast the pointer to what it points to");
    return ErrorExpr(syntax.span);
  }
  if (is_array && index->kind == ExprKind::kConstant && object->type->count > 0) {
    uint64_t at = static_cast<Constant*>(index)->bits;
    if (at >= object->type->count) {
      Error(Code::kOutOfRange, syntax.index->span,
            fmt::format("{} has no element {}", object->type.Name(), static_cast<int64_t>(at)));
      return ErrorExpr(syntax.span);
    }
  }
  auto* node = New<Index>(ExprKind::kIndex, syntax.span, InSpace(element, SpaceOf(*object)));
  node->object = object;
  node->index = index;
  node->element_size = element->size;
  return node;
}

Expr* Checker::CheckDereference(Span span, Expr* pointer) {
  if (pointer->type.IsError()) return pointer;
  if (!pointer->type.IsPointer()) {
    auto builder =
        Error(Code::kNotPointer, span, fmt::format("{} is no pointer", pointer->type.Name()));
    if (pointer->type.IsInteger())
      builder.Note("cast it: *(uint64 *)x, or *(uint64 *)uptr(x) of user space");
    return ErrorExpr(span);
  }
  Type target = pointer->type->target;
  Complete(target);
  if (target.Is(Kind::kVoid) || target.Is(Kind::kFunction)) {
    Error(Code::kNotPointer, span,
          fmt::format("what {} points to is not known", pointer->type.Name()))
        .Note("cast it first: *(uint64 *)x");
    return ErrorExpr(span);
  }
  auto* node =
      New<Dereference>(ExprKind::kDereference, span, InSpace(target, pointer->type->space));
  node->pointer = pointer;
  return node;
}

}  // namespace memtrace::sema
