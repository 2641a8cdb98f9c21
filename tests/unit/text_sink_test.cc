// Output for people, to the byte.
#include <cstdint>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "compiler/base/file.h"
#include "runtime/output/number.h"
#include "tests/unit/sink_fixture.h"

namespace memtrace::output {
namespace {

using events::Aggregate;
using events::Histogram;
using events::MapTable;
using events::Value;
using plan::Unit;
using test::Compound;
using test::Int;
using test::Str;

std::string Shown(const MapTable& table, bool raw = false) {
  return test::Written(NewTextSink, [&](Sink& sink) { sink.Print(table); }, raw);
}
std::string Shown(const Value& value, bool raw = false) {
  return test::Written(NewTextSink, [&](Sink& sink) { sink.Print(value); }, raw);
}

MapTable Keyed(std::vector<events::MapRow> rows) {
  return {.name = "@m", .has_keys = true, .rows = std::move(rows)};
}
MapTable Keyless(Value value) { return {.name = "@m", .has_keys = false, .rows = {{{}, value}}}; }

std::string Number(uint64_t value, Unit unit) {
  std::string text;
  AppendNumber(text, value, false, unit, false);
  return text;
}

TEST(Number, Scaled) {
  EXPECT_EQ(Number(0, Unit::kBytes), "0 B");
  EXPECT_EQ(Number(1023, Unit::kBytes), "1023 B");
  EXPECT_EQ(Number(1024, Unit::kBytes), "1 KiB");
  EXPECT_EQ(Number(1536, Unit::kBytes), "1.5 KiB");
  EXPECT_EQ(Number((1 << 20) - 1, Unit::kBytes), "1 MiB");  // 1023.999 KiB
  EXPECT_EQ(Number(511ull << 20, Unit::kBytes), "511 MiB");
  EXPECT_EQ(Number(UINT64_MAX, Unit::kBytes), "16 EiB");
  EXPECT_EQ(Number(999, Unit::kNanoseconds), "999 ns");
  EXPECT_EQ(Number(8'970'000, Unit::kNanoseconds), "8.97 ms");
  EXPECT_EQ(Number(8'074'999, Unit::kNanoseconds), "8.07 ms");
  EXPECT_EQ(Number(999'700, Unit::kNanoseconds), "1 ms");
  EXPECT_EQ(Number(9'996, Unit::kNanoseconds), "10 us");
  EXPECT_EQ(Number(3'600'000'000'000, Unit::kNanoseconds), "3600 s");
  EXPECT_EQ(Number(1, Unit::kPages), "1 page");
  EXPECT_EQ(Number(12, Unit::kPages), "12 pages");
}

TEST(TextSink, Scalars) {
  EXPECT_EQ(Shown(Keyless(Int(-5))), "@m: -5\n");
  EXPECT_EQ(Shown(Keyless(Value{true})), "@m: true\n");
  EXPECT_EQ(Shown(Int(-5)), "-5\n");
  EXPECT_EQ(Shown(Int(-4096, Unit::kBytes)), "-4 KiB\n");
  EXPECT_EQ(Shown(Int(4096, Unit::kBytes), true), "4096\n");
  EXPECT_EQ(Shown(Int(4096, Unit::kPages), true), "4096\n");
}

TEST(TextSink, Keys) {
  EXPECT_EQ(Shown(Keyed({{{Str("bash"), Int(4711)}, Int(1)}, {{Str("sed"), Int(2)}, Int(30)}})),
            "@m[bash, 4711]: 1\n@m[sed, 2]: 30\n");
  EXPECT_EQ(Shown(Keyed({})), "");
}

TEST(TextSink, Compounds) {
  using Shape = Aggregate::Shape;
  EXPECT_EQ(Shown(Compound(Shape::kTuple, {{"", Int(1)}, {"", Str("b")}})), "(1, b)\n");
  EXPECT_EQ(Shown(Compound(Shape::kRecord, {{"a", Int(1)}, {"b", Int(2)}})), "(a = 1, b = 2)\n");
  EXPECT_EQ(Shown(Compound(Shape::kStruct, {{"a", Int(1)}, {"b", Int(2)}})),
            "{ .a = 1, .b = 2 }\n");
  EXPECT_EQ(Shown(Compound(Shape::kArray, {{"", Int(1)}, {"", Int(2)}, {"", Int(3)}})),
            "[1,2,3]\n");
}

TEST(TextSink, KeysDoNotDriveTheTerminal) {
  EXPECT_EQ(Shown(Keyed({{{Str("a\x1b]0;x\x07\nb\t")}, Int(1)}})),
            "@m[a\\x1b]0;x\\x07\\nb\\t]: 1\n");
}

TEST(TextSink, Stats) {
  Value stats{events::Stats{.count = 3, .total = 15, .average = 5, .min = 1, .max = 9}};
  EXPECT_EQ(Shown(Keyless(stats)), "@m: count 3, average 5, total 15\n");
  Value timed{events::Stats{
      .count = 2, .total = 3000, .average = 1500, .min = 1, .max = 9, .unit = Unit::kNanoseconds}};
  EXPECT_EQ(Shown(Keyless(timed)), "@m: count 2, average 1.5 us, total 3 us\n");
}

TEST(TextSink, Stacks) {
  events::Stack stack{.frames = {1, 2}, .process = 0, .is_user = false};
  EXPECT_EQ(Shown(Keyed({{{Value{stack}, Str("c")}, Int(7)}})), "@m[\n    0x1\n    0x2\n, c]: 7\n");
  EXPECT_EQ(Shown(Value{stack}), "\n        0x1\n        0x2\n\n");
  stack.frames.clear();
  stack.failed = true;
  EXPECT_EQ(Shown(Keyless(Value{stack})), "@m:\n    [no stack]\n\n");
}

constexpr char kFullBar[] = "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@";

TEST(TextSink, HistogramOfPlainNumbers) {
  Histogram histogram;
  histogram.buckets = {{INT64_MIN, 0, 1}, {0, 1, 0},      {1, 2, 2},
                       {2, 4, 4},         {512, 1024, 3}, {1024, 2048, 4}};
  EXPECT_EQ(Shown(Keyed({{{Str("k")}, Value{histogram}}})),
            std::string("@m[k]:\n") +
                "(..., 0)               1 |@@@@@@@@@@@@@                                       |\n"
                "[0]                    0 |                                                    |\n"
                "[1]                    2 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |\n"
                "[2, 4)                 4 |" +
                kFullBar +
                "|\n"
                "[512, 1K)              3 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@             |\n"
                "[1K, 2K)               4 |" +
                kFullBar + "|\n\n");
}

std::string OneBucket(Histogram histogram, bool raw = false) {
  std::string text = Shown(Keyless(Value{histogram}), raw);
  return text.substr(4, text.find(')') + 1 - 4);
}

TEST(TextSink, EdgesWithUnits) {
  EXPECT_EQ(OneBucket({.buckets = {{1000, 2000, 1}}, .unit = Unit::kNanoseconds}), "[1us, 2us)");
  EXPECT_EQ(OneBucket({.buckets = {{0, 1000, 1}}, .unit = Unit::kNanoseconds}), "[0, 1us)");
  EXPECT_EQ(OneBucket({.buckets = {{512'000, 1'024'000, 1}}, .unit = Unit::kNanoseconds}),
            "[512us, 1.02ms)");
  EXPECT_EQ(OneBucket({.buckets = {{2'048'000, 4'096'000, 1}}, .unit = Unit::kNanoseconds}),
            "[2.05ms, 4.1ms)");
  EXPECT_EQ(OneBucket({.buckets = {{1000, 2000, 1}}, .unit = Unit::kNanoseconds}, true),
            "[1000, 2000)");
  EXPECT_EQ(OneBucket({.buckets = {{4096, 8192, 1}}, .unit = Unit::kBytes}), "[4KiB, 8KiB)");
  EXPECT_EQ(OneBucket({.buckets = {{512, 1024, 1}}, .unit = Unit::kBytes}), "[512B, 1KiB)");
  EXPECT_EQ(OneBucket({.buckets = {{2, 4, 1}}, .unit = Unit::kPages}), "[2 pages, 4 pages)");
  EXPECT_EQ(OneBucket({.buckets = {{int64_t{1} << 62, INT64_MAX, 1}}}), "[4E, ...)");
}

TEST(TextSink, LinearEdgesAreExact) {
  EXPECT_EQ(OneBucket({.buckets = {{3, 4, 1}}, .is_linear = true}), "[3, 4)");
  EXPECT_EQ(OneBucket({.buckets = {{1024, 1034, 1}}, .is_linear = true}), "[1024, 1034)");
  EXPECT_EQ(OneBucket({.buckets = {{2048, 4096, 1}}, .is_linear = true}), "[2K, 4K)");
  EXPECT_EQ(OneBucket({.buckets = {{-10, 0, 1}}, .is_linear = true}), "[-10, 0)");
  EXPECT_EQ(OneBucket({.buckets = {{1'001'000'000, 1'002'000'000, 1}},
                       .unit = Unit::kNanoseconds,
                       .is_linear = true}),
            "[1001ms, 1002ms)");
  EXPECT_EQ(OneBucket({.buckets = {{100, INT64_MAX, 1}}, .is_linear = true}), "[100, ...)");
}

TEST(TextSink, LongLabelsAndCountsKeepTheirDistance) {
  Histogram histogram{.buckets = {{128, 256, 123456789}, {131072, 262144, 1}},
                      .unit = Unit::kPages};
  std::string text = Shown(Keyless(Value{histogram}));
  EXPECT_EQ(text.substr(4, text.find('\n', 4) - 4),
            std::string("[128 pages, 256 pages)   123456789 |") + kFullBar + "|");
}

TEST(TextSink, PrintfPassesThrough) {
  EXPECT_EQ(test::Written(NewTextSink,
                          [](Sink& sink) {
                            sink.Text("\x1b[1mheader\n");
                            sink.Attached(3);
                            sink.Lost("ring full", "printf", 3);
                          }),
            "\x1b[1mheader\n");
}

TEST(TextSink, WriteErrors) {
  symbols::Symbolizer symbolizer;
  UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  auto sink = NewTextSink({.fd = full.get()}, symbolizer);
  sink->Text("x");
  EXPECT_FALSE(sink->failed());
  sink->Flush();
  EXPECT_TRUE(sink->failed());
  EXPECT_EQ(sink->failure(), "write: No space left on device");
  sink->Text("more");
  sink->Flush();

  signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  UniqueFd reader(ends[0]), writer(ends[1]);
  reader.Reset();
  sink = NewTextSink({.fd = writer.get()}, symbolizer);
  sink->Text("x");
  sink->Flush();
  EXPECT_TRUE(sink->failed());
  EXPECT_EQ(sink->failure(), "");
  signal(SIGPIPE, SIG_DFL);
}

}  // namespace
}  // namespace memtrace::output
