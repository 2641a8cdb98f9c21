#include "compiler/diag/source.h"

#include <gtest/gtest.h>

namespace memtrace::diag {
namespace {

TEST(SourceMap, FindsLinesAndColumns) {
  SourceMap sources;
  const Span span = sources.Add("a.mt", "one\n\nthree");
  EXPECT_EQ(span, (Span{0, 10}));
  const Position begin = sources.PositionOf(0);
  EXPECT_EQ(begin.file, "a.mt");
  EXPECT_EQ(begin.line, 1u);
  EXPECT_EQ(begin.column, 1u);
  // A newline belongs to the line that it ends.
  EXPECT_EQ(sources.PositionOf(3).line, 1u);
  EXPECT_EQ(sources.PositionOf(3).column, 4u);
  EXPECT_EQ(sources.PositionOf(4).line, 2u);
  EXPECT_EQ(sources.LineAt(4), "");
  EXPECT_EQ(sources.LineAt(7), "three");
  EXPECT_EQ(sources.LineStart(7), 5u);
}

TEST(SourceMap, FilesShareOneSpaceAndTheirEndsAreTheirOwn) {
  SourceMap sources;
  const Span first = sources.Add("-e", "abc");
  const Span second = sources.Add("b.mt", "x\ny\n");
  EXPECT_EQ(sources.Text(first), "abc");
  EXPECT_EQ(sources.Text(second), "x\ny\n");
  EXPECT_EQ(sources.PositionOf(first.end).file, "-e");
  EXPECT_EQ(sources.PositionOf(first.end).column, 4u);
  EXPECT_EQ(sources.PositionOf(second.begin).file, "b.mt");
  EXPECT_EQ(sources.PositionOf(second.begin + 2).line, 2u);
  EXPECT_EQ(sources.PositionOf(second.end).line, 3u);
  EXPECT_EQ(sources.LineAt(second.end), "");
}

TEST(SourceMap, AnEmptyFileHasAPosition) {
  SourceMap sources;
  const Span span = sources.Add("-e", "");
  EXPECT_EQ(sources.PositionOf(span.end).line, 1u);
  EXPECT_EQ(sources.LineAt(span.end), "");
}

}  // namespace
}  // namespace memtrace::diag
