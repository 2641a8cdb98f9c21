#include "runtime/session/live_resolver.h"

#include <charconv>
#include <climits>
#include <cstring>
#include <ctime>
#include <sstream>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include "compiler/kernel/cgroups.h"

namespace memtrace::session {
namespace {

// Lines "name:password:id:…" of /etc/passwd and /etc/group.
std::unordered_map<uint32_t, std::string> ReadNames(const char* path) {
  std::unordered_map<uint32_t, std::string> names;
  Result<std::string> text = ReadFile(path);
  if (!text.ok()) return names;
  std::istringstream lines(text.value());
  for (std::string line; std::getline(lines, line);) {
    size_t first = line.find(':');
    size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    uint32_t id;
    auto parsed = std::from_chars(line.data() + second + 1, line.data() + line.size(), id);
    if (parsed.ec == std::errc()) names.try_emplace(id, line.substr(0, first));
  }
  return names;
}

std::string NameOf(std::optional<std::unordered_map<uint32_t, std::string>>& names,
                   const char* path, uint32_t id) {
  if (!names) names = ReadNames(path);
  auto found = names->find(id);
  return found == names->end() ? std::to_string(id) : found->second;
}

uint64_t Now(clockid_t clock) {
  timespec time;
  ::clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

// The path of an open directory, or empty.
std::string PathOf(int fd) {
  char path[PATH_MAX];
  std::string link = "/proc/self/fd/" + std::to_string(fd);
  ssize_t length = ::readlink(link.c_str(), path, sizeof path);
  return length < 0 ? "" : std::string(path, static_cast<size_t>(length));
}

}  // namespace

std::string LiveResolver::UserName(uint32_t uid) { return NameOf(users_, "/etc/passwd", uid); }

std::string LiveResolver::GroupName(uint32_t gid) { return NameOf(groups_, "/etc/group", gid); }

void LiveResolver::FindMounts() {
  if (unified_) return;
  Result<std::string> mountinfo = ReadFile("/proc/self/mountinfo");
  kernel::CgroupMounts mounts = kernel::ParseCgroupMounts(mountinfo.ok() ? mountinfo.value() : "");
  auto open = [](const std::string& mount) {
    return Hierarchy{.mount = mount,
                     .root = UniqueFd(::open(mount.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
                     .paths = {}};
  };
  unified_ = open(mounts.unified);
  memory_ = open(mounts.memory);
}

std::string LiveResolver::CgroupPath(uint64_t id) {
  FindMounts();
  return PathIn(*unified_, id);
}

std::string LiveResolver::MemcgPath(uint64_t id) {
  FindMounts();
  return PathIn(*memory_, id);
}

std::string LiveResolver::LoadAverage() {
  Result<std::string> text = ReadFile("/proc/loadavg");
  if (!text.ok()) return "-";
  size_t end = 0;
  for (int number = 0; number < 3 && end != std::string::npos; ++number) {
    end = text.value().find(' ', end == 0 ? 0 : end + 1);
  }
  return text.value().substr(0, end);
}

// A cgroup's id is the file handle of its directory (FILEID_KERNFS, Linux 5.5), so that it is
// opened instead of searched for.
std::string LiveResolver::PathIn(Hierarchy& hierarchy, uint64_t id) {
  constexpr int kFileIdKernfs = 0xfe;
  auto known = hierarchy.paths.find(id);
  if (known != hierarchy.paths.end()) return known->second;
  std::string path = "cgroup:" + std::to_string(id);
  alignas(file_handle) char memory[sizeof(file_handle) + sizeof id] = {};
  auto* handle = reinterpret_cast<file_handle*>(memory);
  handle->handle_bytes = sizeof id;
  handle->handle_type = kFileIdKernfs;
  std::memcpy(handle->f_handle, &id, sizeof id);
  UniqueFd directory(::open_by_handle_at(hierarchy.root.get(), handle, O_RDONLY | O_CLOEXEC));
  if (!directory.valid()) return path;  // gone; not kept, ids are not used again
  std::string full = PathOf(directory.get());
  if (full.starts_with(hierarchy.mount)) {
    path = full.substr(hierarchy.mount.size());
    if (path.empty()) path = "/";
  }
  return hierarchy.paths[id] = path;
}

// Both clocks are read each time: a step of the wall clock during a session moves what comes after
// it.
uint64_t LiveResolver::WallClock(uint64_t boot_ns) {
  return boot_ns + (Now(CLOCK_REALTIME) - Now(CLOCK_BOOTTIME));
}

}  // namespace memtrace::session
