// Bytes to values: every kind of type, and maps from raw entries to rows in order.
#include "runtime/events/decode.h"

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bpf-headers/memtrace/record.h"
#include "compiler/plan/histogram.h"
#include "runtime/events/bytes.h"
#include "runtime/events/sort.h"
#include "tests/unit/plan_fixture.h"

namespace memtrace::events {
namespace {

using plan::TypeKind;
using test::AddType;
using test::FieldAt;
using test::Pack;
using test::PackText;

class DecodeTest : public testing::Test {
 protected:
  Value Read(plan::Index type, const std::string& bytes) {
    return Decode(plan, type, AsBytes(bytes), resolver);
  }
  template <typename T>
  T ReadAs(plan::Index type, const std::string& bytes) {
    return std::get<T>(Read(type, bytes).data);
  }
  plan::Plan plan;
  test::FakeResolver resolver;
};

TEST_F(DecodeTest, IntegersAreWidenedBySign) {
  Integer small = ReadAs<Integer>(AddType(plan, TypeKind::kInt, 4, true), Pack(int32_t{-2}));
  EXPECT_EQ(small.bits, static_cast<uint64_t>(-2));
  EXPECT_TRUE(small.is_signed);
  EXPECT_EQ(small.size, 4);
  Integer byte = ReadAs<Integer>(AddType(plan, TypeKind::kInt, 1), Pack(uint8_t{0xfe}, 0xffffffff));
  EXPECT_EQ(byte.bits, 0xfeu);
  Integer time = ReadAs<Integer>(AddType(plan, TypeKind::kInt, 8, false, plan::Unit::kNanoseconds),
                                 Pack(UINT64_MAX));
  EXPECT_EQ(time.bits, UINT64_MAX);
  EXPECT_EQ(time.unit, plan::Unit::kNanoseconds);
}

TEST_F(DecodeTest, BoolPointerString) {
  EXPECT_TRUE(ReadAs<bool>(AddType(plan, TypeKind::kBool, 1), Pack(uint8_t{1})));
  EXPECT_EQ(
      ReadAs<Pointer>(AddType(plan, TypeKind::kPointer, 8), Pack(0xffff888000000000ull)).address,
      0xffff888000000000ull);
  plan::Index text = AddType(plan, TypeKind::kString, 8);
  EXPECT_EQ(ReadAs<std::string>(text, PackText("bash", 8)), "bash");
  EXPECT_EQ(ReadAs<std::string>(text, "12345678beyond"), "12345678");  // no NUL in its place
}

TEST_F(DecodeTest, BufferKeepsNulsAndIsBounded) {
  plan::Index buffer = AddType(plan, TypeKind::kBuffer, 8);
  EXPECT_EQ(ReadAs<std::string>(buffer, Pack(2u, uint8_t{0}, uint8_t{7}, uint16_t{0})),
            std::string("\0\7", 2));
  EXPECT_EQ(ReadAs<std::string>(buffer, Pack(1000u, 0x41414141u)), "AAAA");
}

TEST_F(DecodeTest, EnumeratorsHaveNames) {
  plan::Type type;
  type.kind = TypeKind::kEnum;
  type.size = 4;
  type.is_signed = true;
  type.names = {{-1, "NONE"}, {2, "TWO"}};
  plan::Index index = AddType(plan, type);
  EXPECT_EQ(ReadAs<Integer>(index, Pack(-1)).name, "NONE");
  EXPECT_EQ(ReadAs<Integer>(index, Pack(2)).name, "TWO");
  EXPECT_EQ(ReadAs<Integer>(index, Pack(3)).name, "");
}

TEST_F(DecodeTest, StructsWithBitfields) {
  plan::Index int32 = AddType(plan, TypeKind::kInt, 4, true);
  plan::Index uint32 = AddType(plan, TypeKind::kInt, 4);
  plan::Type type;
  type.kind = TypeKind::kStruct;
  type.size = 8;
  type.fields = {FieldAt(int32, 0, "plain"), FieldAt(uint32, 4, "low"), FieldAt(int32, 4, "high")};
  type.fields[1].bit_size = 3;
  type.fields[2].bit_offset = 3;
  type.fields[2].bit_size = 5;
  // 0xed is 11101 101 in binary: low = 5, high = 0b11101, which is -3 in five bits.
  auto value = ReadAs<Aggregate>(AddType(plan, type), Pack(-7, 0xedu));
  ASSERT_EQ(value.members.size(), 3u);
  EXPECT_EQ(value.shape, Aggregate::Shape::kStruct);
  auto number = [&](int i) {
    return static_cast<int64_t>(std::get<Integer>(value.members[i].value[0].data).bits);
  };
  EXPECT_EQ(number(0), -7);
  EXPECT_EQ(number(1), 5);
  EXPECT_EQ(number(2), -3);
  EXPECT_EQ(value.members[2].name, "high");
}

TEST_F(DecodeTest, ABitfieldMayReachIntoTheNinthByte) {
  plan::Type type;
  type.kind = TypeKind::kStruct;
  type.size = 16;
  type.fields = {FieldAt(AddType(plan, TypeKind::kInt, 8), 0, "wide")};
  type.fields[0].bit_offset = 4;
  type.fields[0].bit_size = 64;
  auto value = ReadAs<Aggregate>(AddType(plan, type), Pack(0xfedcba9876543210ull, 0x0full));
  EXPECT_EQ(std::get<Integer>(value.members[0].value[0].data).bits, 0xffedcba987654321ull);
}

TEST_F(DecodeTest, ArraysOfTuples) {
  plan::Type pair;
  pair.kind = TypeKind::kTuple;
  pair.size = 16;
  pair.fields = {FieldAt(AddType(plan, TypeKind::kInt, 8), 0),
                 FieldAt(AddType(plan, TypeKind::kString, 8), 8)};
  plan::Type array;
  array.kind = TypeKind::kArray;
  array.element = AddType(plan, pair);
  array.count = 2;
  array.size = 32;
  auto value = ReadAs<Aggregate>(AddType(plan, array),
                                 Pack(1ull) + PackText("a", 8) + Pack(2ull) + PackText("b", 8));
  ASSERT_EQ(value.members.size(), 2u);
  auto& second = std::get<Aggregate>(value.members[1].value[0].data);
  EXPECT_EQ(std::get<std::string>(second.members[1].value[0].data), "b");
}

TEST_F(DecodeTest, Stacks) {
  plan::Type type;
  type.kind = TypeKind::kUserStack;
  type.size = sizeof(mt_stack_ref);
  type.depth = 2;
  plan::Index index = AddType(plan, type);
  resolver.stacks[77] = {1, 2, 3};
  resolver.stacks[78] = {1, 2};
  auto cut = ReadAs<Stack>(index, Pack(77ull, 4711u, MT_STACK_TRUNCATED));
  EXPECT_EQ(cut.frames, (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(cut.process, 4711u);
  EXPECT_TRUE(cut.is_user);
  EXPECT_FALSE(cut.truncated);  // two were asked for
  EXPECT_TRUE(ReadAs<Stack>(index, Pack(78ull, 1u, MT_STACK_TRUNCATED)).truncated);
  EXPECT_TRUE(ReadAs<Stack>(index, Pack(0ull, 1u, MT_STACK_FAILED)).failed);
  EXPECT_TRUE(ReadAs<Stack>(index, Pack(79ull, 1u, 0u)).failed);  // not in the table
  EXPECT_FALSE(ReadAs<Stack>(index, Pack(0ull, 1u, 0u)).failed);  // a stack without frames
}

TEST_F(DecodeTest, SymbolsAndNames) {
  auto user = ReadAs<Symbol>(AddType(plan, TypeKind::kUserSymbol, 16), Pack(0x1234ull, 9u, 0u));
  EXPECT_EQ(user.address, 0x1234u);
  EXPECT_EQ(user.process, 9u);
  EXPECT_EQ(ReadAs<std::string>(AddType(plan, TypeKind::kUserName, 4), Pack(5u)), "user5");
  EXPECT_EQ(ReadAs<std::string>(AddType(plan, TypeKind::kGroupName, 4), Pack(6u)), "group6");
  EXPECT_EQ(ReadAs<std::string>(AddType(plan, TypeKind::kCgroupPath, 8), Pack(7ull)), "/cg7");
  EXPECT_EQ(ReadAs<std::string>(AddType(plan, TypeKind::kMemcgPath, 8), Pack(7ull)), "/memcg7");
  plan.probe_names = {"begin", "end"};
  plan::Index probe = AddType(plan, TypeKind::kProbeName, 8);
  EXPECT_EQ(ReadAs<std::string>(probe, Pack(1ull)), "end");
  EXPECT_EQ(ReadAs<std::string>(probe, Pack(99ull)), "");
}

TEST_F(DecodeTest, TimestampsAreWallClockThroughStrftime) {
  setenv("TZ", "UTC", 1);
  tzset();
  plan::Type type;
  type.kind = TypeKind::kTimestamp;
  type.size = 8;
  type.name = "%H:%M:%S.%f %%f";
  // 1,700,000,000 is 2023-11-14 22:13:20.
  EXPECT_EQ(ReadAs<std::string>(AddType(plan, type), Pack(1'000'042'999ull)), "22:13:21.000042 %f");
}

class DecodeMapTest : public DecodeTest {
 protected:
  DecodeMapTest() {
    int64 = AddType(plan, TypeKind::kInt, 8, true);
    comm = AddType(plan, TypeKind::kString, 16);
    map.name = "@m";
    map.value_type = int64;
    map.key = {FieldAt(comm, 0), FieldAt(int64, 16)};
    map.key_size = 24;
    map.value_size = 8;
  }
  void Add(const std::string& comm, int64_t number, const std::string& value) {
    entries.push_back({PackText(comm, 16) + Pack(number), value});
  }
  MapTable Table(uint32_t stride = 8, int64_t top = 0, int64_t div = 0) {
    return DecodeMap(plan, map, entries, stride, top, div, resolver);
  }
  // "comm number value" of every row.
  std::string Rows(const MapTable& table) {
    std::string text;
    for (const MapRow& row : table.rows) {
      text += std::get<std::string>(row.key[0].data) + " ";
      text += std::to_string(static_cast<int64_t>(std::get<Integer>(row.key[1].data).bits)) + " ";
      text += std::to_string(static_cast<int64_t>(std::get<Integer>(row.value.data).bits)) + "\n";
    }
    return text;
  }
  plan::Index int64, comm;
  plan::Map map;
  std::vector<RawEntry> entries;
};

TEST_F(DecodeMapTest, ScalarsByValueThenByKey) {
  Add("b", 1, Pack(int64_t{5}));
  Add("a", 2, Pack(int64_t{5}));
  Add("a", -1, Pack(int64_t{5}));
  Add("z", 0, Pack(int64_t{-5}));
  MapTable table = Table();
  EXPECT_EQ(table.name, "@m");
  EXPECT_TRUE(table.has_keys);
  EXPECT_EQ(Rows(table), "z 0 -5\na -1 5\na 2 5\nb 1 5\n");
}

TEST_F(DecodeMapTest, TopKeepsTheLargest) {
  for (int64_t i = 0; i < 100; ++i) Add("c", i, Pack((i * 37) % 100));
  // 37 × 73 is 1 modulo 100, so 97, 98 and 99 belong to 97, 98 and 99 times 73.
  EXPECT_EQ(Rows(Table(8, 3)), "c 81 97\nc 54 98\nc 27 99\n");
}

TEST_F(DecodeMapTest, DivisionOfSignedNumbers) {
  Add("a", 1, Pack(int64_t{-2500}));
  Add("b", 1, Pack(int64_t{2500}));
  EXPECT_EQ(Rows(Table(8, 0, 1000)), "a 1 -2\nb 1 2\n");
}

TEST_F(DecodeMapTest, PerCpuCounts) {
  map.storage = plan::Storage::kPerCpuHash;
  map.value = plan::ValueKind::kCount;
  Add("a", 1, Pack(4ull, 4ull));
  Add("b", 1, Pack(0ull, 7ull));
  EXPECT_EQ(Rows(Table()), "b 1 7\na 1 8\n");
}

TEST_F(DecodeMapTest, AveragesByAverageStatsByCount) {
  map.value = plan::ValueKind::kAvg;
  Add("many", 1, Pack(10ull, 100ull, 0ull, 0ull));
  Add("few", 1, Pack(1ull, 50ull, 0ull, 0ull));
  EXPECT_EQ(Rows(Table(32)), "many 1 10\nfew 1 50\n");

  map.value = plan::ValueKind::kStats;
  MapTable table = Table(32);
  auto stats = std::get<Stats>(table.rows[1].value.data);
  EXPECT_EQ(stats.count, 10u);
  EXPECT_EQ(stats.total, 100u);
  EXPECT_EQ(stats.average, 10u);
}

TEST_F(DecodeMapTest, HistogramsLoseTheirEmptyEnds) {
  map.key.clear();
  map.storage = plan::Storage::kStatePerCpu;
  map.value = plan::ValueKind::kHist;
  map.bucket_count = plan::BucketCount(0);
  plan.types[int64].unit = plan::Unit::kNanoseconds;
  std::vector<uint64_t> slot(1 + map.bucket_count);
  slot[0] = 1;
  slot[1 + 2] = 3;  // [1us, 2us)
  slot[1 + 4] = 9;  // [4us, 8us)
  std::string bytes(reinterpret_cast<const char*>(slot.data()), slot.size() * 8);
  entries.push_back({"", bytes + bytes});
  MapTable table = Table(static_cast<uint32_t>(bytes.size()));
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_FALSE(table.has_keys);
  auto histogram = std::get<Histogram>(table.rows[0].value.data);
  ASSERT_EQ(histogram.buckets.size(), 3u);
  EXPECT_EQ(histogram.unit, plan::Unit::kNanoseconds);
  EXPECT_EQ(histogram.buckets[0].low, 1000);
  EXPECT_EQ(histogram.buckets[0].high, 2000);
  EXPECT_EQ(histogram.buckets[0].count, 6u);
  EXPECT_EQ(histogram.buckets[1].count, 0u);
  EXPECT_EQ(histogram.buckets[2].count, 18u);
}

TEST_F(DecodeMapTest, AKeylessMapThatWasNotWrittenHasNoRow) {
  map.key.clear();
  map.storage = plan::Storage::kState;
  entries.push_back({"", Pack(0ull, 0ull)});
  EXPECT_TRUE(Table(16).rows.empty());
  entries[0].value = Pack(1ull, int64_t{-3});
  ASSERT_EQ(Table(16).rows.size(), 1u);
}

TEST_F(DecodeMapTest, RowsOfOneValueAreInTheOrderOfTheirKeys) {
  std::mt19937_64 random(11);
  plan::Index int32 = AddType(plan, TypeKind::kInt, 4, true);
  // 4 + 16 + 8 + 8 bytes: more than sorting looks at first.
  map.key = {FieldAt(int32, 0), FieldAt(comm, 4), FieldAt(int64, 24), FieldAt(int64, 32)};
  const char* const names[] = {"a", "ab", "\xff", ""};
  for (int i = 0; i < 2000; ++i) {
    std::string key = Pack(static_cast<int32_t>(random() % 3) - 1);
    key += PackText(names[random() % 4], 20);
    key += Pack(static_cast<int64_t>(random() % 5) - 2, static_cast<int64_t>(random()));
    entries.push_back({key, Pack(static_cast<int64_t>(random() % 3) - 1)});
  }
  std::vector<uint32_t> order = PrintOrder(plan, map, entries, 8, 0);
  ASSERT_EQ(order.size(), entries.size());
  for (size_t i = 1; i < order.size(); ++i) {
    const RawEntry& before = entries[order[i - 1]];
    const RawEntry& after = entries[order[i]];
    int by_value = Compare(plan, int64, AsBytes(before.value), AsBytes(after.value));
    ASSERT_LE(by_value, 0);
    if (by_value == 0) {
      ASSERT_LT(CompareFields(plan, map.key, AsBytes(before.key), AsBytes(after.key)), 0);
    }
  }
}

TEST_F(DecodeMapTest, TextScalarsSortAsText) {
  map.value_type = comm;
  Add("k", 1, PackText("pear", 16));
  Add("k", 2, PackText("apple", 16));
  MapTable table = Table(16);
  EXPECT_EQ(std::get<std::string>(table.rows[0].value.data), "apple");
}

}  // namespace
}  // namespace memtrace::events
