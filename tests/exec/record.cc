#include "tests/exec/record.h"

#include <algorithm>
#include <cstring>

#include "compiler/base/check.h"
#include "tests/exec/world.h"

namespace memtrace::exec {
namespace {

using types::Kind;
using types::Member;
using types::Type;

Error Invalid(std::string message) { return Error(ErrorKind::kInvalid, std::move(message)); }

bool IsText(Type type) {
  return type.Is(Kind::kString) || (type.Is(Kind::kArray) && type->target->size == 1);
}

Result<Done> WriteNumber(std::string& bytes, const Member& member, std::string_view value) {
  uint64_t number = 0;
  if (!ParseNumber(value, number)) return Invalid("not a number: " + std::string(value));
  if (member.type->size > 8 || member.offset + member.type->size > bytes.size()) {
    return Invalid("a number does not fit " + member.type.Name());
  }
  // A bitfield of a packed struct may reach beyond the size of its type.
  size_t size = std::max<uint32_t>(member.type->size, 1);
  if (member.bit_size != 0) size = std::min<size_t>(8, bytes.size() - member.offset);
  uint64_t old = 0;
  memcpy(&old, bytes.data() + member.offset, size);
  if (member.bit_size != 0) {
    uint64_t mask = ((uint64_t{1} << member.bit_size) - 1) << member.bit_offset;
    number = (old & ~mask) | (number << member.bit_offset & mask);
  }
  memcpy(bytes.data() + member.offset, &number, size);
  return Done{};
}

// The member that `path` names, its offset counted from the start of `type`.
Result<Member> FindPath(kernel::Kernel& kernel, Type type, std::string_view path) {
  MT_ASSIGN_OR_RETURN(kernel::Btf * btf, kernel.LoadBtf());
  Member at{.name = "", .type = type};
  while (!path.empty()) {
    std::string name(path.substr(0, path.find('.')));
    path.remove_prefix(std::min(path.size(), name.size() + 1));
    uint64_t index = 0;
    if (at.type.Is(Kind::kArray) && ParseNumber(name, index)) {
      at = {.name = name,
            .type = at.type->target,
            .offset = at.offset + static_cast<uint32_t>(index) * at.type->target->size};
      continue;
    }
    if (!at.type.IsStruct()) return Invalid("no struct before " + name);
    btf->Complete(at.type);
    types::FoundMember found = types::FindMember(at.type, name);
    if (!found.found) return Invalid(at.type.Name() + " has no member " + name);
    found.member.offset += at.offset;
    at = found.member;
  }
  return at;
}

bool IsSystemCall(const kernel::TracepointName& name) { return name.category == "syscalls"; }

}  // namespace

Result<std::vector<Assignment>> ParseAssignments(const std::vector<std::string>& words) {
  std::vector<Assignment> assignments;
  for (const std::string& word : words) {
    size_t equals = word.find('=');
    if (equals == word.npos) return Invalid("not NAME=VALUE: " + word);
    assignments.push_back({.field = word.substr(0, equals), .value = word.substr(equals + 1)});
  }
  return assignments;
}

Result<Done> Write(std::string& bytes, const Member& member, std::string_view value) {
  uint64_t ignored = 0;
  bool is_number = ParseNumber(value.substr(0, value.find(',')), ignored);
  if (IsText(member.type) && !is_number) {
    if (value.size() > member.type->size || member.offset + value.size() > bytes.size()) {
      return Invalid("a text does not fit " + member.type.Name());
    }
    memcpy(bytes.data() + member.offset, value.data(), value.size());
    return Done{};
  }
  if (!member.type.Is(Kind::kArray)) return WriteNumber(bytes, member, value);

  Member element{.name = "", .type = member.type->target, .offset = member.offset};
  while (!value.empty()) {
    std::string_view number = value.substr(0, value.find(','));
    value.remove_prefix(std::min(value.size(), number.size() + 1));
    MT_RETURN_IF_ERROR(WriteNumber(bytes, element, number));
    element.offset += element.type->size;
  }
  return Done{};
}

Result<std::string> MakeStruct(kernel::Kernel& kernel, std::string_view name,
                               const std::vector<Assignment>& assignments) {
  MT_ASSIGN_OR_RETURN(kernel::Btf * btf, kernel.LoadBtf());
  Type type = btf->TypeNamed("struct " + std::string(name));
  if (!type) return Invalid("the kernel has no struct " + std::string(name));
  btf->Complete(type);
  std::string bytes(type->size, '\0');
  for (const Assignment& assignment : assignments) {
    MT_ASSIGN_OR_RETURN(Member member, FindPath(kernel, type, assignment.field));
    MT_RETURN_IF_ERROR(Write(bytes, member, assignment.value));
  }
  return bytes;
}

Result<std::string> MakeTracepointRecord(kernel::Kernel& kernel, const kernel::TracepointName& name,
                                         const std::vector<Assignment>& assignments) {
  MT_ASSIGN_OR_RETURN(const kernel::TracepointFormat* format, kernel.Format(name));
  size_t size = 8;
  for (const Member& member : format->members) {
    size_t member_size = member.is_data_loc ? 4 : member.type->size;
    if (IsSystemCall(name) && member.offset >= 16) member_size = 8;
    size = std::max(size, member.offset + member_size);
  }
  std::string bytes(size, '\0');
  for (const Assignment& assignment : assignments) {
    auto member = std::find_if(format->members.begin(), format->members.end(),
                               [&](const Member& m) { return m.name == assignment.field; });
    if (member == format->members.end()) {
      return Invalid(name.event + " has no field " + assignment.field);
    }
    if (!member->is_data_loc) {
      MT_RETURN_IF_ERROR(Write(bytes, *member, assignment.value));
      continue;
    }
    uint32_t at = static_cast<uint32_t>(bytes.size());
    uint32_t length = static_cast<uint32_t>(assignment.value.size()) + 1;
    if (member->is_relative_loc) at -= member->offset + 4;
    uint32_t location = length << 16 | at;
    memcpy(bytes.data() + member->offset, &location, sizeof(location));
    bytes.append(assignment.value.c_str(), length);
  }
  return bytes;
}

}  // namespace memtrace::exec
