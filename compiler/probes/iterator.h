// The kernel's iterators: which there are, and which functions describe their programs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/kernel/btf.h"

namespace memtrace::probes {

// "task", "task_vma", …: all that this kernel has and a script can use, sorted. Reads the names of
// all functions.
std::vector<std::string> IteratorNames(kernel::Btf& btf);

// The function whose parameters are what the program of an iterator is given.
std::string IteratorFunction(std::string_view name);

}  // namespace memtrace::probes
