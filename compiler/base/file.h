// Files: an owning descriptor and whole-file reads. Paths in error messages are the ones asked for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/base/result.h"

namespace memtrace {

// Owns a file descriptor; -1 when empty. Closing never fails visibly.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) Reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~UniqueFd() { Reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }
  void Reset(int fd = -1);

 private:
  int fd_ = -1;
};

// "open PATH: …" on failure.
Result<UniqueFd> OpenForRead(const std::filesystem::path& path);

// Reads to the end; works for /proc, /sys and tracefs files whose size reads as zero.
// A file of more than `limit` bytes is an error.
Result<std::string> ReadFile(const std::filesystem::path& path, size_t limit = SIZE_MAX);

// Names in a directory without "." and "..", sorted.
Result<std::vector<std::string>> ListDirectory(const std::filesystem::path& path);

}  // namespace memtrace
