// Where the hierarchies of cgroups are mounted, and which id a path in them has.
//
// A cgroup is known to the kernel by the number of its directory, which is unique in its hierarchy
// only: with cgroup v1 the memory controller has one of its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/base/result.h"

namespace memtrace::kernel {

struct CgroupMounts {
  std::string unified;  // cgroup v2; empty: not mounted
  std::string memory;   // where the memory controller is: v1, or the same as `unified`
};

// From the text of /proc/self/mountinfo; of several mounts of one hierarchy the first.
CgroupMounts ParseCgroupMounts(std::string_view mountinfo);

// Which of the hierarchies; the one that has the memory controller comes first.
struct FoundCgroup {
  uint64_t id = 0;
  bool is_unified = false;
};

// The cgroup of `path`, a directory as it is seen in the file system or a path below a mount
// ("/pods/web"). kNotFound says where was looked.
Result<FoundCgroup> FindCgroup(const CgroupMounts& mounts, const std::string& path);

// The same in one hierarchy, that is mounted at `mount`.
Result<uint64_t> CgroupIdBelow(const std::string& mount, const std::string& path);

}  // namespace memtrace::kernel
