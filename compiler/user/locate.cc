#include "compiler/user/locate.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "compiler/base/file.h"
#include "compiler/user/library_cache.h"

namespace memtrace::user {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCache = "/etc/ld.so.cache";
constexpr std::string_view kDefaultPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
// Where the loader looks without a cache; Debian puts the machine's name behind the first two.
constexpr std::string_view kLibraryFolders[] = {
    "/lib/{}-linux-gnu", "/usr/lib/{}-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"};
// More links than this in one path are a loop (the kernel's limit, MAXSYMLINKS).
constexpr int kMaxLinks = 40;

bool IsFile(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

std::string BaseName(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

bool IsDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
}

// Whether the file `library` is what `name` stands for: itself, or libNAME without what follows
// (libc → libc.so.6, libc-2.31.so).
bool IsMeant(std::string_view name, std::string_view library) {
  if (library == name) return true;
  if (!library.starts_with(name)) return false;
  std::string_view rest = library.substr(name.size());
  if (rest.starts_with(".so")) return rest.size() == 3 || rest[3] == '.';
  return rest.starts_with("-") && rest.ends_with(".so") &&
         IsDigits(rest.substr(1, rest.size() - 4));
}

bool LooksLikeLibrary(std::string_view name) {
  return name.starts_with("lib") || name.find(".so") != std::string_view::npos;
}

std::string FromMaps(const View& view, const std::string& name) {
  for (const std::string& file : MappedFiles(view)) {
    if (IsMeant(name, BaseName(file))) return file;
  }
  return "";
}

std::vector<CachedLibrary> CacheOf(const View& view) {
  auto bytes = ReadFile(ResolveInRoot(view.root, std::string(kCache)));
  if (!bytes.ok()) return {};
  auto libraries = ParseLibraryCache(bytes.value(), view.architecture);
  return libraries.ok() ? std::move(libraries).value() : std::vector<CachedLibrary>();
}

std::string FromCache(const View& view, const std::string& name) {
  std::string path;
  for (const CachedLibrary& library : CacheOf(view)) {
    if (!IsMeant(name, library.name)) continue;
    // libc stands for libc.so.6, and not for the libc.so of a development package, which may be a
    // text for the linker; an exact name wins.
    if (library.name == name) return library.path;
    if (path.empty() || path.ends_with(".so")) path = library.path;
  }
  return path;
}

std::string FromFolders(const View& view, const std::string& name) {
  for (std::string_view pattern : kLibraryFolders) {
    std::string folder =
        ResolveInRoot(view.root, fmt::format(fmt::runtime(pattern), view.architecture));
    if (IsFile(folder + "/" + name))
      return ResolveInRoot(view.root, folder.substr(view.root.size()) + "/" + name);
    auto names = ListDirectory(folder);
    if (!names.ok()) continue;
    for (const std::string& candidate : names.value()) {
      if (!IsMeant(name, candidate) || candidate == name + ".so") continue;
      return ResolveInRoot(view.root, folder.substr(view.root.size()) + "/" + candidate);
    }
  }
  return "";
}

std::string FromPath(const View& view, const std::string& name) {
  std::istringstream folders(view.path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (folder.empty() || folder[0] != '/') continue;
    std::string file = ResolveInRoot(view.root, folder + "/" + name);
    if (IsFile(file) && ::access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

Error NotFound(const View& view, const std::string& name) {
  std::string seen_by = view.root.empty() ? "" : " as the process sees it";
  if (LooksLikeLibrary(name)) {
    std::string message = fmt::format(
        "no library {}{}: neither in the loader's cache nor in its folders", name, seen_by);
    return Error(ErrorKind::kNotFound, std::move(message));
  }
  std::string message = fmt::format("no program {} in PATH{}", name, seen_by);
  if (IsFile(name)) {
    message += fmt::format("; the file here is ./{}", name);
  } else if (!FromCache(view, "lib" + name).empty()) {
    message += fmt::format("; there is a library lib{}", name);
  }
  return Error(ErrorKind::kNotFound, std::move(message));
}

std::string LinkOf(const std::string& path) {
  std::error_code failed;
  fs::path target = fs::read_symlink(path, failed);
  return failed ? "" : target.string();
}

}  // namespace

std::string ResolveInRoot(const std::string& root, const std::string& path) {
  if (root.empty()) return path;
  fs::path done = "/", rest = fs::path(path).lexically_normal();
  for (int links = 0; links < kMaxLinks;) {
    fs::path now = "/";
    bool followed = false;
    for (auto part = rest.begin(); part != rest.end(); ++part) {
      if (*part == "/" || part->empty()) continue;
      fs::path next = now / *part;
      std::string target = LinkOf(root + next.string());
      if (target.empty()) {
        now = next;
        continue;
      }
      fs::path after = target[0] == '/' ? fs::path(target) : now / target;
      for (++part; part != rest.end(); ++part) after /= *part;
      rest = after.lexically_normal();
      followed = true;
      ++links;
      break;
    }
    if (!followed) return root + now.string();
  }
  return root + rest.string();
}

std::vector<std::string> MappedFiles(const View& view) {
  std::vector<std::string> files;
  std::istringstream lines(view.maps);
  for (std::string line; std::getline(lines, line);) {
    // "START-END PERMISSIONS OFFSET DEVICE INODE      PATH"
    size_t path = line.find('/');
    size_t permissions = line.find(' ');
    if (path == line.npos || permissions == line.npos || permissions + 3 >= line.size()) continue;
    if (line[permissions + 3] != 'x' || line.ends_with(" (deleted)")) continue;
    std::string file = view.root + line.substr(path);
    if (std::find(files.begin(), files.end(), file) == files.end()) files.push_back(file);
  }
  return files;
}

Result<View> ViewOf(uint32_t process) {
  View view;
#if defined(__x86_64__)
  view.architecture = "x86_64";
#elif defined(__aarch64__)
  view.architecture = "aarch64";
#endif
  const char* path = std::getenv("PATH");
  view.path = path != nullptr ? path : std::string(kDefaultPath);
  if (process == 0) return view;
  std::string folder = fmt::format("/proc/{}", process);
  auto maps = ReadFile(folder + "/maps");
  if (!maps.ok()) {
    if (maps.error().kind() != ErrorKind::kNotFound) return maps.error();
    return Error(ErrorKind::kNotFound, fmt::format("there is no process {}", process));
  }
  view.maps = std::move(maps).value();
  bool is_elsewhere = LinkOf(folder + "/ns/mnt") != LinkOf("/proc/self/ns/mnt") ||
                      LinkOf(folder + "/root") != LinkOf("/proc/self/root");
  if (is_elsewhere) {
    view.root = folder + "/root";
    view.path = kDefaultPath;
  }
  return view;
}

Result<std::string> Locate(const View& view, const std::string& name) {
  if (name.find('/') != name.npos) {
    // What the shell of whoever calls us would open, unless the path is the process's.
    std::string path = name[0] == '/' ? ResolveInRoot(view.root, name) : name;
    if (IsFile(path)) return path;
    if (::access(path.c_str(), F_OK) != 0) return Error::FromErrno(name);
    return Error(ErrorKind::kInvalid, name + " is not a file");
  }
  std::string found = FromMaps(view, name);
  if (found.empty() && LooksLikeLibrary(name)) {
    found = FromCache(view, name);
    if (!found.empty()) {
      found = ResolveInRoot(view.root, found);
    } else {
      found = FromFolders(view, name);
    }
  }
  if (found.empty()) found = FromPath(view, name);
  if (found.empty()) return NotFound(view, name);
  return found;
}

}  // namespace memtrace::user
