#include "compiler/kernel/raw_args.h"

#include <cstdio>

#include <gtest/gtest.h>

namespace memtrace::kernel {
namespace {

class RawArgsTest : public testing::Test {
 protected:
  Btf& btf() { return *kernel_.LoadBtf().value(); }
  types::TypeTable types_;
  Kernel kernel_{Roots::Fixture(MT_SOURCE_DIR "/tests/fixture"), types_};
};

TEST_F(RawArgsTest, RowsAreFoundByCategoryAndEvent) {
  ASSERT_NE(FindRawRow({"kmem", "mm_page_alloc"}), nullptr);
  EXPECT_EQ(FindRawRow({"sched", "mm_page_alloc"}), nullptr);
  EXPECT_EQ(FindRawRow({"vmscan", "mm_vmscan_throttled"}), nullptr) << "its reason is 1 << reason";
}

TEST_F(RawArgsTest, ArgumentsAreFoundByTheirNames) {
  auto row = ResolveRawRow(*FindRawRow({"exceptions", "page_fault_user"}), btf());
  ASSERT_TRUE(row.ok()) << row.error().message();
  const ResolvedRawField* code = row.value().Find("error_code");
  ASSERT_NE(code, nullptr);
  EXPECT_EQ(code->argument, 2u);
  EXPECT_EQ(code->source, RawSource::kArgument);
  const ResolvedRawField* ip = row.value().Find("ip");
  ASSERT_NE(ip, nullptr);
  EXPECT_EQ(ip->source, RawSource::kMember);
  EXPECT_EQ(ip->argument, 1u);
  EXPECT_EQ(ip->member.offset, 128u);
  EXPECT_EQ(ip->member.type.Name(), "uint64");
}

TEST_F(RawArgsTest, FieldsThatAreComputedAreNotDerived) {
  auto row = ResolveRawRow(*FindRawRow({"sched", "sched_switch"}), btf());
  ASSERT_TRUE(row.ok()) << row.error().message();
  EXPECT_EQ(row.value().Find("prev_state"), nullptr);
  EXPECT_EQ(row.value().Find("prev_comm")->member.type.Name(), "string[16]");
  EXPECT_EQ(ResolveRawRow(*FindRawRow({"kmem", "mm_page_alloc"}), btf()).value().Find("pfn"),
            nullptr);
}

TEST_F(RawArgsTest, ARowThatNamesWhatIsMissingIsNotUsed) {
  const RawField fields[] = {{"x", RawSource::kArgument, "no_such_argument", "", 0}};
  auto row = ResolveRawRow({"kmem", "kfree", "kfree", fields}, btf());
  ASSERT_FALSE(row.ok());
  EXPECT_EQ(row.error().kind(), ErrorKind::kUnsupported);
  const RawField members[] = {{"x", RawSource::kMember, "s", "no_such_member", 0}};
  EXPECT_FALSE(ResolveRawRow({"kmem", "x", "kmem_cache_free", members}, btf()).ok());
  const RawField of_number[] = {{"x", RawSource::kMember, "call_site", "x", 0}};
  EXPECT_FALSE(ResolveRawRow({"kmem", "x", "kfree", of_number}, btf()).ok());
  EXPECT_EQ(ResolveRawRow({"x", "x", "absent", {}}, btf()).error().kind(), ErrorKind::kNotFound);
}

TEST_F(RawArgsTest, MembersOfEmbeddedStructs) {
  const RawField fields[] = {{"cpu", RawSource::kMember, "p", "thread_info.cpu", 0}};
  auto row = ResolveRawRow({"sched", "sched_wakeup", "sched_wakeup", fields}, btf());
  ASSERT_TRUE(row.ok()) << row.error().message();
  EXPECT_EQ(row.value().fields[0].member.offset, 8u);
}

// The fields of a row exist in the record of the event that it stands for.
TEST_F(RawArgsTest, FieldsExistInTheRecord) {
  types::TypeTable types;
  Kernel live(Roots{}, types);
  for (Kernel* kernel : {&kernel_, &live}) {
    auto names = kernel->Tracepoints();
    if (!names.ok()) {
      std::printf("not compared with this kernel: %s\n", names.error().message().c_str());
      continue;
    }
    for (const RawRow& row : RawRows()) {
      auto format = kernel->Format({std::string(row.category), std::string(row.event)});
      if (!format.ok()) continue;
      for (const RawField& field : row.fields) {
        bool found = false;
        for (const types::Member& member : format.value()->members)
          found |= member.name == field.field;
        EXPECT_TRUE(found) << row.event << "." << field.field;
      }
    }
  }
}

TEST(LiveRawArgsTest, RowsResolve) {
  types::TypeTable types;
  Kernel kernel(Roots{}, types);
  auto btf = kernel.LoadBtf();
  if (!btf.ok()) GTEST_SKIP() << btf.error().message();
  int resolved = 0;
  for (const RawRow& row : RawRows()) {
    auto result = ResolveRawRow(row, *btf.value());
    if (result.ok()) {
      ++resolved;
    } else {
      std::printf("%s\n", result.error().message().c_str());
    }
  }
  EXPECT_GT(resolved, 10);
}

}  // namespace
}  // namespace memtrace::kernel
