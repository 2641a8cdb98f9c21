// What lies where in a process: the text of /proc/PID/maps as sorted mappings. A pure parser.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace memtrace::symbols {

struct Mapping {
  uint64_t start = 0, end = 0;  // [start, end)
  uint64_t file_offset = 0;
  uint64_t device = 0;  // major << 32 | minor
  uint64_t inode = 0;   // 0: not a file
  std::string
      name;  // path without " (deleted)", "[heap]", "[stack]", "[vdso]"; "[anon]" for the rest
};

// Lines that are not understood are left out: the kernel may add kinds, and a missing name is no
// harm.
std::vector<Mapping> ParseMappings(std::string_view text);

// The mapping that holds `address`, or null. `mappings` are sorted.
const Mapping* FindMapping(const std::vector<Mapping>& mappings, uint64_t address);

}  // namespace memtrace::symbols
