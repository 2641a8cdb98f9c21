#include "runtime/output/number.h"

#include <charconv>
#include <span>
#include <string_view>

namespace memtrace::output {
namespace {

struct Step {
  uint64_t factor;
  std::string_view name;
};

constexpr Step kTimes[] = {{1, "ns"}, {1'000, "us"}, {1'000'000, "ms"}, {1'000'000'000, "s"}};
constexpr Step kSizes[] = {{1, "B"},
                           {1ull << 10, "KiB"},
                           {1ull << 20, "MiB"},
                           {1ull << 30, "GiB"},
                           {1ull << 40, "TiB"},
                           {1ull << 50, "PiB"},
                           {1ull << 60, "EiB"}};
constexpr Step kKilos[] = {{1, ""},           {1ull << 10, "K"}, {1ull << 20, "M"},
                           {1ull << 30, "G"}, {1ull << 40, "T"}, {1ull << 50, "P"},
                           {1ull << 60, "E"}};

// The scale of a unit; empty when it has none.
std::span<const Step> StepsOf(plan::Unit unit) {
  switch (unit) {
    case plan::Unit::kNanoseconds:
      return kTimes;
    case plan::Unit::kBytes:
      return kSizes;
    case plan::Unit::kNone:
    case plan::Unit::kPages:
      return {};
  }
  return {};
}

uint64_t Magnitude(uint64_t bits, bool negative) { return negative ? -bits : bits; }

// Appends `value` in the largest step that it reaches, in three digits, `gap` before the step's
// name.
void AppendRounded(std::string& out, uint64_t value, std::span<const Step> steps,
                   std::string_view gap) {
  size_t i = 0;
  while (i + 1 < steps.size() && value >= steps[i + 1].factor) ++i;
  uint64_t whole = value / steps[i].factor;
  int decimals = i == 0 || whole >= 100 ? 0 : whole >= 10 ? 1 : 2;
  uint64_t power = decimals == 2 ? 100 : decimals == 1 ? 10 : 1;
  using Wide = unsigned __int128;
  uint64_t digits =
      static_cast<uint64_t>((Wide{value} * power + steps[i].factor / 2) / steps[i].factor);
  // 999.7 us is 1 ms.
  if (decimals == 0 && i > 0 && i + 1 < steps.size() &&
      digits >= steps[i + 1].factor / steps[i].factor) {
    ++i;
    digits = 1;
  }
  while (decimals > 0 && digits % 10 == 0) {
    digits /= 10;
    power /= 10;
    --decimals;
  }
  AppendUnsigned(out, digits / power);
  if (decimals > 0) {
    out += '.';
    uint64_t fraction = digits % power;
    if (decimals == 2 && fraction < 10) out += '0';
    AppendUnsigned(out, fraction);
  }
  out += gap;
  out += steps[i].name;
}

void AppendExact(std::string& out, uint64_t value, std::span<const Step> steps) {
  size_t i = steps.size() - 1;
  while (value % steps[i].factor != 0) --i;
  AppendUnsigned(out, value / steps[i].factor);
  out += steps[i].name;
}

}  // namespace

void AppendUnsigned(std::string& out, uint64_t value) {
  char digits[20];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr - digits);
}

void AppendDecimal(std::string& out, uint64_t bits, bool is_signed) {
  bool negative = is_signed && static_cast<int64_t>(bits) < 0;
  if (negative) out += '-';
  AppendUnsigned(out, Magnitude(bits, negative));
}

void AppendHex(std::string& out, uint64_t value) {
  char digits[16];
  out += "0x";
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value, 16).ptr - digits);
}

void AppendNumber(std::string& out, uint64_t bits, bool is_signed, plan::Unit unit, bool raw) {
  std::span<const Step> steps = StepsOf(unit);
  if (raw || steps.empty()) {
    AppendDecimal(out, bits, is_signed);
    if (!raw && unit == plan::Unit::kPages) out += bits == 1 ? " page" : " pages";
    return;
  }
  bool negative = is_signed && static_cast<int64_t>(bits) < 0;
  if (negative) out += '-';
  AppendRounded(out, Magnitude(bits, negative), steps, " ");
}

void AppendEdge(std::string& out, int64_t value, plan::Unit unit, bool exact, bool kilo) {
  bool negative = value < 0;
  uint64_t magnitude = Magnitude(static_cast<uint64_t>(value), negative);
  if (negative) out += '-';
  std::span<const Step> steps = StepsOf(unit);
  if (magnitude == 0) {
    out += '0';
  } else if (!steps.empty()) {
    if (exact) {
      AppendExact(out, magnitude, steps);
    } else {
      AppendRounded(out, magnitude, steps, "");
    }
  } else if (kilo) {
    AppendExact(out, magnitude, kKilos);
  } else {
    AppendUnsigned(out, magnitude);
  }
  if (unit == plan::Unit::kPages && magnitude != 0) out += magnitude == 1 ? " page" : " pages";
}

}  // namespace memtrace::output
