// Listing of probes on programs and libraries: -l 'uprobe:BINARY:*'. Private to this folder.
#pragma once

#include <string>
#include <string_view>

#include "compiler/base/result.h"
#include "compiler/kernel/kernel.h"
#include "compiler/user/programs.h"

namespace memtrace::driver {

// Whether `pattern` names a kind of probe that is in programs.
bool NamesProgram(std::string_view pattern);

// The probes of `pattern` as ListProbes gives them; without a function all of the binary's.
Result<std::string> ListUserProbes(kernel::Kernel& kernel, user::Programs& programs,
                                   const std::string& pattern, bool with_arguments);

}  // namespace memtrace::driver
