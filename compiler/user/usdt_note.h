// Static probes of programs: the notes of section .note.stapsdt, as <sys/sdt.h> writes them.
//
// A pure parser of the section's bytes. Each use of a macro is a note, so that a probe has one note
// for each place in the code. Arguments are text in the assembler's notation; usdt_argument.h reads
// it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/result.h"

namespace memtrace::user {

struct UsdtNote {
  std::string provider, name;
  uint64_t address = 0;    // of the instruction, as the file numbers addresses
  uint64_t semaphore = 0;  // address of the u16 that says whether anybody looks; 0: none
  std::string arguments;   // "-4@%edi 8@16(%rsp)"
};

// `bytes` is the section. Addresses are corrected by `base`, the address of .stapsdt.base (0: there
// is none): a tool that moves sections after linking does not know of the notes. kInvalid when the
// section is cut off.
Result<std::vector<UsdtNote>> ParseUsdtNotes(std::string_view bytes, uint64_t base);

}  // namespace memtrace::user
