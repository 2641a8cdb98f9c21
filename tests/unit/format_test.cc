// printf: flags, widths and conversions against the C library's, texts and units by hand.
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/output/sink.h"

namespace memtrace::output {
namespace {

using events::Integer;
using events::Value;

Value Signed(int64_t value, uint8_t size = 8) {
  return Value{
      Integer{.bits = static_cast<uint64_t>(value), .is_signed = true, .size = size, .name = {}}};
}
Value Unsigned(uint64_t value, plan::Unit unit = plan::Unit::kNone) {
  return Value{Integer{.bits = value, .unit = unit, .name = {}}};
}
Value Text(std::string text) { return Value{std::move(text)}; }

plan::FormatPiece Piece(char conversion, int width = -1, int precision = -1) {
  plan::FormatPiece piece;
  piece.argument = 0;
  piece.conversion = conversion;
  piece.width = width;
  piece.precision = precision;
  return piece;
}

std::string Format(const std::vector<plan::FormatPiece>& pieces, const std::vector<Value>& values,
                   bool raw = false) {
  plan::Action action;
  action.pieces = pieces;
  symbols::Symbolizer symbolizer;
  std::string out;
  FormatInto(out, action, values, symbolizer, raw);
  return out;
}

TEST(Format, LiteralsAndArguments) {
  plan::FormatPiece text;
  text.text = "pid ";
  plan::FormatPiece second = Piece('s');
  second.argument = 1;
  plan::FormatPiece end;
  end.text = "%\n";
  EXPECT_EQ(Format({text, Piece('d'), second, end}, {Signed(-12), Text("x")}), "pid -12x%\n");
}

TEST(Format, IntegersAgreeWithTheCLibrary) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 20000; ++round) {
    plan::FormatPiece piece = Piece("duxXoi"[random() % 6]);
    piece.left = random() % 2;
    piece.zero = random() % 2;
    piece.plus = random() % 2;
    piece.space = random() % 2;
    piece.alternate = random() % 2;
    if (random() % 2) piece.width = static_cast<int>(random() % 30);
    if (random() % 2) piece.precision = static_cast<int>(random() % 25);
    uint64_t value = random() >> (random() % 64);
    if (random() % 16 == 0) value = 0;
    if (random() % 3 == 0) value = -value;

    std::string format = "%";
    if (piece.left) format += '-';
    if (piece.zero) format += '0';
    if (piece.plus) format += '+';
    if (piece.space) format += ' ';
    // `#` means nothing with d, i and u; the C standard leaves it undefined.
    if (piece.alternate && piece.conversion != 'd' && piece.conversion != 'i' &&
        piece.conversion != 'u') {
      format += '#';
    }
    if (piece.width >= 0) format += std::to_string(piece.width);
    if (piece.precision >= 0) format += "." + std::to_string(piece.precision);
    format += "ll";
    format += piece.conversion;
    char expected[256];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(expected, sizeof expected, format.c_str(), value);
#pragma GCC diagnostic pop
    ASSERT_EQ(Format({piece}, {Unsigned(value)}), expected) << format;
  }
}

TEST(Format, Extremes) {
  EXPECT_EQ(Format({Piece('d')}, {Signed(INT64_MIN)}), "-9223372036854775808");
  EXPECT_EQ(Format({Piece('u')}, {Unsigned(UINT64_MAX)}), "18446744073709551615");
  EXPECT_EQ(Format({Piece('o')}, {Unsigned(UINT64_MAX)}), "1777777777777777777777");
}

TEST(Format, HexOfANegativeNumberReachesAsFarAsItsType) {
  EXPECT_EQ(Format({Piece('x')}, {Signed(-1, 4)}), "ffffffff");
  EXPECT_EQ(Format({Piece('x')}, {Signed(-1, 1)}), "ff");
  EXPECT_EQ(Format({Piece('x')}, {Signed(-1, 8)}), "ffffffffffffffff");
  EXPECT_EQ(Format({Piece('u')}, {Signed(-1, 2)}), "65535");
  EXPECT_EQ(Format({Piece('d')}, {Signed(-1, 4)}), "-1");
}

TEST(Format, Pointers) {
  EXPECT_EQ(Format({Piece('p')}, {Unsigned(0xffff888000001000)}), "0xffff888000001000");
  EXPECT_EQ(Format({Piece('p', 8)}, {Value{events::Pointer{.address = 0x1f}}}), "    0x1f");
  EXPECT_EQ(Format({Piece('s')}, {Value{events::Pointer{.address = 0x1f}}}), "0x1f");
}

TEST(Format, StringsWithWidthAndPrecision) {
  EXPECT_EQ(Format({Piece('s', 6)}, {Text("bash")}), "  bash");
  plan::FormatPiece left = Piece('s', 6, 2);
  left.left = true;
  EXPECT_EQ(Format({left}, {Text("bash")}), "ba    ");
  EXPECT_EQ(Format({Piece('s', 2)}, {Text("bash")}), "bash");
  // Characters count, not bytes.
  EXPECT_EQ(Format({Piece('s', 4, 2)}, {Text("äöü")}), "  äö");
}

TEST(Format, WidthFromAnArgument) {
  plan::FormatPiece piece = Piece('d');
  piece.width_argument = 1;
  EXPECT_EQ(Format({piece}, {Signed(5), Signed(3)}), "  5");
  EXPECT_EQ(Format({piece}, {Signed(5), Signed(-3)}), "5  ");
  EXPECT_EQ(Format({piece}, {Signed(5), Signed(INT64_MIN)}).size(), 4096u);
}

TEST(Format, Characters) {
  EXPECT_EQ(Format({Piece('c')}, {Signed('A')}), "A");
  EXPECT_EQ(Format({Piece('c', 3)}, {Signed('A')}), "  A");
  EXPECT_EQ(Format({Piece('c')}, {Signed(0x1b)}), "\\x1b");
}

TEST(Format, TextDoesNotDriveTheTerminal) {
  EXPECT_EQ(Format({Piece('s')}, {Text("\x1b[2Jx\ny\tz\x7f")}), "\\x1b[2Jx\ny\tz\\x7f");
  EXPECT_EQ(Format({Piece('s')}, {Text("\xc2\x9b"
                                       "2J")}),
            "\\xc2\\x9b2J");  // CSI in one character
  EXPECT_EQ(Format({Piece('s')}, {Text("\x9b"
                                       "2J\xff")}),
            "\\x9b2J\\xff");
  EXPECT_EQ(Format({Piece('s')}, {Text("größe 💾")}), "größe 💾");
}

TEST(Format, UnitsAreScaledByStringConversionOnly) {
  Value size = Unsigned(13'002'342, plan::Unit::kBytes);
  EXPECT_EQ(Format({Piece('s')}, {size}), "12.4 MiB");
  EXPECT_EQ(Format({Piece('d')}, {size}), "13002342");
  EXPECT_EQ(Format({Piece('s')}, {size}, true), "13002342");
  EXPECT_EQ(Format({Piece('s', 10)}, {size}), "  12.4 MiB");
}

TEST(Format, EnumsBoolsAndCompounds) {
  Value zone{Integer{.bits = 2, .name = "ZONE_NORMAL"}};
  EXPECT_EQ(Format({Piece('s')}, {zone}), "ZONE_NORMAL");
  EXPECT_EQ(Format({Piece('d')}, {zone}), "2");
  EXPECT_EQ(Format({Piece('s')}, {Value{true}}), "true");
  EXPECT_EQ(Format({Piece('d')}, {Value{true}}), "1");
  events::Aggregate pair;
  pair.members = {{"", {Signed(1)}}, {"", {Text("a")}}};
  EXPECT_EQ(Format({Piece('s')}, {Value{pair}}), "(1, a)");
}

}  // namespace
}  // namespace memtrace::output
