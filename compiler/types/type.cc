#include "compiler/types/type.h"

#include <algorithm>

#include "compiler/base/check.h"

namespace memtrace::types {
namespace {

// How deep FindMember goes and how many members it visits at most. Real structs nest four deep and
// have a few hundred; only malformed BTF, where an anonymous struct holds itself, would go on.
constexpr int kMaxNesting = 32;
constexpr int kMaxMembersVisited = 100'000;

uint32_t RoundUp(uint32_t value, uint32_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

std::string IntName(const TypeInfo& info) {
  std::string name = info.is_signed ? "int" : "uint";
  name += std::to_string(info.size * 8);
  if (info.unit != Unit::kNone) name.append(" as ").append(Spelling(info.unit));
  return name;
}

std::string Tagged(std::string_view keyword, const TypeInfo& info) {
  return std::string(keyword) + " " + (info.name.empty() ? "(anonymous)" : info.name);
}

std::string PointerName(const TypeInfo& info) {
  if (info.target.Is(Kind::kFunction)) return "function *";
  std::string name = info.target.Name();
  if (info.space == Space::kUser) return name + " __user *";
  return name + (name.ends_with('*') ? "*" : " *");
}

// C puts the outermost dimension first: an array of 3 of array of 4 of int32 is int32[3][4]. The
// dimensions are told apart from a string's by the element type.
std::string ArrayName(const TypeInfo& info) {
  std::string dimensions;
  const TypeInfo* array = &info;
  while (true) {
    dimensions += "[" + (array->count ? std::to_string(array->count) : std::string()) + "]";
    if (!array->target.Is(Kind::kArray)) break;
    array = &*array->target;
  }
  return array->target.Name() + dimensions;
}

std::string TupleName(const TypeInfo& info) {
  std::string name = "(";
  for (const Member& member : info.members) {
    if (name.size() > 1) name += ", ";
    if (!member.name.empty()) name += member.name + " = ";
    name += member.type.Name();
  }
  if (info.kind == Kind::kTuple && info.members.size() == 1) name += ",";
  return name + ")";
}

std::string AggregationName(const TypeInfo& info) {
  std::string name(Spelling(info.aggregation));
  name += "(";
  if (info.target && info.aggregation != Aggregation::kCount) name += info.target.Name();
  if (info.aggregation == Aggregation::kHist && info.hist_bits > 0) {
    name += ", " + std::to_string(info.hist_bits);
  }
  if (info.aggregation == Aggregation::kLinearHist) {
    name += ", " + std::to_string(info.lhist_min) + ", " + std::to_string(info.lhist_max) + ", " +
            std::to_string(info.lhist_step);
  }
  return name + ")";
}

// Everything that tells two interned types apart. Members of a tuple or record follow from their
// names and types.
std::string InternKey(const TypeInfo& info) {
  std::string key;
  auto number = [&key](auto value) {
    key += std::to_string(value);
    key += ' ';
  };
  auto pointer = [&](Type type) { number(reinterpret_cast<uintptr_t>(type ? &*type : nullptr)); };
  number(static_cast<int>(info.kind));
  number(info.size);
  number(info.is_signed);
  number(static_cast<int>(info.unit));
  number(static_cast<int>(info.space));
  pointer(info.target);
  number(info.count);
  number(info.depth);
  if (info.kind == Kind::kAggregation) {
    number(static_cast<int>(info.aggregation));
    number(info.hist_bits);
    number(info.lhist_min);
    number(info.lhist_max);
    number(info.lhist_step);
  }
  number(info.name.size());
  key += info.name;
  for (const Member& member : info.members) {
    number(member.name.size());
    key += member.name;
    pointer(member.type);
  }
  return key;
}

TypeInfo LaidOut(Kind kind, const std::vector<std::pair<std::string, Type>>& elements) {
  TypeInfo info{.kind = kind};
  for (const auto& [name, type] : elements) {
    info.size = RoundUp(info.size, type->alignment);
    info.members.push_back({.name = name, .type = type, .offset = info.size});
    info.size += type->size;
    info.alignment = std::max(info.alignment, type->alignment);
  }
  info.size = RoundUp(info.size, info.alignment);
  return info;
}

// Looks for `name` in `type`, whose first byte lies at `base`.
bool FindIn(Type type, std::string_view name, uint32_t base, int nesting, int& budget,
            Member& out) {
  if (nesting > kMaxNesting) return false;
  for (const Member& member : type->members) {
    if (--budget < 0) return false;
    if (!member.name.empty()) {
      if (member.name != name) continue;
      out = member;
      out.offset += base;
      return true;
    }
    if (member.type.IsStruct() &&
        FindIn(member.type, name, base + member.offset, nesting + 1, budget, out)) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string_view Spelling(Unit unit) {
  switch (unit) {
    case Unit::kNone:
      return "";
    case Unit::kNanoseconds:
      return "ns";
    case Unit::kBytes:
      return "bytes";
    case Unit::kPages:
      return "pages";
  }
  MT_UNREACHABLE("every unit has a name");
}

std::string_view Spelling(Aggregation aggregation) {
  switch (aggregation) {
    case Aggregation::kCount:
      return "count";
    case Aggregation::kSum:
      return "sum";
    case Aggregation::kMin:
      return "min";
    case Aggregation::kMax:
      return "max";
    case Aggregation::kAvg:
      return "avg";
    case Aggregation::kStats:
      return "stats";
    case Aggregation::kHist:
      return "hist";
    case Aggregation::kLinearHist:
      return "lhist";
  }
  MT_UNREACHABLE("every aggregation has a spelling");
}

bool Type::Is(Kind kind) const {
  MT_CHECK(info_ != nullptr, "a type is asked for its kind only when there is one");
  return info_->kind == kind;
}

bool Type::IsInteger() const { return Is(Kind::kBool) || Is(Kind::kInt) || Is(Kind::kEnum); }

bool Type::IsStruct() const { return Is(Kind::kStruct) || Is(Kind::kUnion); }

bool Type::IsTuple() const { return Is(Kind::kTuple) || Is(Kind::kRecord); }

bool Type::IsStack() const { return Is(Kind::kKernelStack) || Is(Kind::kUserStack); }

bool Type::IsScalar() const {
  switch (info_->kind) {
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kEnum:
    case Kind::kPointer:
    case Kind::kKernelSymbol:
    case Kind::kTimestamp:
    case Kind::kUserName:
    case Kind::kGroupName:
    case Kind::kCgroupPath:
    case Kind::kMemcgPath:
    case Kind::kLoadAverage:
    case Kind::kProbeName:
      return true;
    case Kind::kError:
    case Kind::kNone:
    case Kind::kVoid:
    case Kind::kString:
    case Kind::kBuffer:
    case Kind::kArray:
    case Kind::kStruct:
    case Kind::kUnion:
    case Kind::kFunction:
    case Kind::kTuple:
    case Kind::kRecord:
    case Kind::kKernelStack:
    case Kind::kUserStack:
    case Kind::kUserSymbol:
    case Kind::kAggregation:
      return false;
  }
  MT_UNREACHABLE("every kind is a scalar or not");
}

std::string Type::Name() const {
  MT_CHECK(info_ != nullptr, "a type is named only when there is one");
  const TypeInfo& info = *info_;
  switch (info.kind) {
    case Kind::kError:
      return "error";
    case Kind::kNone:
      return "none";
    case Kind::kVoid:
      return "void";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return IntName(info);
    case Kind::kEnum:
      return Tagged("enum", info);
    case Kind::kString:
      return "string[" + std::to_string(info.size) + "]";
    case Kind::kBuffer:
      return "buffer[" + std::to_string(info.size - 4) + "]";
    case Kind::kPointer:
      return PointerName(info);
    case Kind::kArray:
      return ArrayName(info);
    case Kind::kStruct:
      return Tagged("struct", info);
    case Kind::kUnion:
      return Tagged("union", info);
    case Kind::kFunction:
      return "function";
    case Kind::kTuple:
    case Kind::kRecord:
      return TupleName(info);
    case Kind::kKernelStack:
      return "kstack";
    case Kind::kUserStack:
      return "ustack";
    case Kind::kKernelSymbol:
      return "ksym";
    case Kind::kUserSymbol:
      return "usym";
    case Kind::kTimestamp:
      return "timestamp";
    case Kind::kUserName:
      return "username";
    case Kind::kGroupName:
      return "groupname";
    case Kind::kCgroupPath:
      return "cgroup_path";
    case Kind::kMemcgPath:
      return "memcg_path";
    case Kind::kLoadAverage:
      return "loadavg";
    case Kind::kProbeName:
      return "probe";
    case Kind::kAggregation:
      return AggregationName(info);
  }
  MT_UNREACHABLE("every kind has a name");
}

TypeTable::TypeTable() {
  error_ = Intern({.kind = Kind::kError});
  none_ = Intern({.kind = Kind::kNone});
  void_ = Intern({.kind = Kind::kVoid});
  bool_ = Intern({.kind = Kind::kBool, .size = 1, .alignment = 1});
}

TypeTable::~TypeTable() = default;

Type TypeTable::Intern(TypeInfo info) {
  std::string key = InternKey(info);
  if (auto found = interned_.find(key); found != interned_.end()) return found->second;
  infos_.push_back(std::make_unique<TypeInfo>(std::move(info)));
  Type type(infos_.back().get());
  interned_.emplace(std::move(key), type);
  return type;
}

Type TypeTable::Int(uint32_t size, bool is_signed, Unit unit) {
  MT_CHECK(size == 1 || size == 2 || size == 4 || size == 8, "an int has 1, 2, 4 or 8 bytes");
  return Intern(
      {.kind = Kind::kInt, .size = size, .alignment = size, .is_signed = is_signed, .unit = unit});
}

Type TypeTable::String(uint32_t size) { return Intern({.kind = Kind::kString, .size = size}); }

Type TypeTable::Buffer(uint32_t size) {
  MT_CHECK(size >= 4, "a buffer has room for its length");
  return Intern({.kind = Kind::kBuffer, .size = size, .alignment = 4});
}

Type TypeTable::Pointer(Type target, Space space) {
  return Intern(
      {.kind = Kind::kPointer, .size = 8, .alignment = 8, .space = space, .target = target});
}

Type TypeTable::Array(Type element, uint32_t count) {
  MT_CHECK(element->size == 0 || count <= UINT32_MAX / element->size,
           "the bytes of an array are counted in 32 bits");
  return Intern({.kind = Kind::kArray,
                 .size = element->size * count,
                 .alignment = element->alignment,
                 .target = element,
                 .count = count});
}

Type TypeTable::Tuple(const std::vector<Type>& elements) {
  std::vector<std::pair<std::string, Type>> unnamed;
  for (Type element : elements) unnamed.emplace_back("", element);
  return Intern(LaidOut(Kind::kTuple, unnamed));
}

Type TypeTable::Record(const std::vector<std::pair<std::string, Type>>& elements) {
  return Intern(LaidOut(Kind::kRecord, elements));
}

Type TypeTable::Stack(Kind kind, uint16_t depth) {
  MT_CHECK(kind == Kind::kKernelStack || kind == Kind::kUserStack, "a stack is kernel or user");
  return Intern({.kind = kind, .size = 16, .alignment = 8, .depth = depth});
}

Type TypeTable::KernelSymbol() {
  return Intern({.kind = Kind::kKernelSymbol, .size = 8, .alignment = 8});
}

Type TypeTable::UserSymbol() {
  return Intern({.kind = Kind::kUserSymbol, .size = 16, .alignment = 8});
}

Type TypeTable::Timestamp(std::string_view format) {
  return Intern({.kind = Kind::kTimestamp, .size = 8, .alignment = 8, .name = std::string(format)});
}

Type TypeTable::UserName() { return Intern({.kind = Kind::kUserName, .size = 4, .alignment = 4}); }

Type TypeTable::GroupName() {
  return Intern({.kind = Kind::kGroupName, .size = 4, .alignment = 4});
}

Type TypeTable::CgroupPath() {
  return Intern({.kind = Kind::kCgroupPath, .size = 8, .alignment = 8});
}

Type TypeTable::MemcgPath() {
  return Intern({.kind = Kind::kMemcgPath, .size = 8, .alignment = 8});
}

Type TypeTable::LoadAverage() {
  return Intern({.kind = Kind::kLoadAverage, .size = 8, .alignment = 8});
}

Type TypeTable::MakeAggregation(TypeInfo info) {
  MT_CHECK(info.kind == Kind::kAggregation, "an aggregation is made from an aggregation");
  return Intern(std::move(info));
}

Type TypeTable::ProbeName() {
  return Intern({.kind = Kind::kProbeName, .size = 8, .alignment = 8});
}

TypeInfo* TypeTable::NewNominal(Kind kind, std::string name) {
  infos_.push_back(std::make_unique<TypeInfo>(TypeInfo{.kind = kind, .name = std::move(name)}));
  return infos_.back().get();
}

FoundMember FindMember(Type type, std::string_view name) {
  FoundMember result;
  int budget = kMaxMembersVisited;
  if (!name.empty() && (type.IsStruct() || type.IsTuple())) {
    result.found = FindIn(type, name, 0, 0, budget, result.member);
  }
  return result;
}

}  // namespace memtrace::types
