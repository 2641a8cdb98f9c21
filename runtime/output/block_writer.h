// BlockWriter: text gathered and written to a descriptor in blocks.
//
// The first error ends it: from then on everything is dropped, and failed() says so.
#pragma once

#include <string>

namespace memtrace::output {

class BlockWriter {
 public:
  // `fd` is not owned.
  explicit BlockWriter(int fd);

  // Where to append. Call Commit() after each piece that may be followed by a pause.
  std::string& buffer() { return buffer_; }
  // Writes when a block is full.
  void Commit();
  void Flush();
  bool failed() const { return error_ != 0; }
  // "write: No space left on device"; empty without an error and for a closed pipe.
  std::string failure() const;

 private:
  int fd_;
  int error_ = 0;
  std::string buffer_;
};

}  // namespace memtrace::output
