#include "compiler/kernel/c_types.h"

#include <cstdint>

namespace memtrace::kernel {
namespace {

struct FixedName {
  std::string_view name;
  uint32_t size;
  bool is_signed;
};

// include/uapi/asm-generic/int-ll64.h, include/linux/types.h.
constexpr FixedName kFixedNames[] = {
    {"u8", 1, false},       {"s8", 1, true},      {"u16", 2, false},       {"s16", 2, true},
    {"u32", 4, false},      {"s32", 4, true},     {"u64", 8, false},       {"s64", 8, true},
    {"__u8", 1, false},     {"__s8", 1, true},    {"__u16", 2, false},     {"__s16", 2, true},
    {"__u32", 4, false},    {"__s32", 4, true},   {"__u64", 8, false},     {"__s64", 8, true},
    {"uint8_t", 1, false},  {"int8_t", 1, true},  {"uint16_t", 2, false},  {"int16_t", 2, true},
    {"uint32_t", 4, false}, {"int32_t", 4, true}, {"uint64_t", 8, false},  {"int64_t", 8, true},
    {"size_t", 8, false},   {"ssize_t", 8, true}, {"uintptr_t", 8, false}, {"intptr_t", 8, true},
};

// Words of one arithmetic type, counted.
struct Words {
  int is_unsigned = 0, is_signed = 0, longs = 0, shorts = 0, chars = 0, ints = 0;
  bool Any() const { return is_unsigned + is_signed + longs + shorts + chars + ints > 0; }
};

bool Count(std::string_view word, Words& words) {
  if (word == "const" || word == "volatile") return true;
  if (word == "unsigned") return ++words.is_unsigned, true;
  if (word == "signed") return ++words.is_signed, true;
  if (word == "long") return ++words.longs, true;
  if (word == "short") return ++words.shorts, true;
  if (word == "char") return ++words.chars, true;
  if (word == "int") return ++words.ints, true;
  return false;
}

}  // namespace

std::string_view Trimmed(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

types::Type BasicCType(std::string_view name, types::TypeTable& types) {
  Words words;
  std::string_view single;  // the only word that is none of the arithmetic ones
  for (std::string_view rest = Trimmed(name); !rest.empty();) {
    size_t end = rest.find_first_of(" \t");
    std::string_view word = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : Trimmed(rest.substr(end));
    if (Count(word, words)) continue;
    if (!single.empty()) return {};
    single = word;
  }
  if (!single.empty()) {
    if (words.Any()) return {};
    if (single == "bool" || single == "_Bool") return types.Bool();
    if (single == "void") return types.Void();
    for (const FixedName& fixed : kFixedNames) {
      if (fixed.name == single) return types.Int(fixed.size, fixed.is_signed);
    }
    return {};
  }
  if (!words.Any()) return {};
  uint32_t size = words.chars ? 1 : words.shorts ? 2 : words.longs ? 8 : 4;
  bool is_signed = words.is_unsigned == 0;
#if defined(__CHAR_UNSIGNED__)  // arm64
  if (words.chars && words.is_signed == 0) is_signed = false;
#endif
  return types.Int(size, is_signed);
}

}  // namespace memtrace::kernel
