// C's own type names, as the kernel's headers and tracefs spell them.
//
// What needs no BTF: the arithmetic types in every order of their words ("long unsigned int",
// "unsigned long") and the kernel's and stdint's names of fixed width. Names that only the kernel
// knows (gfp_t, dev_t, structs) are BTF's business.
#pragma once

#include <string_view>

#include "compiler/types/type.h"

namespace memtrace::kernel {

// The type of `name`, or an empty handle. Qualifiers are ignored. long and pointers have 8 bytes.
types::Type BasicCType(std::string_view name, types::TypeTable& types);

// Without leading and trailing blanks.
std::string_view Trimmed(std::string_view text);

}  // namespace memtrace::kernel
