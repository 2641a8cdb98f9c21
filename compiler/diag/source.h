// Source text and positions in it.
//
// All files of one compilation share one space of offsets (the script, imports, the text of -e), so
// a Span is eight bytes and names its file without saying so. SourceMap turns an offset back into
// file, line and column.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace memtrace::diag {

// Half-open range of bytes [begin, end) in the SourceMap's space.
struct Span {
  uint32_t begin = 0;
  uint32_t end = 0;

  // From the beginning of `*this` to the end of `last`.
  Span To(Span last) const { return {begin, last.end}; }
  bool operator==(const Span&) const = default;
};

struct Position {
  std::string_view file;
  uint32_t line;    // from 1
  uint32_t column;  // from 1, in bytes
};

class SourceMap {
 public:
  // Adds a file; returns the span of its text. `name` is shown to people ("-e", "vmscan.mt"). All
  // files together hold less than 4 GiB: who reads them refuses larger ones. The empty place behind
  // the last byte belongs to the file, so that a mistake at its end has a position.
  Span Add(std::string name, std::string text);

  std::string_view Text(Span span) const;
  Position PositionOf(uint32_t offset) const;
  // The whole line that holds `offset`, without its newline.
  std::string_view LineAt(uint32_t offset) const;
  // Offset of the first byte of that line.
  uint32_t LineStart(uint32_t offset) const;

 private:
  struct File {
    std::string name;
    std::string text;
    uint32_t begin;
    std::vector<uint32_t> line_starts;  // offsets in `text`
  };
  const File& FileOf(uint32_t offset) const;
  std::deque<File> files_;  // addresses stay valid while files are added
  uint32_t next_ = 0;
};

}  // namespace memtrace::diag
