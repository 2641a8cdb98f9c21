#include "tests/support/generators.h"

#include <cstdint>

namespace memtrace::test {
namespace {

std::string Repeat(std::string_view text, size_t times) {
  std::string repeated;
  repeated.reserve(text.size() * times);
  for (size_t i = 0; i < times; ++i) repeated += text;
  return repeated;
}

std::string LongLine(size_t size) {
  constexpr std::string_view kHead = "begin { print(1";
  constexpr std::string_view kTail = "); }\n";
  size_t fixed = kHead.size() + kTail.size();
  size_t terms = size > fixed ? (size - fixed) / 2 : 0;
  return std::string(kHead) + Repeat("+1", terms) + std::string(kTail);
}

// All are set before the first is read.
std::string LiveVariables(size_t size) {
  std::string set, sum = "0";
  for (size_t i = 0; i < size; ++i) {
    std::string name = "$v" + std::to_string(i);
    set += name + " = cpu + " + std::to_string(i) + "; ";
    sum += " + " + name;
  }
  return "begin { " + set + "print(" + sum + "); }\n";
}

// A linear congruential generator: std::mt19937's output is fixed too, but not its distributions.
std::string Binary(size_t size) {
  std::string bytes;
  uint32_t state = 1;
  for (size_t i = 0; i < size; ++i) {
    state = state * 1664525 + 1013904223;
    bytes += static_cast<char>(state >> 24);
  }
  return bytes;
}

}  // namespace

std::optional<std::string> GenerateProgram(std::string_view kind, size_t size) {
  if (kind == "nested-parens") {
    return "begin { print(" + Repeat("(", size) + "1" + Repeat(")", size) + "); }\n";
  }
  if (kind == "nested-blocks") {
    return "begin { " + Repeat("if (1) { ", size) + Repeat("} ", size) + "}\n";
  }
  if (kind == "long-line") return LongLine(size);
  if (kind == "many-probes") return Repeat("begin { @ = count(); }\n", size);
  if (kind == "live-variables") return LiveVariables(size);
  if (kind == "binary") return Binary(size);
  return std::nullopt;
}

}  // namespace memtrace::test
