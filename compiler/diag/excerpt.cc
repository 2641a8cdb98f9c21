#include "compiler/diag/excerpt.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>

#include "compiler/diag/diagnostics.h"

namespace memtrace::diag {
namespace {

constexpr size_t kTabColumns = 4;
constexpr size_t kContextColumns = 36;  // kept before the focus when a line is cut

struct CodePoint {
  uint32_t value;
  size_t bytes;  // 0: not UTF-8
};

CodePoint DecodeUtf8(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {lead, 1};
  const size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {0, 0};
  uint32_t value = lead & (0x7f >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return {0, 0};
    value = (value << 6) | (next & 0x3f);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < kSmallest[bytes] || value > 0x10ffff || surrogate) return {0, 0};
  return {value, bytes};
}

struct Range {
  uint32_t first;
  uint32_t last;
};

template <size_t N>
bool IsIn(const Range (&ranges)[N], uint32_t value) {
  return std::any_of(ranges, ranges + N,
                     [&](Range range) { return value >= range.first && value <= range.last; });
}

// Controls, and signs that reorder or hide what stands beside them.
constexpr Range kHidden[] = {{0, 0x1f},        {0x7f, 0x9f},     {0xad, 0xad},
                             {0x61c, 0x61c},   {0x200b, 0x200f}, {0x2028, 0x202e},
                             {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xe0000, 0xe0fff}};
constexpr Range kCombining[] = {
    {0x300, 0x36f}, {0x1ab0, 0x1aff}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}};
constexpr Range kWide[] = {{0x1100, 0x115f},   {0x2e80, 0xa4cf},  {0xac00, 0xd7a3},
                           {0xf900, 0xfaff},   {0xfe30, 0xfe6f},  {0xff00, 0xff60},
                           {0x1f300, 0x1faff}, {0x20000, 0x3fffd}};

std::string EscapeByte(unsigned char byte) {
  if (byte == '\n') return "\\n";
  if (byte == '\t') return "\\t";
  if (byte == '\r') return "\\r";
  char text[8];
  std::snprintf(text, sizeof(text), "\\x%02x", byte);
  return text;
}

bool IsContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

}  // namespace

Glyph NextGlyph(std::string_view rest, size_t column) {
  if (rest[0] == '\t') {
    const size_t columns = kTabColumns - column % kTabColumns;
    return {std::string(columns, ' '), columns, 1};
  }
  const CodePoint point = DecodeUtf8(rest);
  if (point.bytes == 0 || IsIn(kHidden, point.value)) {
    std::string text;
    const size_t bytes = std::max<size_t>(point.bytes, 1);
    for (char byte : rest.substr(0, bytes)) text += EscapeByte(static_cast<unsigned char>(byte));
    return {text, text.size(), bytes};
  }
  const size_t columns = IsIn(kWide, point.value) ? 2 : IsIn(kCombining, point.value) ? 0 : 1;
  return {std::string(rest.substr(0, point.bytes)), columns, point.bytes};
}

std::string Printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    if (text[0] == '\t') {
      result += EscapeByte('\t');
      text.remove_prefix(1);
      continue;
    }
    const Glyph glyph = NextGlyph(text, 0);
    result += glyph.text;
    text.remove_prefix(glyph.bytes);
  }
  return result;
}

Excerpt::Excerpt(std::string_view line, size_t focus_begin, size_t focus_end) {
  focus_begin = std::min(focus_begin, line.size());
  // A glyph has at least as many bytes as columns or is an escape, so bytes bound the work: what is
  // further away than a whole excerpt can't be in the window.
  begin_ = focus_begin > 8 * kExcerptColumns ? focus_begin - 8 * kExcerptColumns : 0;
  while (begin_ > 0 && begin_ < focus_begin && IsContinuation(line[begin_])) ++begin_;
  std::vector<Glyph> glyphs;
  size_t column = 0, focus_column = 0, focus_end_column = 0, offset = begin_;
  while (offset < line.size() && column < 20 * kExcerptColumns) {
    if (offset <= focus_begin) focus_column = column;
    if (offset < focus_end) focus_end_column = column + 1;
    glyphs.push_back(NextGlyph(line.substr(offset), column));
    column += glyphs.back().columns;
    offset += glyphs.back().bytes;
  }
  if (offset <= focus_begin) focus_column = column;
  focus_end_column = std::max(focus_end_column, focus_column + 1);

  const bool fits = begin_ == 0 && offset == line.size() && column <= kExcerptColumns;
  size_t first = 0;
  if (!fits && (begin_ > 0 || focus_end_column > kExcerptColumns)) {
    const size_t wanted = focus_column > kContextColumns ? focus_column - kContextColumns : 0;
    size_t skipped = 0;
    while (first < glyphs.size() && skipped < wanted) {
      skipped += glyphs[first].columns;
      begin_ += glyphs[first++].bytes;
    }
  }
  if (begin_ > 0) text_ = "…";
  size_t at = begin_ > 0 ? 1 : 0;
  end_ = begin_;
  const size_t limit = fits ? column + 1 : kExcerptColumns - 1;
  size_t next = first;
  for (; next < glyphs.size() && at + glyphs[next].columns <= limit; ++next) {
    text_ += glyphs[next].text;
    columns_.insert(columns_.end(), glyphs[next].bytes, at);
    at += glyphs[next].columns;
    end_ += glyphs[next].bytes;
  }
  columns_.push_back(at);
  if (end_ < line.size()) text_ += "…";
}

size_t Excerpt::ColumnOf(size_t offset) const {
  return columns_[std::clamp(offset, begin_, end_) - begin_];
}

void Excerpt::Mark(std::string& row, size_t begin, size_t end, char first, char rest) const {
  const size_t from = ColumnOf(begin);
  const size_t to = std::max(from + 1, ColumnOf(end));
  if (row.size() < to) row.resize(to, ' ');
  row[from] = first;
  std::fill(row.begin() + static_cast<std::ptrdiff_t>(from) + 1,
            row.begin() + static_cast<std::ptrdiff_t>(to), rest);
}

}  // namespace memtrace::diag
