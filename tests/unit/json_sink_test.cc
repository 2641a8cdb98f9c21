// NDJSON to the byte, and that a parser takes whatever strings hold.
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/unit/sink_fixture.h"

namespace memtrace::output {
namespace {

using events::Aggregate;
using events::Value;
using plan::Unit;
using test::Compound;
using test::Int;
using test::Str;

std::string Shown(const Value& value, bool raw = false) {
  std::string line = test::Written(NewJsonSink, [&](Sink& sink) { sink.Print(value); }, raw);
  constexpr std::string_view kBefore = R"({"type":"value","data":)";
  EXPECT_TRUE(line.starts_with(kBefore) && line.ends_with("}\n")) << line;
  return line.substr(kBefore.size(), line.size() - kBefore.size() - 2);
}

TEST(JsonSink, Lines) {
  EXPECT_EQ(test::Written(NewJsonSink,
                          [](Sink& sink) {
                            sink.Attached(2);
                            sink.Text("a \"b\"\n");
                            sink.Lost("map full", "@m", 12);
                          }),
            "{\"type\":\"attached_probes\",\"data\":{\"probes\":2}}\n"
            "{\"type\":\"printf\",\"data\":\"a \\\"b\\\"\\n\"}\n"
            "{\"type\":\"lost\",\"cause\":\"map full\",\"subject\":\"@m\",\"count\":12}\n");
}

TEST(JsonSink, Maps) {
  auto shown = [](const events::MapTable& table) {
    return test::Written(NewJsonSink, [&](Sink& sink) { sink.Print(table); });
  };
  EXPECT_EQ(shown({.name = "@m", .has_keys = false, .rows = {{{}, Int(5)}}}),
            "{\"type\":\"map\",\"data\":{\"@m\":5}}\n");
  EXPECT_EQ(shown({.name = "@m", .has_keys = false, .rows = {}}),
            "{\"type\":\"map\",\"data\":{\"@m\":null}}\n");
  EXPECT_EQ(shown({.name = "@m",
                   .has_keys = true,
                   .rows = {{{Str("a"), Int(1)}, Int(5)}, {{Str("b"), Int(2)}, Int(6)}}}),
            "{\"type\":\"map\",\"data\":{\"@m\":[{\"key\":[\"a\",1],\"value\":5},"
            "{\"key\":[\"b\",2],\"value\":6}]}}\n");
}

TEST(JsonSink, Numbers) {
  EXPECT_EQ(Shown(Int(INT64_MIN)), "-9223372036854775808");
  EXPECT_EQ(Shown(Value{events::Integer{.bits = UINT64_MAX, .name = {}}}), "18446744073709551615");
  EXPECT_EQ(Shown(Int(1500, Unit::kNanoseconds)), R"({"value":1500,"unit":"ns"})");
  EXPECT_EQ(Shown(Int(1500, Unit::kNanoseconds), true), "1500");
  EXPECT_EQ(Shown(Value{events::Integer{.bits = 2, .name = "TWO"}}), R"({"value":2,"name":"TWO"})");
  EXPECT_EQ(Shown(Value{false}), "false");
  EXPECT_EQ(Shown(Value{events::Pointer{.address = 0xff}}), "\"0xff\"");
  EXPECT_EQ(Shown(Value{}), "null");
}

TEST(JsonSink, Compounds) {
  using Shape = Aggregate::Shape;
  EXPECT_EQ(Shown(Compound(Shape::kTuple, {{"", Int(1)}, {"", Str("b")}})), "[1,\"b\"]");
  EXPECT_EQ(Shown(Compound(Shape::kStruct, {{"a", Int(1)}, {"b", Int(2)}})), R"({"a":1,"b":2})");
  EXPECT_EQ(Shown(Compound(Shape::kArray, {{"", Int(1)}, {"", Int(2)}})), "[1,2]");
}

TEST(JsonSink, Aggregations) {
  events::Histogram histogram{.buckets = {{INT64_MIN, 0, 1}, {1000, 2000, 7}, {2000, INT64_MAX, 2}},
                              .unit = Unit::kNanoseconds};
  EXPECT_EQ(Shown(Value{histogram}),
            R"({"unit":"ns","buckets":[{"low":null,"high":0,"count":1},)"
            R"({"low":1000,"high":2000,"count":7},{"low":2000,"high":null,"count":2}]})");
  events::Stats stats{.count = 2,
                      .total = static_cast<uint64_t>(-6),
                      .average = static_cast<uint64_t>(-3),
                      .min = static_cast<uint64_t>(-4),
                      .max = static_cast<uint64_t>(-2),
                      .is_signed = true};
  EXPECT_EQ(Shown(Value{stats}), R"({"count":2,"average":-3,"total":-6,"min":-4,"max":-2})");
}

TEST(JsonSink, Stacks) {
  events::Stack stack{.frames = {1}, .process = 0, .truncated = true};
  EXPECT_EQ(
      Shown(Value{stack}),
      R"([{"symbol":null,"offset":0,"module":null,"address":"0x1"},{"error":"more frames"}])");
  stack = {.frames = {}, .failed = true};
  EXPECT_EQ(Shown(Value{stack}), R"([{"error":"no stack"}])");
}

TEST(JsonSink, BytesThatAreNoText) {
  EXPECT_EQ(Shown(Str("a\xff"
                      "b")),
            R"("a\\xffb")");
  EXPECT_EQ(Shown(Str("\x1b\x01\x7f")), R"("\u001b\u0001\u007f")");
  EXPECT_EQ(Shown(Str("größe\\")), R"("größe\\")");
  EXPECT_EQ(Shown(Str("\xed\xa0\x80")), R"("\\xed\\xa0\\x80")");  // a surrogate
}

TEST(JsonSink, EveryPairOfBytesParses) {
  for (int first = 0; first < 256; ++first) {
    std::string text;
    for (int second = 0; second < 256; ++second) {
      text += static_cast<char>(first);
      text += static_cast<char>(second);
    }
    ASSERT_FALSE(nlohmann::json::parse(Shown(Str(text)), nullptr, false).is_discarded()) << first;
  }
}

}  // namespace
}  // namespace memtrace::output
