#include "compiler/types/type.h"

#include <gtest/gtest.h>

namespace memtrace::types {
namespace {

TEST(TypeTest, EqualTypesAreOne) {
  TypeTable types;
  EXPECT_EQ(types.Int(8, true), types.Int64());
  EXPECT_NE(types.Int(8, true), types.Int(8, false));
  EXPECT_NE(types.Int(8, true), types.Int(8, true, Unit::kBytes));
  EXPECT_EQ(types.String(16), types.String(16));
  EXPECT_NE(types.Pointer(types.Void(), Space::kUser), types.Pointer(types.Void(), Space::kKernel));
  EXPECT_EQ(types.Tuple({types.Int64(), types.Bool()}), types.Tuple({types.Int64(), types.Bool()}));
  EXPECT_NE(types.Tuple({types.Int64(), types.Bool()}), types.Tuple({types.Bool(), types.Int64()}));
  EXPECT_NE(types.Record({{"a", types.Int64()}}), types.Record({{"b", types.Int64()}}));
  EXPECT_NE(types.Record({{"a", types.Int64()}}), types.Tuple({types.Int64()}));
  EXPECT_NE(types.Stack(Kind::kKernelStack, 3), types.Stack(Kind::kKernelStack, 4));
  EXPECT_NE(types.Timestamp("%H"), types.Timestamp("%M"));
  // Names that would run together in a careless key.
  EXPECT_NE(types.Record({{"ab", types.Bool()}, {"c", types.Bool()}}),
            types.Record({{"a", types.Bool()}, {"bc", types.Bool()}}));
}

TEST(TypeTest, StructsAreTheirOwn) {
  TypeTable types;
  EXPECT_NE(Type(types.NewNominal(Kind::kStruct, "s")), Type(types.NewNominal(Kind::kStruct, "s")));
}

TEST(TypeTest, AggregationsDifferByTheirParameters) {
  TypeTable types;
  auto make = [&](Aggregation aggregation, uint32_t bits, int64_t max) {
    TypeInfo info;
    info.kind = Kind::kAggregation;
    info.aggregation = aggregation;
    info.target = types.Int64();
    info.hist_bits = bits;
    info.lhist_max = max;
    info.lhist_step = 10;
    return types.MakeAggregation(std::move(info));
  };
  EXPECT_EQ(make(Aggregation::kHist, 2, 0), make(Aggregation::kHist, 2, 0));
  EXPECT_NE(make(Aggregation::kHist, 2, 0), make(Aggregation::kHist, 3, 0));
  EXPECT_NE(make(Aggregation::kSum, 0, 0), make(Aggregation::kMax, 0, 0));
  EXPECT_EQ(make(Aggregation::kCount, 0, 0).Name(), "count()");
  EXPECT_EQ(make(Aggregation::kSum, 0, 0).Name(), "sum(int64)");
  EXPECT_EQ(make(Aggregation::kHist, 2, 0).Name(), "hist(int64, 2)");
  EXPECT_EQ(make(Aggregation::kLinearHist, 0, 100).Name(), "lhist(int64, 0, 100, 10)");
}

TEST(TypeTest, Names) {
  TypeTable types;
  Type task(types.NewNominal(Kind::kStruct, "task_struct"));
  Type pointer = types.Pointer(task, Space::kKernel);
  EXPECT_EQ(types.Int(4, false).Name(), "uint32");
  EXPECT_EQ(types.Int(8, true, Unit::kNanoseconds).Name(), "int64 as ns");
  EXPECT_EQ(types.String(16).Name(), "string[16]");
  EXPECT_EQ(types.Buffer(68).Name(), "buffer[64]");
  EXPECT_EQ(pointer.Name(), "struct task_struct *");
  EXPECT_EQ(types.Pointer(pointer, Space::kKernel).Name(), "struct task_struct **");
  EXPECT_EQ(types.Pointer(types.Int(1, true), Space::kUser).Name(), "int8 __user *");
  EXPECT_EQ(types.Array(types.Array(types.Int(4, true), 4), 3).Name(), "int32[3][4]");
  EXPECT_EQ(types.Array(types.Bool(), 0).Name(), "bool[]");
  EXPECT_EQ(types.Tuple({types.Int64(), types.String(16)}).Name(), "(int64, string[16])");
  EXPECT_EQ(types.Tuple({types.Bool()}).Name(), "(bool,)");
  EXPECT_EQ(types.Record({{"a", types.Int64()}}).Name(), "(a = int64)");
  EXPECT_EQ(Type(types.NewNominal(Kind::kUnion, "")).Name(), "union (anonymous)");
}

TEST(TypeTest, TuplesAreLaidOutNaturally) {
  TypeTable types;
  Type tuple = types.Tuple({types.Bool(), types.Int64(), types.String(5), types.Int(2, false)});
  ASSERT_EQ(tuple->members.size(), 4u);
  EXPECT_EQ(tuple->members[0].offset, 0u);
  EXPECT_EQ(tuple->members[1].offset, 8u);
  EXPECT_EQ(tuple->members[2].offset, 16u);
  EXPECT_EQ(tuple->members[3].offset, 22u);
  EXPECT_EQ(tuple->size, 24u);
  EXPECT_EQ(tuple->alignment, 8u);
}

TEST(TypeTest, FindMemberLooksThroughAnonymousMembers) {
  TypeTable types;
  TypeInfo* inner = types.NewNominal(Kind::kUnion, "");
  inner->members = {{.name = "total_vm", .type = types.Uint64(), .offset = 24}};
  TypeInfo* outer = types.NewNominal(Kind::kStruct, "mm_struct");
  outer->members = {{.name = "first", .type = types.Bool(), .offset = 0},
                    {.name = "", .type = Type(inner), .offset = 16}};
  FoundMember found = FindMember(Type(outer), "total_vm");
  ASSERT_TRUE(found.found);
  EXPECT_EQ(found.member.offset, 40u);
  EXPECT_FALSE(FindMember(Type(outer), "absent").found);
  EXPECT_FALSE(FindMember(Type(outer), "").found);
  EXPECT_FALSE(FindMember(types.Int64(), "total_vm").found);
}

TEST(TypeTest, FindMemberEndsInAStructThatHoldsItself) {
  TypeTable types;
  TypeInfo* info = types.NewNominal(Kind::kStruct, "");
  info->members = {{.name = "", .type = Type(info)}, {.name = "", .type = Type(info)}};
  EXPECT_FALSE(FindMember(Type(info), "absent").found);
}

}  // namespace
}  // namespace memtrace::types
