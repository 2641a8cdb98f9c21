#include "compiler/diag/source.h"

#include <algorithm>
#include <limits>

#include "compiler/base/check.h"

namespace memtrace::diag {

Span SourceMap::Add(std::string name, std::string text) {
  MT_CHECK(text.size() < std::numeric_limits<uint32_t>::max() - next_,
           "source texts fit into 4 GiB of offsets");
  File file{.name = std::move(name), .text = std::move(text), .begin = next_, .line_starts = {0}};
  for (size_t i = 0; i < file.text.size(); ++i) {
    if (file.text[i] == '\n') file.line_starts.push_back(static_cast<uint32_t>(i + 1));
  }
  const Span span{file.begin, file.begin + static_cast<uint32_t>(file.text.size())};
  next_ = span.end + 1;  // the end of a file is a position of its own
  files_.push_back(std::move(file));
  return span;
}

std::string_view SourceMap::Text(Span span) const {
  const File& file = FileOf(span.begin);
  const size_t begin = std::min<size_t>(span.begin - file.begin, file.text.size());
  const size_t length = span.end > span.begin ? span.end - span.begin : 0;
  return std::string_view(file.text).substr(begin, length);
}

Position SourceMap::PositionOf(uint32_t offset) const {
  const File& file = FileOf(offset);
  const uint32_t start = LineStart(offset);
  const auto line =
      std::upper_bound(file.line_starts.begin(), file.line_starts.end(), start - file.begin);
  return {.file = file.name,
          .line = static_cast<uint32_t>(line - file.line_starts.begin()),
          .column = offset - start + 1};
}

std::string_view SourceMap::LineAt(uint32_t offset) const {
  const File& file = FileOf(offset);
  const std::string_view rest = std::string_view(file.text).substr(LineStart(offset) - file.begin);
  return rest.substr(0, rest.find('\n'));
}

uint32_t SourceMap::LineStart(uint32_t offset) const {
  const File& file = FileOf(offset);
  const auto next =
      std::upper_bound(file.line_starts.begin(), file.line_starts.end(), offset - file.begin);
  return file.begin + *(next - 1);
}

const SourceMap::File& SourceMap::FileOf(uint32_t offset) const {
  MT_CHECK(!files_.empty(), "a span belongs to a file of its SourceMap");
  const auto next = std::upper_bound(files_.begin(), files_.end(), offset,
                                     [](uint32_t o, const File& file) { return o < file.begin; });
  return *(next - 1);
}

}  // namespace memtrace::diag
