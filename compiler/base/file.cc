#include "compiler/base/file.h"

#include <algorithm>
#include <cerrno>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace memtrace {

void UniqueFd::Reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

Result<UniqueFd> OpenForRead(const std::filesystem::path& path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Error::FromErrno("open " + path.string());
  return UniqueFd(fd);
}

Result<std::string> ReadFile(const std::filesystem::path& path, size_t limit) {
  MT_ASSIGN_OR_RETURN(UniqueFd fd, OpenForRead(path));
  std::string text;
  struct stat status {};
  // One byte more than the size, so that the read that finds the end needs no second allocation.
  size_t room = ::fstat(fd.get(), &status) == 0 && status.st_size > 0 ? status.st_size + 1 : 65536;
  size_t used = 0;
  while (true) {
    if (used == text.size()) text.resize(used + room);
    ssize_t got = ::read(fd.get(), text.data() + used, text.size() - used);
    if (got < 0) {
      if (errno == EINTR) continue;
      return Error::FromErrno("read " + path.string());
    }
    if (got == 0) break;
    used += got;
    if (used > limit) return Error(ErrorKind::kInvalid, "read " + path.string() + ": too large");
    room = std::max<size_t>(65536, used);
  }
  text.resize(used);
  return text;
}

Result<std::vector<std::string>> ListDirectory(const std::filesystem::path& path) {
  DIR* directory = ::opendir(path.c_str());
  if (directory == nullptr) return Error::FromErrno("open " + path.string());
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(directory)) {
    std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(directory);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace memtrace
