#include "compiler/probes/raw_fields.h"

#include <cstddef>

namespace memtrace::probes {
namespace {

// Byte offsets in struct pt_regs of the registers that hold a system call's arguments and its
// number.
struct SyscallRegisters {
  std::string_view architecture;
  uint32_t arguments[6];
  uint32_t number;
};
constexpr SyscallRegisters kSyscallRegisters[] = {
    // arch/x86/include/asm/ptrace.h: di, si, dx, r10, r8, r9; orig_ax.
    {"x86_64", {112, 104, 96, 56, 72, 64}, 120},
    // arch/arm64/include/asm/ptrace.h: regs[0] to regs[5]; the low half of syscallno.
    {"aarch64", {0, 8, 16, 24, 32, 40}, 280},
};

// In a sys_enter_* or sys_exit_* record: int __syscall_nr at 8, what follows from 16 on, 8 bytes
// each.
constexpr uint32_t kNumberOffset = 8, kFirstOffset = 16;

}  // namespace

bool ProvenRawField(const kernel::ResolvedRawRow& row, Field& field) {
  const kernel::ResolvedRawField* raw = row.Find(field.name);
  if (raw == nullptr) return false;
  field.index = raw->argument;
  switch (raw->source) {
    case kernel::RawSource::kArgument:
      field.from = From::kArgument;
      break;
    case kernel::RawSource::kMember:
      // The record has the number that the member holds, perhaps in another width: it is read in
      // its own.
      field.from = From::kArgumentMember;
      field.type = raw->member.type;
      field.offset = raw->member.offset;
      field.bit_offset = raw->member.bit_offset;
      field.bit_size = raw->member.bit_size;
      break;
    case kernel::RawSource::kConstant:
      field.is_constant = true;
      field.constant = raw->constant;
      break;
  }
  return true;
}

bool SyscallFields(bool is_enter, std::string_view architecture, std::vector<Field>& fields) {
  for (const SyscallRegisters& registers : kSyscallRegisters) {
    if (registers.architecture != architecture) continue;
    for (Field& field : fields) {
      size_t argument = (field.offset - kFirstOffset) / 8;
      if (field.offset == kNumberOffset) {
        field.from = From::kSyscallArgument;
        field.offset = registers.number;
      } else if (!is_enter) {
        // sys_exit(struct pt_regs *regs, long ret)
        field.from = From::kArgument;
        field.index = 1;
      } else if (argument < std::size(registers.arguments)) {
        field.from = From::kSyscallArgument;
        field.offset = registers.arguments[argument];
      } else {
        return false;
      }
    }
    return true;
  }
  return false;
}

}  // namespace memtrace::probes
