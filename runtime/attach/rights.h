// What is said when rights are missing. Private to this folder.
#pragma once

#include <string>
#include <string_view>

#include "compiler/base/result.h"

namespace memtrace::attach {

// What would help, behind an error for missing rights.
std::string RightsForBpf();
std::string RightsForPerf();

// An error of `step`, with `rights` behind it when they are what is missing.
Error Explain(std::string_view step, int error_number, const std::string& rights);

}  // namespace memtrace::attach
