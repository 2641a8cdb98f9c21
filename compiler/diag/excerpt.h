// One source line as a person sees it, with marks under it.
//
// Works on columns of a terminal instead of bytes: tabs become blanks, unprintable bytes become
// escapes, wide characters count twice. A long line is cut to a window around the place in
// question. Only Render uses this.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace memtrace::diag {

// Widest excerpt, without the gutter: fits beside it into the house's 100 columns.
inline constexpr size_t kExcerptColumns = 92;

// One thing on the screen and the bytes it stands for.
struct Glyph {
  std::string text;
  size_t columns;
  size_t bytes;
};

// The first glyph of `rest`, which is not empty. `column` is where it will stand, for tabs.
Glyph NextGlyph(std::string_view rest, size_t column);

class Excerpt {
 public:
  // `line` has no newline; `focus_begin` and `focus_end` are byte offsets that must be visible (the
  // end only as far as there is room).
  Excerpt(std::string_view line, size_t focus_begin, size_t focus_end);

  const std::string& text() const { return text_; }

  // Whether the byte at `offset` of the line (or the place behind the last) is in the window.
  bool Shows(size_t offset) const { return offset >= begin_ && offset <= end_; }

  // Draws `first` at byte `begin` and `rest` up to byte `end` on `row`, which grows as needed. An
  // empty range is one column wide.
  void Mark(std::string& row, size_t begin, size_t end, char first, char rest) const;

 private:
  size_t ColumnOf(size_t offset) const;

  std::string text_;
  size_t begin_ = 0;  // bytes [begin_, end_) of the line are shown
  size_t end_ = 0;
  std::vector<size_t> columns_;  // of each byte in the window, and of the place behind it
};

}  // namespace memtrace::diag
