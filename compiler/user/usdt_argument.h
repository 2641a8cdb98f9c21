// Where an argument of a static probe is: the assembler's notation as data.
//
// x86-64 writes "-4@%eax", "8@$42", "1@%ah", "-8@-16(%rbp)", "4@(%rax,%rdx,4)"; arm64 writes
// "-4@w0", "8@42", "8@[sp, 16]", "8@[x1, x2, lsl #3]". The sign of the size is the sign of the
// value. Registers come back as offsets in the pt_regs that a program sees. Both notations are read
// everywhere, so that either can be tested anywhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace memtrace::user {

enum class OperandKind : uint8_t { kConstant, kRegister, kMemory };

struct UsdtArgument {
  static constexpr uint32_t kNoRegister = UINT32_MAX;
  uint32_t size = 8;  // 1, 2, 4 or 8
  bool is_signed = false;
  OperandKind kind = OperandKind::kConstant;
  int64_t constant = 0;          // kConstant: the value; kMemory: what is added to the address
  uint32_t base = kNoRegister;   // kRegister, kMemory: offset in pt_regs
  uint32_t shift = 0;            // kRegister: bits below the value (%ah: 8)
  uint32_t index = kNoRegister;  // kMemory
  uint32_t scale = 1;            // kMemory: of `index`: 1, 2, 4 or 8
  std::string problem;           // not empty: why it can't be read
  bool operator==(const UsdtArgument&) const = default;
};

// All arguments of a note, in their order. One that cannot be read (a floating-point register, an
// address by symbol) keeps its place and says why. `architecture` as Kernel::architecture() says
// it.
std::vector<UsdtArgument> ParseUsdtArguments(std::string_view text, std::string_view architecture);

}  // namespace memtrace::user
