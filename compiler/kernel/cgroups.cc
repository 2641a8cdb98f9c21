#include "compiler/kernel/cgroups.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <vector>

namespace memtrace::kernel {
namespace {

// The mount point is written with octal escapes for blanks.
std::string Unescape(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    bool is_escape = text[i] == '\\' && i + 3 < text.size();
    if (!is_escape) {
      plain += text[i];
      continue;
    }
    plain +=
        static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + text[i + 3] - '0');
    i += 3;
  }
  return plain;
}

bool HasOption(std::string_view options, std::string_view wanted) {
  while (!options.empty()) {
    size_t comma = std::min(options.find(','), options.size());
    if (options.substr(0, comma) == wanted) return true;
    options.remove_prefix(std::min(comma + 1, options.size()));
  }
  return false;
}

// Whether `path` is `mount` or below it.
bool IsBelow(const std::string& path, const std::string& mount) {
  return !mount.empty() && path.starts_with(mount) &&
         (path.size() == mount.size() || path[mount.size()] == '/');
}

}  // namespace

CgroupMounts ParseCgroupMounts(std::string_view mountinfo) {
  CgroupMounts mounts;
  std::istringstream lines{std::string(mountinfo)};
  for (std::string line; std::getline(lines, line);) {
    // "30 24 0:26 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory"
    size_t dash = line.find(" - ");
    if (dash == line.npos) continue;
    std::istringstream before(line.substr(0, dash)), after(line.substr(dash + 3));
    std::string word, point, type, source, options;
    for (int i = 0; i < 4; ++i) before >> word;
    before >> point;
    after >> type >> source >> options;
    if (type == "cgroup2" && mounts.unified.empty()) mounts.unified = Unescape(point);
    if (type == "cgroup" && HasOption(options, "memory") && mounts.memory.empty()) {
      mounts.memory = Unescape(point);
    }
  }
  if (mounts.memory.empty()) mounts.memory = mounts.unified;
  return mounts;
}

// The number of a directory of kernfs is the cgroup's id (64 bits since Linux 40430452fd5d
// ("kernfs: use 64bit inos if ino_t is 64bit") in v5.5).
static Result<uint64_t> IdOf(const std::string& directory) {
  struct stat status;
  if (::stat(directory.c_str(), &status) != 0) return Error::FromErrno("stat " + directory);
  if (!S_ISDIR(status.st_mode)) return Error(ErrorKind::kInvalid, directory + " is no directory");
  return static_cast<uint64_t>(status.st_ino);
}

Result<uint64_t> CgroupIdBelow(const std::string& mount, const std::string& path) {
  if (mount.empty()) return Error(ErrorKind::kNotFound, "the hierarchy is not mounted");
  std::error_code error;
  std::string whole = std::filesystem::weakly_canonical(path, error).string();
  if (!error && IsBelow(whole, mount)) return IdOf(whole);
  return IdOf(mount + "/" + path);
}

Result<FoundCgroup> FindCgroup(const CgroupMounts& mounts, const std::string& path) {
  if (mounts.unified.empty() && mounts.memory.empty()) {
    return Error(ErrorKind::kNotFound, "no hierarchy of cgroups is mounted");
  }
  std::error_code error;
  std::string whole = std::filesystem::weakly_canonical(path, error).string();
  std::vector<std::string> tried = {mounts.memory};
  if (mounts.unified != mounts.memory) tried.push_back(mounts.unified);
  // What lies below the mount of one hierarchy is not looked for in the other.
  if (!error && IsBelow(whole, mounts.unified)) tried = {mounts.unified};
  if (!error && IsBelow(whole, mounts.memory)) tried = {mounts.memory};
  std::string places;
  for (const std::string& mount : tried) {
    if (mount.empty()) continue;
    Result<uint64_t> id = CgroupIdBelow(mount, path);
    if (id.ok()) return FoundCgroup{.id = id.value(), .is_unified = mount == mounts.unified};
    places += (places.empty() ? "" : " or ") + mount;
  }
  return Error(ErrorKind::kNotFound, "no cgroup " + path + " below " + places);
}

}  // namespace memtrace::kernel
