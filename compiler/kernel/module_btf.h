// A module's BTF as an object of the kernel, which programs for its functions are loaded against.
#pragma once

#include <string_view>

#include "compiler/base/file.h"
#include "compiler/base/result.h"

namespace memtrace::kernel {

// Walks the BTF objects of the kernel. kNotFound when none has that name.
Result<UniqueFd> OpenModuleBtf(std::string_view module);

}  // namespace memtrace::kernel
