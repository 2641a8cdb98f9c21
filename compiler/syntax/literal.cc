#include "compiler/syntax/literal.h"

#include <algorithm>
#include <vector>

namespace memtrace::syntax {
namespace {

using diag::Code;
using diag::Span;

struct Suffix {
  std::string_view text;
  uint64_t factor;
  UnitName unit;
};
constexpr Suffix kSuffixes[] = {
    {"", 1, UnitName::kNone},
    {"ns", 1, UnitName::kNanoseconds},
    {"us", 1'000, UnitName::kNanoseconds},
    {"ms", 1'000'000, UnitName::kNanoseconds},
    {"s", 1'000'000'000, UnitName::kNanoseconds},
    {"m", 60'000'000'000, UnitName::kNanoseconds},
    {"h", 3'600'000'000'000, UnitName::kNanoseconds},
    {"d", 86'400'000'000'000, UnitName::kNanoseconds},
    {"B", 1, UnitName::kBytes},
    {"KiB", uint64_t{1} << 10, UnitName::kBytes},
    {"MiB", uint64_t{1} << 20, UnitName::kBytes},
    {"GiB", uint64_t{1} << 30, UnitName::kBytes},
    {"TiB", uint64_t{1} << 40, UnitName::kBytes},
    // C's suffixes say nothing here: a literal takes the type it is used with.
    {"u", 1, UnitName::kNone},
    {"l", 1, UnitName::kNone},
    {"ul", 1, UnitName::kNone},
    {"lu", 1, UnitName::kNone},
    {"ll", 1, UnitName::kNone},
    {"ull", 1, UnitName::kNone},
    {"llu", 1, UnitName::kNone},
    {"U", 1, UnitName::kNone},
    {"L", 1, UnitName::kNone},
    {"UL", 1, UnitName::kNone},
    {"LU", 1, UnitName::kNone},
    {"LL", 1, UnitName::kNone},
    {"ULL", 1, UnitName::kNone},
    {"LLU", 1, UnitName::kNone},
};

// The value of a digit in any base up to 16, or 16.
unsigned DigitValue(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10;
  return 16;
}

class NumberReader {
 public:
  NumberReader(std::string_view text, Span span, diag::Diagnostics& diagnostics)
      : text_(text), span_(span), diagnostics_(diagnostics) {}

  IntegerValue Read() {
    const unsigned base = ReadPrefix();
    const size_t first = at_;
    uint64_t value = ReadDigits(base);
    if (failed_) return {0, UnitName::kNone};
    if (at_ == first) return Fail(0, text_.size(), "digits are missing");
    if (base == 10) value = ReadExponent(value);
    return ApplySuffix(value);
  }

 private:
  IntegerValue Fail(size_t begin, size_t end, std::string message) {
    if (!failed_) {
      const Span span{span_.begin + static_cast<uint32_t>(begin),
                      span_.begin + static_cast<uint32_t>(end)};
      diagnostics_.Error(Code::kBadNumber, span, std::move(message));
    }
    failed_ = true;
    return {0, UnitName::kNone};
  }

  unsigned ReadPrefix() {
    const std::string_view prefix = text_.substr(0, 2);
    if (prefix == "0x" || prefix == "0X") return at_ = 2, 16;
    if (prefix == "0b" || prefix == "0B") return at_ = 2, 2;
    if (text_[0] == '0' && text_.size() > 1 && DigitValue(text_[1]) < 10) return at_ = 1, 8;
    return 10;
  }

  uint64_t ReadDigits(unsigned base) {
    uint64_t value = 0;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '_') continue;
      const unsigned digit = DigitValue(text_[at_]);
      // In bases below ten a decimal digit is a mistake, a letter may begin the suffix.
      if (digit >= base && (digit >= 10 || base >= 10)) break;
      if (digit >= base) {
        Fail(at_, at_ + 1,
             "`" + std::string(1, text_[at_]) + "` is no digit of " +
                 (base == 8 ? "an octal" : "a binary") + " number");
        return 0;
      }
      Multiply(value, base);
      overflow_ |= __builtin_add_overflow(value, uint64_t{digit}, &value);
    }
    return value;
  }

  // 1e6: a whole number of decimal zeros.
  uint64_t ReadExponent(uint64_t value) {
    const bool exponent = at_ + 1 < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E') &&
                          DigitValue(text_[at_ + 1]) < 10;
    if (!exponent) return value;
    unsigned zeros = 0;
    for (++at_; at_ < text_.size() && DigitValue(text_[at_]) < 10; ++at_) {
      zeros = std::min(zeros * 10 + DigitValue(text_[at_]), 100u);
    }
    for (unsigned i = 0; i < zeros; ++i) Multiply(value, 10);
    return value;
  }

  void Multiply(uint64_t& value, uint64_t factor) {
    overflow_ |= __builtin_mul_overflow(value, factor, &value);
  }

  IntegerValue ApplySuffix(uint64_t value) {
    const std::string_view suffix = text_.substr(at_);
    const auto* row = std::find_if(std::begin(kSuffixes), std::end(kSuffixes),
                                   [&](const Suffix& s) { return s.text == suffix; });
    if (row == std::end(kSuffixes)) return FailSuffix(suffix);
    Multiply(value, row->factor);
    if (overflow_) {
      diagnostics_.Error(Code::kNumberTooLarge, span_, "the number needs more than 64 bits")
          .Note("the largest is 0xffffffffffffffff");
      return {0, UnitName::kNone};
    }
    return {value, row->unit};
  }

  IntegerValue FailSuffix(std::string_view suffix) {
    const Span span{span_.begin + static_cast<uint32_t>(at_), span_.end};
    auto error = diagnostics_.Error(Code::kBadNumber, span,
                                    "unknown suffix `" + std::string(suffix) + "` of a number");
    std::vector<std::string_view> names;
    for (const Suffix& row : kSuffixes) {
      if (row.unit != UnitName::kNone) names.push_back(row.text);
    }
    const bool decimal = suffix.size() == 2 && (suffix[1] == 'B' || suffix[1] == 'b');
    const std::string binary = decimal ? std::string(1, suffix[0]) + "iB" : std::string(suffix);
    const std::string_view closest = diag::ClosestName(binary, names);
    if (!closest.empty()) error.Hint("did you mean `" + std::string(closest) + "`?");
    error.Note("numbers end in ns us ms s m h d (time), B KiB MiB GiB TiB (size) or a digit");
    return {0, UnitName::kNone};
  }

  std::string_view text_;
  Span span_;
  diag::Diagnostics& diagnostics_;
  size_t at_ = 0;
  bool overflow_ = false;
  bool failed_ = false;
};

class StringReader {
 public:
  StringReader(std::string_view text, Span span, diag::Diagnostics& diagnostics)
      : text_(text), span_(span), diagnostics_(diagnostics) {}

  std::string Read() {
    std::string value;
    const char quote = text_[0];
    at_ = 1;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] == '\\') {
        ReadEscape(value);
      } else {
        value += text_[at_++];
      }
    }
    return value;
  }

 private:
  void ReadEscape(std::string& value) {
    constexpr std::string_view kLetters = "ntrabfv\\\"'";
    constexpr std::string_view kMeanings = "\n\t\r\a\b\f\v\\\"'";
    const size_t begin = at_++;
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (const size_t letter = kLetters.find(c); letter != kLetters.npos) {
      value += kMeanings[letter];
      ++at_;
    } else if (DigitValue(c) < 8) {
      ReadCode(value, begin, 8, 3);
    } else if (c == 'x') {
      ++at_;
      ReadCode(value, begin, 16, 2);
    } else {
      if (at_ < text_.size()) ++at_;
      Fail(begin, "unknown escape `" + std::string(text_.substr(begin, at_ - begin)) + "`");
    }
  }

  void ReadCode(std::string& value, size_t begin, unsigned base, size_t most) {
    const size_t first = at_;
    unsigned code = 0;
    while (at_ < text_.size() && at_ - first < most && DigitValue(text_[at_]) < base) {
      code = code * base + DigitValue(text_[at_++]);
    }
    if (at_ == first) return Fail(begin, "digits are missing behind `\\x`");
    if (code > 0xff) return Fail(begin, "the escape is larger than a byte");
    value += static_cast<char>(code);
  }

  void Fail(size_t begin, std::string message) {
    const auto place = [&](size_t at) { return span_.begin + static_cast<uint32_t>(at); };
    diagnostics_.Error(Code::kBadEscape, {place(begin), place(at_)}, std::move(message))
        .Note("escapes are \\n \\t \\r \\a \\b \\f \\v \\\\ \\\" \\' \\ooo \\xHH");
  }

  std::string_view text_;
  Span span_;
  diag::Diagnostics& diagnostics_;
  size_t at_ = 0;
};

}  // namespace

IntegerValue DecodeInteger(std::string_view text, Span span, diag::Diagnostics& diagnostics) {
  return NumberReader(text, span, diagnostics).Read();
}

std::string DecodeString(std::string_view text, Span span, diag::Diagnostics& diagnostics) {
  return StringReader(text, span, diagnostics).Read();
}

}  // namespace memtrace::syntax
