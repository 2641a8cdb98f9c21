#include "runtime/output/block_writer.h"

#include <cerrno>
#include <cstring>

#include <poll.h>
#include <unistd.h>

namespace memtrace::output {
namespace {

constexpr size_t kBlockSize = 64 << 10;

}  // namespace

BlockWriter::BlockWriter(int fd) : fd_(fd) { buffer_.reserve(2 * kBlockSize); }

void BlockWriter::Commit() {
  if (buffer_.size() >= kBlockSize) Flush();
}

void BlockWriter::Flush() {
  size_t written = 0;
  while (error_ == 0 && written < buffer_.size()) {
    ssize_t count = ::write(fd_, buffer_.data() + written, buffer_.size() - written);
    if (count >= 0) {
      written += static_cast<size_t>(count);
    } else if (errno == EAGAIN) {
      // Somebody who shares the terminal or pipe made it non-blocking.
      struct pollfd ready{.fd = fd_, .events = POLLOUT, .revents = 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
  buffer_.clear();
}

std::string BlockWriter::failure() const {
  if (error_ == 0 || error_ == EPIPE) return {};
  return std::string("write: ") + std::strerror(error_);
}

}  // namespace memtrace::output
