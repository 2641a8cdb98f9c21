#include "compiler/user/usdt_argument.h"

#include <charconv>
#include <optional>

namespace memtrace::user {
namespace {

struct Register {
  std::string_view name;
  uint32_t offset;  // in struct pt_regs
  uint32_t shift = 0;
};

// arch/x86/include/asm/ptrace.h. The narrow names are the low bits of the wide ones, so that only
// the second byte (%ah) needs a shift.
constexpr Register kX86Registers[] = {
    {"rax", 80},  {"eax", 80},   {"ax", 80},    {"al", 80},    {"ah", 80, 8}, {"rbx", 40},
    {"ebx", 40},  {"bx", 40},    {"bl", 40},    {"bh", 40, 8}, {"rcx", 88},   {"ecx", 88},
    {"cx", 88},   {"cl", 88},    {"ch", 88, 8}, {"rdx", 96},   {"edx", 96},   {"dx", 96},
    {"dl", 96},   {"dh", 96, 8}, {"rsi", 104},  {"esi", 104},  {"si", 104},   {"sil", 104},
    {"rdi", 112}, {"edi", 112},  {"di", 112},   {"dil", 112},  {"rbp", 32},   {"ebp", 32},
    {"bp", 32},   {"bpl", 32},   {"rsp", 152},  {"esp", 152},  {"sp", 152},   {"spl", 152},
    {"r8", 72},   {"r9", 64},    {"r10", 56},   {"r11", 48},   {"r12", 24},   {"r13", 16},
    {"r14", 8},   {"r15", 0},
};

std::optional<Register> FindX86Register(std::string_view name) {
  // r8d, r8w, r8b
  std::string_view wide = name;
  if (name.size() >= 3 && name[0] == 'r' && name[1] >= '0' && name[1] <= '9' &&
      (name.back() == 'd' || name.back() == 'w' || name.back() == 'b')) {
    wide.remove_suffix(1);
  }
  for (const Register& each : kX86Registers) {
    if (each.name == name || each.name == wide) return each;
  }
  return std::nullopt;
}

// arch/arm64/include/asm/ptrace.h: regs[31], sp.
std::optional<Register> FindArmRegister(std::string_view name) {
  constexpr uint32_t kRegisters = 31, kStackPointer = 31 * 8;
  if (name == "sp") return Register{name, kStackPointer};
  if (name == "lr") return Register{name, 30 * 8};
  if (name.size() < 2 || (name[0] != 'x' && name[0] != 'w')) return std::nullopt;
  uint32_t number = 0;
  auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number >= kRegisters) {
    return std::nullopt;
  }
  return Register{name, number * 8};
}

std::optional<int64_t> NumberIn(std::string_view text) {
  bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  }
  uint64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return static_cast<int64_t>(is_negative ? 0 - number : number);
}

std::string_view Trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// Takes what stands before the next comma off `text`.
std::string_view TakePart(std::string_view& text) {
  size_t comma = text.find(',');
  std::string_view part = text.substr(0, comma);
  text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  return Trimmed(part);
}

// The operand's own reading: false when it is of no known form.
using ReadOperand = bool (*)(std::string_view operand, UsdtArgument& argument);

// ---- x86-64 -----------------------------------------------------------------------------------

bool TakeX86Register(std::string_view text, uint32_t& offset) {
  if (!text.starts_with('%')) return false;
  auto found = FindX86Register(text.substr(1));
  if (found) offset = found->offset;
  return found.has_value();
}

// "disp(base,index,scale)"; each part may be missing, but not both registers.
bool ReadX86Memory(std::string_view operand, size_t open, UsdtArgument& argument) {
  argument.kind = OperandKind::kMemory;
  if (open > 0) {
    auto displacement = NumberIn(operand.substr(0, open));
    if (!displacement) return false;
    argument.constant = *displacement;
  }
  std::string_view inside = operand.substr(open + 1, operand.size() - open - 2);
  std::string_view base = TakePart(inside), index = TakePart(inside), scale = TakePart(inside);
  if (!base.empty() && !TakeX86Register(base, argument.base)) return false;
  if (!index.empty() && !TakeX86Register(index, argument.index)) return false;
  if (!scale.empty()) {
    auto number = NumberIn(scale);
    if (!number || (*number != 1 && *number != 2 && *number != 4 && *number != 8)) return false;
    argument.scale = static_cast<uint32_t>(*number);
  }
  return !base.empty() || !index.empty();
}

bool ReadX86Operand(std::string_view operand, UsdtArgument& argument) {
  if (operand.starts_with('$')) {
    auto number = NumberIn(operand.substr(1));
    if (number) argument.constant = *number;
    return number.has_value();
  }
  if (operand.starts_with('%')) {
    auto found = FindX86Register(operand.substr(1));
    if (!found) return false;
    argument.kind = OperandKind::kRegister;
    argument.base = found->offset;
    argument.shift = found->shift;
    return true;
  }
  size_t open = operand.find('(');
  if (open == std::string_view::npos || !operand.ends_with(')')) return false;
  return ReadX86Memory(operand, open, argument);
}

// ---- arm64 ------------------------------------------------------------------------------------

std::string_view WithoutHash(std::string_view text) {
  if (text.starts_with('#')) text.remove_prefix(1);
  return text;
}

// "[base]", "[base, 16]", "[base, index]", "[base, index, lsl #3]".
bool ReadArmMemory(std::string_view inside, UsdtArgument& argument) {
  argument.kind = OperandKind::kMemory;
  auto base = FindArmRegister(TakePart(inside));
  if (!base) return false;
  argument.base = base->offset;
  std::string_view second = TakePart(inside), third = TakePart(inside);
  if (second.empty()) return true;
  if (auto number = NumberIn(WithoutHash(second))) {
    argument.constant = *number;
    return third.empty();
  }
  // A w register would have to be cut and extended first.
  auto index = second[0] == 'w' ? std::nullopt : FindArmRegister(second);
  if (!index) return false;
  argument.index = index->offset;
  if (third.empty()) return true;
  if (!third.starts_with("lsl")) return false;
  auto shift = NumberIn(WithoutHash(Trimmed(third.substr(3))));
  if (!shift || *shift < 0 || *shift > 3) return false;
  argument.scale = 1u << *shift;
  return true;
}

bool ReadArmOperand(std::string_view operand, UsdtArgument& argument) {
  if (operand.starts_with('[') && operand.ends_with(']')) {
    return ReadArmMemory(operand.substr(1, operand.size() - 2), argument);
  }
  if (operand == "xzr" || operand == "wzr") return true;  // the constant 0
  if (auto found = FindArmRegister(operand)) {
    argument.kind = OperandKind::kRegister;
    argument.base = found->offset;
    return true;
  }
  auto number = NumberIn(WithoutHash(operand));
  if (number) argument.constant = *number;
  return number.has_value();
}

// ---- All --------------------------------------------------------------------------------------

// "-4@" in front of the operand; the size may be missing in notes of old headers.
bool ReadSize(std::string_view text, UsdtArgument& argument) {
  if (text.ends_with('f')) {
    argument.problem = "it is a floating-point number";
    return true;
  }
  auto size = NumberIn(text);
  if (!size) return false;
  argument.is_signed = *size < 0;
  argument.size = static_cast<uint32_t>(*size < 0 ? -*size : *size);
  return argument.size == 1 || argument.size == 2 || argument.size == 4 || argument.size == 8;
}

UsdtArgument ReadArgument(std::string_view text, ReadOperand read_operand) {
  UsdtArgument argument;
  size_t at = text.find('@');
  bool is_known = at == std::string_view::npos || ReadSize(text.substr(0, at), argument);
  std::string_view operand = at == std::string_view::npos ? text : text.substr(at + 1);
  if (!argument.problem.empty()) return argument;
  if (!is_known || !read_operand(operand, argument)) {
    argument.problem = "its place is written as " + std::string(text);
  }
  return argument;
}

// The end of the argument that `text` begins with: a blank outside of brackets.
size_t EndOfArgument(std::string_view text) {
  bool is_inside = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') is_inside = true;
    if (text[i] == ']') is_inside = false;
    if (text[i] == ' ' && !is_inside) return i;
  }
  return text.size();
}

}  // namespace

std::vector<UsdtArgument> ParseUsdtArguments(std::string_view text, std::string_view architecture) {
  ReadOperand read_operand = architecture == "aarch64" ? ReadArmOperand : ReadX86Operand;
  std::vector<UsdtArgument> arguments;
  for (text = Trimmed(text); !text.empty(); text = Trimmed(text)) {
    size_t end = EndOfArgument(text);
    arguments.push_back(ReadArgument(text.substr(0, end), read_operand));
    text.remove_prefix(end);
  }
  return arguments;
}

}  // namespace memtrace::user
