// What a case of the exec lane says beyond the sections that every lane knows. The load lane reads
// the same files: it compiles and loads their programs and looks at nothing else.
//
//   world: NAME=VALUE …   what helpers answer with, in VALUE, the body or both
//   memory                what pointers point to, one region a line
//   events                what happens, line by line
//   fixture-only: WHY     what the program uses is in the fixture's kernel only
//   needs: kprobes        the load lane skips it where the kernel that runs has none
//
// `args` takes --config NAME=VALUE, --raw, --unsafe and the script's own words. How the sections
// are written is in tests/exec/event.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/text_case.h"

namespace memtrace::test {

inline constexpr std::string_view kExecSections[] = {"world", "memory", "events", "fixture-only",
                                                    "needs"};

struct ExecArguments {
  std::vector<std::string> options;  // memtrace's
  std::vector<std::string> positional;
};
ExecArguments ExecArgumentsOf(const TextCase& text_case);

}  // namespace memtrace::test
