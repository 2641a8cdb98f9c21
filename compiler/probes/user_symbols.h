// Functions of a program by the names that people write.
//
// A name is that of a symbol, or of a C++ function with or without its parameters. Private to this
// folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/user/binary.h"

namespace memtrace::probes {

// "ns::f(int)" of "_ZN2ns1fEi", and other names as they are.
std::string DisplayName(const user::Symbol& symbol);

// All functions that are `name`: of a symbol with that name and the copies of it that the compiler
// made, or with that C++ signature. One for each address.
std::vector<const user::Symbol*> FunctionsNamed(user::Binary& binary, const std::string& name);

// All functions that `pattern` fits, by their symbols, or by their signatures when it holds `::` or
// a parenthesis. One for each address, sorted by symbol.
std::vector<const user::Symbol*> FunctionsMatching(user::Binary& binary,
                                                   const std::string& pattern);

// Whether the kernel would run the instruction at `place` (bytes from the start of the file) as
// another one. Its emulation of jumps and pushes (arch/x86/kernel/uprobes.c, branch_setup_xol_ops)
// looks at the byte of the opcode alone: in instructions of AVX the same bytes mean other things,
// so that vpbroadcastb (7a) becomes a jump. Seen on Linux 6.18; false where no such code runs.
bool IsMisread(const user::Binary& binary, uint64_t place);

}  // namespace memtrace::probes
