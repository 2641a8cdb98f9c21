// Arguments of system calls whose type in the format file is wider than what the program passed.
//
// The kernel declares mmap's fd as unsigned long and reads 32 bits of it; a program that passes -1
// leaves 0x00000000ffffffff in the record, and `args.fd == -1` would never be true. The manual page
// is the authority: each row here is an argument that it calls int (or unsigned int) and the kernel
// does not.
#pragma once

#include <string_view>

#include "compiler/types/type.h"

namespace memtrace::kernel {

// The type of argument `argument` of the system call that tracefs spells `call` ("mmap"), or an
// empty handle when the format file is right.
types::Type SyscallArgumentType(std::string_view call, std::string_view argument,
                                types::TypeTable& types);

}  // namespace memtrace::kernel
