// What BTF's types mean in the language: from ids to types::Type.
#include "compiler/kernel/btf.h"

#include <algorithm>

#include "compiler/kernel/c_types.h"

namespace memtrace::kernel {
namespace {

// Longest chain of pointers, arrays, qualifiers and typedefs that is followed. The kernel's longest
// has about ten; only malformed data, where a chain ends in itself, has more.
constexpr int kMaxDepth = 64;

// BTF_INT_* of the word behind an integer.
constexpr uint32_t kIntSigned = 1 << 24;
constexpr uint32_t kIntBool = 4 << 24;

bool IsQualifier(BtfKind kind) {
  return kind == BtfKind::kTypedef || kind == BtfKind::kVolatile || kind == BtfKind::kConst ||
         kind == BtfKind::kRestrict || kind == BtfKind::kTypeTag;
}

// BTF does not record alignment. The largest power of two that divides the size, up to a word, is
// never less than the true one up to a word, and serves for laying out copies.
uint32_t AlignmentFor(uint32_t size) {
  for (uint32_t alignment = 8; alignment > 1; alignment /= 2) {
    if (size % alignment == 0) return alignment;
  }
  return 1;
}

// Where a bitfield's bits lie: counted from an aligned unit of its type when the unit lies inside
// the struct and holds all the bits, so that one load reads them; from their first byte otherwise
// (packed).
void PlaceBits(types::Member& member, uint32_t first_bit, uint32_t bits, uint32_t struct_size) {
  uint32_t unit = std::max<uint32_t>(member.type->size, 1);
  uint32_t offset = first_bit / (unit * 8) * unit;
  if (first_bit - offset * 8 + bits > unit * 8 || offset + uint64_t{unit} > struct_size) {
    offset = first_bit / 8;
  }
  member.offset = offset;
  member.bit_offset = static_cast<uint8_t>(first_bit - offset * 8);
  member.bit_size = static_cast<uint8_t>(bits);
}

}  // namespace

// Follows typedefs and qualifiers. `is_user` is set when one of them is __user.
uint32_t Btf::SkipQualifiers(uint32_t id, bool* is_user) const {
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    const Btf& owner = Owner(id);
    RawType raw = owner.Raw(id);
    if (!IsQualifier(raw.kind)) return id;
    // With the flag the tag is any attribute, not btf_type_tag().
    if (raw.kind == BtfKind::kTypeTag && !raw.kind_flag && is_user != nullptr &&
        owner.Text(raw.name) == "user") {
      *is_user = true;
    }
    id = raw.size_or_type;
  }
  return UINT32_MAX;
}

types::Type Btf::TypeOf(uint32_t id) { return Resolve(id, 0); }

types::Type Btf::Resolve(uint32_t id, int depth) {
  if (depth > kMaxDepth) return types_->Error();
  if (id == 0) return types_->Void();
  id = SkipQualifiers(id);
  if (id == 0) return types_->Void();
  if (id < first_id_) return base_->Resolve(id, depth);
  if (id >= type_count()) return types_->Error();
  if (auto found = by_id_.find(id); found != by_id_.end()) return found->second;

  RawType raw = Raw(id);
  types::Type type = types_->Error();
  switch (raw.kind) {
    case BtfKind::kInt:
      type = IntOf(raw);
      break;
    case BtfKind::kPtr:
      type = PointerTo(raw.size_or_type, depth);
      break;
    case BtfKind::kArray:
      type = ArrayOf(raw, depth);
      break;
    case BtfKind::kStruct:
    case BtfKind::kUnion:
      type = NominalOf(id, raw);
      break;
    case BtfKind::kEnum:
    case BtfKind::kEnum64:
      type = EnumOf(id, raw);
      break;
    case BtfKind::kFwd:
      type = ForwardOf(id, raw);
      break;
    case BtfKind::kFloat:
      type = types_->Array(types_->Int(1, false), std::min<uint32_t>(raw.size_or_type, 16));
      break;
    case BtfKind::kFunc:
      return Resolve(raw.size_or_type, depth + 1);
    case BtfKind::kFuncProto: {
      types::TypeInfo* info = types_->NewNominal(types::Kind::kFunction, "");
      info->btf_id = id;
      type = types::Type(info);
      break;
    }
    case BtfKind::kVar:
      return Resolve(raw.size_or_type, depth + 1);
    case BtfKind::kUnknown:
    case BtfKind::kTypedef:
    case BtfKind::kVolatile:
    case BtfKind::kConst:
    case BtfKind::kRestrict:
    case BtfKind::kDatasec:
    case BtfKind::kDeclTag:
    case BtfKind::kTypeTag:
      break;
  }
  by_id_.emplace(id, type);
  return type;
}

types::Type Btf::IntOf(const RawType& raw) const {
  uint32_t encoding = Word(raw.rest);
  uint32_t size = raw.size_or_type;
  if ((encoding & kIntBool) != 0 && size == 1) return types_->Bool();
  if (size == 1 || size == 2 || size == 4 || size == 8) {
    bool is_signed = (encoding & kIntSigned) != 0;
    return types_->Int(size, is_signed);
  }
  if (size == 16) return types_->Array(types_->Uint64(), 2);
  return types_->Error();
}

types::Type Btf::PointerTo(uint32_t id, int depth) {
  bool is_user = false;
  uint32_t target = SkipQualifiers(id, &is_user);
  return types_->Pointer(Resolve(target, depth + 1),
                         is_user ? types::Space::kUser : types::Space::kKernel);
}

bool Btf::IsChar(uint32_t id) const {
  id = SkipQualifiers(id);
  const Btf& owner = Owner(id);
  RawType raw = owner.Raw(id);
  return raw.kind == BtfKind::kInt && raw.size_or_type == 1 && owner.Text(raw.name) == "char";
}

types::Type Btf::ArrayOf(const RawType& raw, int depth) {
  uint32_t element = Word(raw.rest);
  uint32_t count = Word(raw.rest + 8);
  if (count > 0 && IsChar(element)) return types_->String(count);
  types::Type type = Resolve(element, depth + 1);
  if (type->size != 0 && count > UINT32_MAX / type->size) return types_->Error();
  return types_->Array(type, count);
}

types::Type Btf::EnumOf(uint32_t id, const RawType& raw) {
  types::TypeInfo* info = types_->NewNominal(types::Kind::kEnum, std::string(Text(raw.name)));
  uint32_t size = raw.size_or_type;
  info->size = size == 1 || size == 2 || size == 8 ? size : 4;
  info->alignment = info->size;
  info->is_signed = raw.kind_flag;
  info->btf_id = id;
  info->enumerators.reserve(raw.length);
  for (uint32_t i = 0; i < raw.length; ++i) {
    size_t at = raw.rest + i * (raw.kind == BtfKind::kEnum ? 8 : 12);
    uint32_t low = Word(at + 4);
    int64_t value = raw.kind_flag ? int64_t{static_cast<int32_t>(low)} : int64_t{low};
    if (raw.kind == BtfKind::kEnum64) {
      value = static_cast<int64_t>(uint64_t{Word(at + 8)} << 32 | low);
    }
    info->enumerators.push_back({.name = std::string(Text(Word(at))), .value = value});
  }
  return types::Type(info);
}

types::Type Btf::NominalOf(uint32_t id, const RawType& raw) {
  types::Kind kind = raw.kind == BtfKind::kStruct ? types::Kind::kStruct : types::Kind::kUnion;
  types::TypeInfo* info = types_->NewNominal(kind, std::string(Text(raw.name)));
  info->size = raw.size_or_type;
  info->alignment = AlignmentFor(info->size);
  info->btf_id = id;
  info->complete = false;
  nominals_.emplace(id, info);
  return types::Type(info);
}

types::Type Btf::ForwardOf(uint32_t id, const RawType& raw) {
  BtfKind kind = raw.kind_flag ? BtfKind::kUnion : BtfKind::kStruct;
  if (uint32_t definition = FindId(Text(raw.name), kind)) return Resolve(definition, 0);
  types::TypeInfo* info = types_->NewNominal(
      raw.kind_flag ? types::Kind::kUnion : types::Kind::kStruct, std::string(Text(raw.name)));
  info->btf_id = id;
  info->complete = false;
  return types::Type(info);
}

void Btf::Complete(types::Type type) {
  std::vector<types::Type> todo = {type};
  while (!todo.empty()) {
    types::Type next = todo.back();
    todo.pop_back();
    if (!next.IsStruct() || next->complete || next->btf_id == 0) continue;
    if (next->btf_id < first_id_) {
      base_->Complete(next);
      continue;
    }
    auto found = nominals_.find(next->btf_id);
    // A forward declaration without a definition stays incomplete, and so does another table's
    // type.
    if (found == nominals_.end() || found->second != &*next) continue;
    AddMembers(*found->second, Raw(next->btf_id));
    for (const types::Member& member : next->members) {
      if (member.name.empty()) todo.push_back(member.type);
    }
  }
}

// A member that does not lie within its struct is left out: no compiler emits it.
void Btf::AddMembers(types::TypeInfo& info, const RawType& raw) {
  info.complete = true;
  info.members.reserve(raw.length);
  for (uint32_t i = 0; i < raw.length; ++i) {
    size_t at = raw.rest + i * 12;
    uint32_t type_id = Word(at + 4);
    uint32_t place = Word(at + 8);
    types::Member member{.name = std::string(Text(Word(at))), .type = TypeOf(type_id)};
    uint32_t first_bit = raw.kind_flag ? place & 0xffffff : place;
    uint32_t bits = raw.kind_flag ? place >> 24 : 0;
    if (!raw.kind_flag) {
      // Before the flag existed a bitfield was an integer that said how many of its bits count.
      uint32_t target = SkipQualifiers(type_id);
      const Btf& owner = Owner(target);
      RawType integer = owner.Raw(target);
      if (integer.kind == BtfKind::kInt) {
        uint32_t encoding = owner.Word(integer.rest);
        uint32_t int_bits = encoding & 0xff;
        uint32_t int_offset = (encoding >> 16) & 0xff;
        if (int_bits != uint64_t{integer.size_or_type} * 8 || int_offset != 0 || place % 8 != 0) {
          bits = int_bits;
          if (int_offset > UINT32_MAX - first_bit) continue;
          first_bit += int_offset;
        }
      }
    }
    bool is_bitfield = bits != 0;
    if (is_bitfield && (bits > 64 || !member.type.IsInteger())) continue;
    uint64_t end = is_bitfield ? (uint64_t{first_bit} + bits + 7) / 8
                               : uint64_t{first_bit} / 8 + member.type->size;
    if (end > info.size) continue;
    if (is_bitfield) {
      PlaceBits(member, first_bit, bits, info.size);
    } else {
      member.offset = first_bit / 8;
    }
    info.members.push_back(std::move(member));
  }
}

types::Type Btf::TypeNamed(std::string_view c_name) {
  std::string_view name = Trimmed(c_name);
  for (std::string_view qualifier : {"const ", "volatile "}) {
    if (name.starts_with(qualifier)) name = Trimmed(name.substr(qualifier.size()));
  }
  if (name.ends_with('*')) {
    name = Trimmed(name.substr(0, name.size() - 1));
    types::Space space = types::Space::kKernel;
    if (name.ends_with(" __user")) {
      name = Trimmed(name.substr(0, name.size() - 7));
      space = types::Space::kUser;
    }
    types::Type target = TypeNamed(name);
    return target ? types_->Pointer(target, space) : types::Type();
  }
  struct Keyword {
    std::string_view prefix;
    BtfKind kind;
    BtfKind other;
  };
  constexpr Keyword kKeywords[] = {
      {"struct ", BtfKind::kStruct, BtfKind::kStruct},
      {"union ", BtfKind::kUnion, BtfKind::kUnion},
      {"enum ", BtfKind::kEnum, BtfKind::kEnum64},
  };
  for (const Keyword& keyword : kKeywords) {
    if (!name.starts_with(keyword.prefix)) continue;
    std::string_view tag = Trimmed(name.substr(keyword.prefix.size()));
    uint32_t id = FindId(tag, keyword.kind);
    if (id == 0) id = FindId(tag, keyword.other);
    return id == 0 ? types::Type() : TypeOf(id);
  }
  if (types::Type basic = BasicCType(name, *types_)) return basic;
  for (BtfKind kind : {BtfKind::kTypedef, BtfKind::kStruct, BtfKind::kUnion, BtfKind::kEnum,
                       BtfKind::kEnum64, BtfKind::kInt}) {
    if (uint32_t id = FindId(name, kind)) return TypeOf(id);
  }
  return {};
}

FunctionPrototype Btf::PrototypeOf(uint32_t id) {
  if (id < first_id_) return base_->PrototypeOf(id);
  RawType raw = Raw(id);
  FunctionPrototype prototype{.parameters = {}, .result = TypeOf(raw.size_or_type)};
  for (uint32_t i = 0; i < raw.length; ++i) {
    uint32_t name = Word(raw.rest + i * 8);
    uint32_t type = Word(raw.rest + i * 8 + 4);
    if (name == 0 && type == 0 && i + 1 == raw.length) {
      prototype.is_variadic = true;
      break;
    }
    prototype.parameters.push_back({.name = std::string(Text(name)), .type = TypeOf(type)});
  }
  return prototype;
}

Result<FunctionPrototype> Btf::Prototype(std::string_view function) {
  uint32_t id = FindId(function, BtfKind::kFunc);
  if (id == 0) {
    return Error(ErrorKind::kNotFound, "the kernel's BTF has no function " + std::string(function));
  }
  uint32_t prototype = Owner(id).Raw(id).size_or_type;
  if (Owner(prototype).Raw(prototype).kind != BtfKind::kFuncProto) {
    return Error(ErrorKind::kInvalid,
                 "BTF: function " + std::string(function) + " has no prototype");
  }
  return PrototypeOf(prototype);
}

Result<FunctionPrototype> Btf::RawTracepoint(std::string_view name) {
  std::string event(name);
  uint32_t id = FindId("btf_trace_" + event, BtfKind::kTypedef);
  if (id == 0) {
    return Error(ErrorKind::kNotFound, "the kernel's BTF has no raw tracepoint " + event);
  }
  // typedef void (*btf_trace_NAME)(void *, …)
  uint32_t pointer = SkipQualifiers(id);
  RawType raw = Owner(pointer).Raw(pointer);
  uint32_t function = raw.kind == BtfKind::kPtr ? SkipQualifiers(raw.size_or_type) : UINT32_MAX;
  if (Owner(function).Raw(function).kind != BtfKind::kFuncProto) {
    return Error(ErrorKind::kInvalid, "BTF: btf_trace_" + event + " is no pointer to a function");
  }
  FunctionPrototype prototype = PrototypeOf(function);
  // __traceiter_ exists per event, __bpf_trace_ per event class (and bears the class's name).
  for (std::string_view prefix : {"__traceiter_", "__bpf_trace_"}) {
    auto named = Prototype(std::string(prefix) + event);
    if (!named.ok() || named.value().parameters.size() != prototype.parameters.size()) continue;
    for (size_t i = 0; i < prototype.parameters.size(); ++i) {
      prototype.parameters[i].name = named.value().parameters[i].name;
    }
    break;
  }
  if (!prototype.parameters.empty()) prototype.parameters.erase(prototype.parameters.begin());
  return prototype;
}

}  // namespace memtrace::kernel
