// Finds the file that a script means by `libc`, `libc.so.6`, `bash` or `./a.out`.
//
// A name with a slash is a path. Others are a library, found as the loader finds it (what the
// process has mapped, the loader's cache, the usual folders), or a program, found in PATH. Names
// are resolved as the process of -p sees them, through its root folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/result.h"

namespace memtrace::user {

// Where names are looked up.
struct View {
  std::string root;  // "" or "/proc/PID/root": before every absolute path
  std::string maps;  // text of the process's /proc/PID/maps; empty without -p
  std::string path;  // folders of programs, with colons
  std::string architecture;
};

// Our own view, or the one of `process` when that is not 0. kNotFound when there is no such
// process.
Result<View> ViewOf(uint32_t process);

// The path to open. An error says where was looked, and what was meant when that can be guessed.
Result<std::string> Locate(const View& view, const std::string& name);

// Files that the process has mapped to run code from, in the order of their addresses, as paths to
// open.
std::vector<std::string> MappedFiles(const View& view);

// Follows symbolic links of the absolute `path` as a process does whose root folder is `root`; the
// result begins with `root`. A part that does not exist ends the walk.
std::string ResolveInRoot(const std::string& root, const std::string& path);

}  // namespace memtrace::user
