#include "compiler/user/dwarf_types.h"

#include <dwarf.h>

#include <optional>
#include <vector>

namespace memtrace::user {
namespace {

using types::Kind;
using types::Type;

std::optional<uint64_t> NumberOf(Dwarf_Die& die, unsigned attribute) {
  Dwarf_Attribute memory;
  Dwarf_Word value = 0;
  if (dwarf_formudata(dwarf_attr_integrate(&die, attribute, &memory), &value) != 0) {
    return std::nullopt;
  }
  return value;
}

bool HasFlag(Dwarf_Die& die, unsigned attribute) {
  Dwarf_Attribute memory;
  bool flag = false;
  return dwarf_formflag(dwarf_attr_integrate(&die, attribute, &memory), &flag) == 0 && flag;
}

std::string NameOf(Dwarf_Die& die) {
  const char* name = dwarf_diename(&die);
  return name != nullptr ? name : "";
}

// Calls `visit` for each child with `tag`.
template <typename Visit>
void ForEachChild(Dwarf_Die& die, Visit visit) {
  Dwarf_Die child;
  if (dwarf_child(&die, &child) != 0) return;
  do {
    visit(child);
  } while (dwarf_siblingof(&child, &child) == 0);
}

}  // namespace

Type DwarfTypes::TypeOf(Dwarf_Die& die) {
  Dwarf_Attribute memory;
  Dwarf_Die type;
  if (dwarf_formref_die(dwarf_attr_integrate(&die, DW_AT_type, &memory), &type) == nullptr) {
    return types_.Void();
  }
  Dwarf_Die peeled;
  if (dwarf_peel_type(&type, &peeled) != 0) return types_.Void();
  return Convert(peeled);
}

Type DwarfTypes::Convert(Dwarf_Die& type) {
  switch (dwarf_tag(&type)) {
    case DW_TAG_base_type:
      return ConvertBase(type);
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
      return types_.Pointer(TypeOf(type), types::Space::kUser);
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
      return ConvertStruct(type, Kind::kStruct);
    case DW_TAG_union_type:
      return ConvertStruct(type, Kind::kUnion);
    case DW_TAG_enumeration_type:
      return ConvertEnum(type);
    case DW_TAG_array_type:
      return ConvertArray(type);
    default:
      return types_.Void();  // functions, and what other languages have
  }
}

Type DwarfTypes::ConvertBase(Dwarf_Die& type) {
  auto size = static_cast<uint32_t>(NumberOf(type, DW_AT_byte_size).value_or(0));
  bool is_power = size == 1 || size == 2 || size == 4 || size == 8;
  switch (NumberOf(type, DW_AT_encoding).value_or(0)) {
    case DW_ATE_boolean:
      if (size == 1) return types_.Bool();
      break;
    case DW_ATE_signed:
    case DW_ATE_signed_char:
      if (is_power) return types_.Int(size, true);
      break;
    case DW_ATE_unsigned:
    case DW_ATE_unsigned_char:
    case DW_ATE_UTF:
      if (is_power) return types_.Int(size, false);
      break;
    default:
      break;
  }
  // Floating-point numbers, and integers of 16 bytes.
  return size == 0 ? types_.Void() : types_.Array(types_.Int(1, false), size);
}

Type DwarfTypes::ConvertArray(Dwarf_Die& type) {
  Type element = TypeOf(type);
  std::vector<uint32_t> counts;
  ForEachChild(type, [&](Dwarf_Die& range) {
    if (dwarf_tag(&range) != DW_TAG_subrange_type) return;
    uint64_t count = 0;
    if (auto given = NumberOf(range, DW_AT_count)) {
      count = *given;
    } else if (auto last = NumberOf(range, DW_AT_upper_bound)) {
      count = *last + 1;
    }
    counts.push_back(static_cast<uint32_t>(count));
  });
  if (element.Is(Kind::kVoid)) return element;
  bool is_text = element.Is(Kind::kInt) && element->size == 1 && element->is_signed;
  if (is_text && counts.size() == 1 && counts[0] > 0) return types_.String(counts[0]);
  for (size_t i = counts.size(); i-- > 0;) element = types_.Array(element, counts[i]);
  return element;
}

Type DwarfTypes::ConvertEnum(Dwarf_Die& type) {
  auto [found, is_new] = by_die_.try_emplace(type.addr);
  if (!is_new) return Type(found->second.info);
  types::TypeInfo* info = types_.NewNominal(Kind::kEnum, NameOf(type));
  found->second = {.info = info, .die = type};
  info->size = static_cast<uint32_t>(NumberOf(type, DW_AT_byte_size).value_or(4));
  info->alignment = info->size;
  ForEachChild(type, [&](Dwarf_Die& value) {
    Dwarf_Attribute memory;
    Dwarf_Sword number = 0;
    if (dwarf_formsdata(dwarf_attr(&value, DW_AT_const_value, &memory), &number) != 0) return;
    info->enumerators.push_back({.name = NameOf(value), .value = number});
    info->is_signed = info->is_signed || number < 0;
  });
  return Type(info);
}

Type DwarfTypes::ConvertStruct(Dwarf_Die& type, Kind kind) {
  auto [found, is_new] = by_die_.try_emplace(type.addr);
  if (!is_new) return Type(found->second.info);
  types::TypeInfo* info = types_.NewNominal(kind, NameOf(type));
  found->second = {.info = info, .die = type};
  info->size = static_cast<uint32_t>(NumberOf(type, DW_AT_byte_size).value_or(0));
  info->alignment = info->size % 8 == 0 ? 8 : info->size % 4 == 0 ? 4 : 1;
  info->complete = false;
  incomplete_[info] = type.addr;
  return Type(info);
}

void DwarfTypes::AddMember(types::TypeInfo& info, Dwarf_Die& member) {
  int tag = dwarf_tag(&member);
  if (tag != DW_TAG_member && tag != DW_TAG_inheritance) return;
  if (HasFlag(member, DW_AT_external) || HasFlag(member, DW_AT_declaration)) return;  // static
  types::Member result{.name = tag == DW_TAG_member ? NameOf(member) : "", .type = TypeOf(member)};
  if (result.type.Is(Kind::kVoid)) return;
  auto place = NumberOf(member, DW_AT_data_member_location);
  // A virtual base lies where only the running program knows.
  if (!place && tag == DW_TAG_inheritance) return;
  uint64_t bits = place.value_or(0) * 8;
  if (auto size = NumberOf(member, DW_AT_bit_size)) {
    result.bit_size = static_cast<uint8_t>(*size);
    if (auto first = NumberOf(member, DW_AT_data_bit_offset)) {
      bits = *first;
    } else if (auto from_top = NumberOf(member, DW_AT_bit_offset)) {
      // DWARF 3: counted from the most significant bit of the storage unit.
      uint64_t unit = NumberOf(member, DW_AT_byte_size).value_or(result.type->size) * 8;
      bits += unit - *from_top - *size;
    }
    result.bit_offset = static_cast<uint8_t>(bits % 8);
  }
  result.offset = static_cast<uint32_t>(bits / 8);
  if (result.name.empty() && result.type.IsStruct()) Complete(result.type);
  info.members.push_back(std::move(result));
}

bool DwarfTypes::Complete(Type type) {
  auto found = incomplete_.find(&*type);
  if (found == incomplete_.end()) return false;
  Nominal& nominal = by_die_.at(found->second);
  incomplete_.erase(found);
  nominal.info->complete = true;
  Dwarf_Die die = nominal.die;
  types::TypeInfo& info = *nominal.info;
  ForEachChild(die, [&](Dwarf_Die& member) { AddMember(info, member); });
  return true;
}

}  // namespace memtrace::user
