// Reads the text of a tracefs `format` file into fields.
//
// A pure parser: it takes the file's text, not its path, and knows nothing about where tracefs is
// mounted (kernel.h does). The common_* fields are dropped because the BPF context of a tracepoint
// program does not let a program read them. print fmt is kept as text; flag tables are read from it
// by a later stage.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/types/type.h"

namespace memtrace::kernel {

struct TracepointFormat {
  std::string name;  // event without its category
  uint32_t id = 0;   // what perf_event_open takes as config
  // Offsets count from the start of the record, as the BPF context does. char[N] is string[N];
  // __data_loc char[] is String(0) with `is_data_loc` set, another __data_loc an array of count 0.
  // An argument of a system call has the type that the program passed (int: 4 bytes), at the
  // beginning of the 8 bytes that the record keeps for it; its pointers point to user space.
  std::vector<types::Member> members;
  std::string print_format;
};

// Fails on a field line that it does not understand rather than skipping it: a silently missing
// field would later look like the user's typo. `resolve` turns a C type name ("enum zone_type",
// "struct mm_struct", "gfp_t", "dev_t") into a type, or an empty handle when it is not known; the
// size in the file then decides.
Result<TracepointFormat> ParseTracepointFormat(
    std::string_view text, types::TypeTable& types,
    const std::function<types::Type(std::string_view)>& resolve);

}  // namespace memtrace::kernel
