#include "compiler/kernel/tracepoint_format.h"

#include <charconv>
#include <optional>

#include "compiler/kernel/c_types.h"
#include "compiler/kernel/syscall_arguments.h"

namespace memtrace::kernel {
namespace {

constexpr std::string_view kSyscallEnter = "sys_enter_";

// "\tfield:DECLARATION;\toffset:N;\tsize:N;\tsigned:N;" and what its declaration says.
struct Field {
  std::string_view c_type;  // without the name, the brackets and __data_loc
  std::string_view name;
  bool is_array = false;
  uint32_t declared_count = 0;  // 0: none, or not a number
  bool is_data_loc = false;
  bool is_relative_loc = false;
  uint32_t offset = 0;
  uint32_t size = 0;
  bool is_signed = false;
};

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::optional<uint32_t> ParseNumber(std::string_view text) {
  uint32_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The value behind `key` in "offset:8;\tsize:4;".
std::optional<uint32_t> Property(std::string_view line, std::string_view key) {
  size_t at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  line.remove_prefix(at + key.size());
  return ParseNumber(line.substr(0, line.find(';')));
}

bool Consume(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Takes "[N]" from the end.
bool ConsumeBrackets(std::string_view& text, Field& field) {
  if (!text.ends_with(']')) return false;
  size_t open = text.rfind('[');
  if (open == std::string_view::npos) return false;
  field.is_array = true;
  field.declared_count = ParseNumber(text.substr(open + 1, text.size() - open - 2)).value_or(0);
  text = Trimmed(text.substr(0, open));
  return true;
}

bool ParseDeclaration(std::string_view text, Field& field) {
  text = Trimmed(text);
  field.is_relative_loc = Consume(text, "__rel_loc ");
  field.is_data_loc = field.is_relative_loc || Consume(text, "__data_loc ");
  ConsumeBrackets(text, field);
  size_t begin = text.size();
  while (begin > 0 && IsNameCharacter(text[begin - 1])) --begin;
  field.name = text.substr(begin);
  text = Trimmed(text.substr(0, begin));
  ConsumeBrackets(text, field);  // "char[] name", "u8[4] name"
  field.c_type = text;
  return !field.name.empty() && !text.empty();
}

bool ParseField(std::string_view line, Field& field) {
  size_t end = line.find(';');
  if (end == std::string_view::npos) return false;
  auto offset = Property(line, "offset:");
  auto size = Property(line, "size:");
  if (!offset || !size || !ParseDeclaration(line.substr(0, end), field)) return false;
  field.offset = *offset;
  field.size = *size;
  field.is_signed = Property(line, "signed:").value_or(0) != 0;
  return true;
}

std::string_view WithoutConst(std::string_view c_type) {
  c_type = Trimmed(c_type);
  while (Consume(c_type, "const ") || Consume(c_type, "volatile ")) c_type = Trimmed(c_type);
  return c_type;
}

class FieldTyper {
 public:
  FieldTyper(std::string_view event, types::TypeTable& types,
             const std::function<types::Type(std::string_view)>& resolve)
      : types_(types), resolve_(resolve) {
    if (event.starts_with(kSyscallEnter)) call_ = event.substr(kSyscallEnter.size());
  }

  types::Type TypeOf(const Field& field) {
    if (field.is_data_loc) return LocatedType(field);
    if (field.is_array) return ArrayType(field);
    if (!call_.empty() && field.size == 8) return SyscallArgument(field);
    types::Type type = Named(field.c_type);
    // Where the file and the name agree on the size the name knows more (enum, bool, pointer). The
    // sign is the file's: plain char has one or not as the kernel was built.
    if (type && type->size == field.size && !type.Is(types::Kind::kInt)) return type;
    return BySize(field.size, field.is_signed);
  }

 private:
  // __data_loc: the bytes' number is known only when the event happens.
  types::Type LocatedType(const Field& field) {
    if (WithoutConst(field.c_type) == "char") return types_.String(0);
    types::Type element = Named(field.c_type);
    // cpumask_t and its like are words of bits.
    if (!element || !(element.IsInteger() || element.IsPointer())) element = types_.Uint64();
    return types_.Array(element, 0);
  }

  types::Type ArrayType(const Field& field) {
    std::string_view c_type = WithoutConst(field.c_type);
    if (c_type == "char" && field.size > 0) return types_.String(field.size);
    types::Type element = Named(c_type);
    uint32_t count = field.declared_count;
    if (!element || element->size == 0) {
      if (count == 0 || field.size % count != 0) return BytesOf(field.size);
      element = BySize(field.size / count, field.is_signed);
    }
    // The number in brackets may be the name of a constant; the size is always a number.
    if (field.size % element->size != 0) return BytesOf(field.size);
    return types_.Array(element, field.size / element->size);
  }

  // Every argument fills a register, whatever its type; what the program passed are the low bytes.
  types::Type SyscallArgument(const Field& field) {
    if (types::Type type = SyscallArgumentType(call_, field.name, types_)) return type;
    types::Type type = Named(field.c_type);
    bool fits = type && type->size > 0 && type->size <= field.size;
    if (fits && (type.IsInteger() || type.IsPointer())) return type;
    return BySize(field.size, field.is_signed);
  }

  types::Type Named(std::string_view c_type) {
    c_type = WithoutConst(c_type);
    if (c_type.ends_with("const")) c_type = Trimmed(c_type.substr(0, c_type.size() - 5));
    if (c_type.ends_with('*')) return PointerTo(c_type.substr(0, c_type.size() - 1));
    if (types::Type basic = BasicCType(c_type, types_)) return basic;
    return resolve_ ? resolve_(c_type) : types::Type();
  }

  types::Type PointerTo(std::string_view c_type) {
    c_type = Trimmed(c_type);
    // What a program passes to a system call points into the program.
    types::Space space = call_.empty() ? types::Space::kKernel : types::Space::kUser;
    // __seg_gs marks a per-CPU offset, which the kernel prints as it is.
    if (size_t at = c_type.find(" __"); at != std::string_view::npos) {
      if (c_type.substr(at) == " __user") space = types::Space::kUser;
      if (!c_type.starts_with("struct __")) c_type = Trimmed(c_type.substr(0, at));
    }
    types::Type target = Named(c_type);
    return types_.Pointer(target ? target : types_.Void(), space);
  }

  types::Type BySize(uint32_t size, bool is_signed) {
    if (size == 1 || size == 2 || size == 4 || size == 8) return types_.Int(size, is_signed);
    return BytesOf(size);
  }

  types::Type BytesOf(uint32_t size) { return types_.Array(types_.Int(1, false), size); }

  types::TypeTable& types_;
  const std::function<types::Type(std::string_view)>& resolve_;
  std::string_view call_;  // empty: not the entry of a system call
};

Error NotUnderstood(std::string_view line) {
  return Error(ErrorKind::kInvalid, "tracepoint format: line not understood: " + std::string(line));
}

}  // namespace

Result<TracepointFormat> ParseTracepointFormat(
    std::string_view text, types::TypeTable& types,
    const std::function<types::Type(std::string_view)>& resolve) {
  TracepointFormat format;
  while (!text.empty()) {
    size_t end = text.find('\n');
    std::string_view line = Trimmed(text.substr(0, end));
    std::string_view whole = line;
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line == "format:") continue;
    if (Consume(line, "name: ")) {
      format.name = std::string(line);
    } else if (Consume(line, "ID: ")) {
      auto id = ParseNumber(line);
      if (!id) return NotUnderstood(whole);
      format.id = *id;
    } else if (Consume(line, "print fmt: ")) {
      // The last thing in the file; some of them hold line ends (ext4_fc_stats).
      format.print_format = std::string(line);
      if (!text.empty()) format.print_format.append("\n").append(text);
      while (format.print_format.ends_with('\n')) format.print_format.pop_back();
      text = {};
    } else if (Consume(line, "field:")) {
      Field field;
      if (!ParseField(line, field)) return NotUnderstood(whole);
      if (field.name.starts_with("common_")) continue;
      FieldTyper typer(format.name, types, resolve);
      format.members.push_back({.name = std::string(field.name),
                                .type = typer.TypeOf(field),
                                .offset = field.offset,
                                .is_data_loc = field.is_data_loc,
                                .is_relative_loc = field.is_relative_loc});
    } else {
      return NotUnderstood(whole);
    }
  }
  if (format.name.empty()) return Error(ErrorKind::kInvalid, "tracepoint format: no name");
  return format;
}

}  // namespace memtrace::kernel
