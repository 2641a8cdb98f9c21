// Fills printf formats. One line of two fields is to cost about 0.3 us, so everything is appended
// to the caller's buffer, and the common cases (a plain number, a plain text) go there directly.
#include <algorithm>
#include <bit>
#include <charconv>

#include "compiler/base/check.h"
#include "runtime/output/number.h"
#include "runtime/output/sink.h"
#include "runtime/output/value_text.h"

namespace memtrace::output {
namespace {

// A width is not trusted: `%*d` takes it from the traced machine.
constexpr int64_t kMaxWidth = 4096;

struct Number {
  uint64_t bits = 0;
  uint8_t size = 8;
};

// What %d or %x of a value converts; false when it is no number.
bool AsNumber(const events::Value& value, Number& number) {
  if (auto* integer = std::get_if<events::Integer>(&value.data)) {
    number = {.bits = integer->bits, .size = integer->size};
  } else if (auto* boolean = std::get_if<bool>(&value.data)) {
    number = {.bits = *boolean};
  } else if (auto* pointer = std::get_if<events::Pointer>(&value.data)) {
    number = {.bits = pointer->address};
  } else if (auto* symbol = std::get_if<events::Symbol>(&value.data)) {
    number = {.bits = symbol->address};
  } else {
    return false;
  }
  return true;
}

struct Layout {
  int64_t width = 0;
  int64_t precision = -1;
  bool left = false;
};

void AppendPadded(std::string& out, std::string_view text, size_t columns, const Layout& layout) {
  size_t width = static_cast<size_t>(layout.width);
  size_t padding = width > columns ? width - columns : 0;
  if (!layout.left) out.append(padding, ' ');
  out += text;
  if (layout.left) out.append(padding, ' ');
}

void AppendInteger(std::string& out, const plan::FormatPiece& piece, Number number,
                   const Layout& layout) {
  bool is_signed = piece.conversion == 'd' || piece.conversion == 'i';
  bool negative = is_signed && static_cast<int64_t>(number.bits) < 0;
  uint64_t magnitude = negative ? -number.bits : number.bits;
  if (!is_signed && number.size < 8) magnitude &= (uint64_t{1} << (8 * number.size)) - 1;

  bool is_hex = piece.conversion == 'x' || piece.conversion == 'X' || piece.conversion == 'p';
  int base = is_hex ? 16 : piece.conversion == 'o' ? 8 : 10;
  char digits[24];
  char* end = std::to_chars(digits, digits + sizeof digits, magnitude, base).ptr;
  if (piece.conversion == 'X') {
    for (char* c = digits; c < end; ++c) {
      if (*c >= 'a') *c = static_cast<char>(*c - 'a' + 'A');
    }
  }
  size_t count = static_cast<size_t>(end - digits);
  if (layout.precision == 0 && magnitude == 0) count = 0;

  std::string_view sign = negative                   ? "-"
                          : is_signed && piece.plus  ? "+"
                          : is_signed && piece.space ? " "
                                                     : "";
  if (piece.conversion == 'p') {
    sign = "0x";
  } else if (is_hex && piece.alternate && magnitude != 0) {
    sign = piece.conversion == 'X' ? "0X" : "0x";
  }
  size_t least = layout.precision > 0 ? static_cast<size_t>(layout.precision) : 0;
  // The octal prefix is one more digit, unless there is a zero already.
  if (base == 8 && piece.alternate && (magnitude != 0 || count == 0)) {
    least = std::max(least, count + 1);
  }
  size_t zeros = least > count ? least - count : 0;
  size_t used = sign.size() + zeros + count, width = static_cast<size_t>(layout.width);
  size_t padding = width > used ? width - used : 0;
  if (piece.zero && !layout.left && layout.precision < 0) {
    zeros += padding;
    padding = 0;
  }
  if (!layout.left) out.append(padding, ' ');
  out += sign;
  out.append(zeros, '0');
  out.append(digits, count);
  if (layout.left) out.append(padding, ' ');
}

// Characters of UTF-8, not bytes: columns of names line up.
size_t CountCharacters(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

// The first `count` characters.
std::string_view FirstCharacters(std::string_view text, int64_t count) {
  for (size_t i = 0; i < text.size(); ++i) {
    if ((text[i] & 0xc0) != 0x80 && count-- == 0) return text.substr(0, i);
  }
  return text;
}

void AppendString(std::string& out, const events::Value& value, const Layout& layout,
                  const TextStyle& style, symbols::Symbolizer& symbolizer) {
  if (layout.width == 0 && layout.precision < 0) {
    AppendText(out, value, style, symbolizer);
    return;
  }
  std::string text;
  if (auto* string = std::get_if<std::string>(&value.data); string && layout.precision >= 0) {
    AppendEscaped(text, FirstCharacters(*string, layout.precision), style.escape);
    AppendPadded(out, text, CountCharacters(text), layout);
    return;
  }
  AppendText(text, value, style, symbolizer);
  std::string_view shown = text;
  if (layout.precision >= 0) shown = FirstCharacters(shown, layout.precision);
  AppendPadded(out, shown, CountCharacters(shown), layout);
}

Layout LayoutOf(const plan::FormatPiece& piece, const std::vector<events::Value>& arguments) {
  Layout layout{
      .width = std::max<int64_t>(piece.width, 0), .precision = piece.precision, .left = piece.left};
  if (piece.width_argument != plan::kNoIndex) {
    Number number;
    AsNumber(arguments[piece.width_argument], number);
    layout.width = static_cast<int64_t>(number.bits);
    if (layout.width < 0) {
      layout.left = true;
      layout.width = layout.width == INT64_MIN ? kMaxWidth : -layout.width;
    }
  }
  layout.width = std::min(layout.width, kMaxWidth);
  layout.precision = std::min(layout.precision, kMaxWidth);
  return layout;
}

}  // namespace

void FormatInto(std::string& out, const plan::Action& action,
                const std::vector<events::Value>& arguments, symbols::Symbolizer& symbolizer,
                bool raw_numbers) {
  const TextStyle style{
      .raw_numbers = raw_numbers, .stack_indent = 8, .escape = Escape::kKeepLayout};
  for (const plan::FormatPiece& piece : action.pieces) {
    if (piece.argument == plan::kNoIndex) {
      out += piece.text;
      continue;
    }
    MT_CHECK(piece.argument < arguments.size(), "every piece of a format has its argument");
    const events::Value& value = arguments[piece.argument];
    Layout layout = LayoutOf(piece, arguments);
    Number number;
    if (piece.conversion == 's' || !AsNumber(value, number)) {
      AppendString(out, value, layout, style, symbolizer);
    } else if (piece.conversion == 'c') {
      char character = static_cast<char>(number.bits);
      std::string text;
      AppendEscaped(text, {&character, 1}, style.escape);
      AppendPadded(out, text, text.size(), layout);
    } else {
      AppendInteger(out, piece, number, layout);
    }
  }
}

}  // namespace memtrace::output
