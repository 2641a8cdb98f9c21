// What the probes on kernel functions share: looking one up, and saying what is there instead.
// Private to this folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/kernel/kernel.h"
#include "compiler/probes/provider.h"

namespace memtrace::probes {

// "kprobe" and "kretprobe" against "fentry" and "fexit".
bool IsTyped(Provider provider);

// Why no program can hang on functions by a kprobe or by a trampoline, in words; empty: it can.
std::string WhyNoKprobes(kernel::Kernel& kernel);
std::string WhyNoTyped(kernel::Kernel& kernel, const std::string& function,
                       const std::string& module, bool is_exit);

// "tracepoint:oom:mark_victim", when this kernel has one at the moment of the function's entry or,
// with `is_exit`, of its return.
std::string NearestTracepointOf(kernel::Kernel& kernel, std::string_view function, bool is_exit);

}  // namespace memtrace::probes
