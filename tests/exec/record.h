// Record: bytes of a struct or of a tracepoint's record, written field by field from a case's
// words.
//
// Where a field lies is what the kernel's own description says (BTF, format files), so a case names
// fields and never offsets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/kernel/kernel.h"
#include "compiler/types/type.h"

namespace memtrace::exec {

// "order=3": a field and what to write into it. Numbers; several with commas for an array; text for
// a string.
struct Assignment {
  std::string field;
  std::string value;
};
// Splits words at their first `=`.
Result<std::vector<Assignment>> ParseAssignments(const std::vector<std::string>& words);

// Writes `value` where `member` lies in `bytes`.
Result<Done> Write(std::string& bytes, const types::Member& member, std::string_view value);

// A struct of the kernel called `name`, zero but for `assignments`, whose fields are paths:
// "mm.owner" of a struct inside, "name.2" of an array's element.
Result<std::string> MakeStruct(kernel::Kernel& kernel, std::string_view name,
                               const std::vector<Assignment>& assignments);

// The record of a classic tracepoint. Strings of __data_loc fields follow the fixed part.
Result<std::string> MakeTracepointRecord(kernel::Kernel& kernel, const kernel::TracepointName& name,
                                         const std::vector<Assignment>& assignments);

}  // namespace memtrace::exec
