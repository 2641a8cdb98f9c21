#include "compiler/kernel/btf.h"

#include <random>

#include <gtest/gtest.h>
#include <unistd.h>

#include "compiler/base/file.h"

namespace memtrace::kernel {
namespace {

const std::string kFixture = MT_SOURCE_DIR "/tests/fixture/sys/kernel/btf/vmlinux";
constexpr const char* kLive = "/sys/kernel/btf/vmlinux";

class BtfTest : public testing::Test {
 protected:
  BtfTest() : btf_(Btf::Open(kFixture, types_)) {}
  void SetUp() override { ASSERT_TRUE(btf_.ok()) << btf_.error().message(); }
  Btf& btf() { return btf_.value(); }
  types::Type Struct(std::string_view name) {
    types::Type type = btf().TypeNamed(name);
    if (type) btf().Complete(type);
    return type;
  }
  types::Member Member(std::string_view structure, std::string_view name) {
    types::FoundMember found = types::FindMember(Struct(structure), name);
    EXPECT_TRUE(found.found) << structure << "." << name;
    return found.member;
  }
  std::string MemberType(std::string_view structure, std::string_view name) {
    types::Member member = Member(structure, name);
    return member.type ? member.type.Name() : "(none)";
  }

  types::TypeTable types_;
  Result<Btf> btf_;
};

TEST_F(BtfTest, StructIsIncompleteUntilAsked) {
  types::Type task = btf().TypeNamed("struct task_struct");
  ASSERT_TRUE(task);
  EXPECT_FALSE(task->complete);
  EXPECT_GT(task->size, 0u);
  btf().Complete(task);
  EXPECT_TRUE(task->complete);
  EXPECT_FALSE(task->members.empty());
  EXPECT_EQ(btf().TypeNamed("task_struct"), task);
}

TEST_F(BtfTest, MembersHaveTheirTypes) {
  EXPECT_EQ(MemberType("task_struct", "comm"), "string[16]");
  EXPECT_EQ(MemberType("task_struct", "pid"), "int32");
  EXPECT_EQ(MemberType("task_struct", "start_time"), "uint64");
  EXPECT_EQ(MemberType("task_struct", "mm"), "struct mm_struct *");
  EXPECT_EQ(MemberType("task_struct", "cred"), "struct cred *");
  // The kernel's BTF is made by pahole, which makes one dimension of several.
  EXPECT_EQ(MemberType("task_struct", "numa_faults"), "uint64[8]");
  EXPECT_EQ(MemberType("task_struct", "notify"), "function *");
  EXPECT_EQ(MemberType("signal_struct", "oom_mm_set"), "bool");
  EXPECT_EQ(MemberType("zone", "lowmem_reserve"), "int64[5]");
  EXPECT_EQ(MemberType("zone", "free_area"), "struct free_area[11]");
}

TEST_F(BtfTest, AnonymousMembersAreCompletedToo) {
  EXPECT_EQ(MemberType("mm_struct", "total_vm"), "uint64");
  EXPECT_EQ(Member("mm_struct", "mm_count").offset, 0u);
  EXPECT_EQ(Member("vm_area_struct", "vm_end").offset, 8u);
  EXPECT_EQ(Member("qstr", "len").offset, 4u);
}

TEST_F(BtfTest, FlexibleArrayHasNoCount) {
  types::Member member = Member("mm_struct", "cpu_bitmap");
  EXPECT_EQ(member.type.Name(), "uint64[]");
  EXPECT_EQ(member.type->size, 0u);
}

TEST_F(BtfTest, BitfieldsLieInOneUnitOfTheirType) {
  types::Member first = Member("task_struct", "in_execve");
  EXPECT_EQ(first.bit_size, 1);
  types::Member policy = Member("task_struct", "sched_policy");
  EXPECT_EQ(policy.bit_size, 5);
  EXPECT_EQ(policy.offset, first.offset);
  EXPECT_EQ(policy.bit_offset, 2);
  EXPECT_EQ(policy.offset % 4, 0u);
  EXPECT_EQ(Member("task_struct", "reclaim_depth").offset, first.offset + 4);
  EXPECT_EQ(Member("task_struct", "pid").bit_size, 0);
}

TEST_F(BtfTest, PackedBitfieldLiesWithinItsStruct) {
  types::Type packed = Struct("packed_example");
  EXPECT_EQ(packed->size, 10u);
  types::Member b = Member("packed_example", "b");
  EXPECT_EQ(b.bit_size, 30);
  EXPECT_LE(b.offset * 8 + b.bit_offset + b.bit_size, packed->size * 8);
}

TEST_F(BtfTest, ForwardDeclarationWithoutDefinitionStaysIncomplete) {
  types::Type pointer = Member("task_struct", "audit_context").type;
  ASSERT_TRUE(pointer.IsPointer());
  btf().Complete(pointer->target);
  EXPECT_EQ(pointer->target.Name(), "struct audit_context");
  EXPECT_FALSE(pointer->target->complete);
}

TEST_F(BtfTest, PointersToTheSameStructAreEqual) {
  EXPECT_EQ(Member("task_struct", "real_parent").type, Member("task_struct", "parent").type);
  EXPECT_EQ(Member("task_struct", "mm").type->target, Struct("mm_struct"));
}

TEST_F(BtfTest, TypesByTheirSpelling) {
  EXPECT_EQ(btf().TypeNamed("unsigned long").Name(), "uint64");
  EXPECT_EQ(btf().TypeNamed("long unsigned int").Name(), "uint64");
  EXPECT_EQ(btf().TypeNamed("gfp_t").Name(), "uint32");
  EXPECT_EQ(btf().TypeNamed("enum zone_type").Name(), "enum zone_type");
  EXPECT_EQ(btf().TypeNamed("zone_type").Name(), "enum zone_type");
  EXPECT_EQ(btf().TypeNamed("const struct file *").Name(), "struct file *");
  EXPECT_EQ(btf().TypeNamed("char __user *").Name(), "int8 __user *");
  EXPECT_FALSE(btf().TypeNamed("struct nothing"));
  EXPECT_FALSE(btf().TypeNamed("nothing_t"));
  EXPECT_FALSE(btf().TypeNamed(""));
}

TEST_F(BtfTest, Enumerators) {
  const Btf::FoundEnumerator* kswapd = btf().FindEnumerator("PGSCAN_KSWAPD");
  ASSERT_NE(kswapd, nullptr);
  EXPECT_EQ(kswapd->type.Name(), "enum vm_event_item");
  EXPECT_EQ(kswapd->value, 16);
  EXPECT_EQ(btf().FindEnumerator("PGSCAN_KSWAPD"), kswapd);
  EXPECT_EQ(btf().FindEnumerator("VALUE_MINUS_ONE")->value, -1);
  EXPECT_EQ(btf().FindEnumerator("VALUE_BIT_40")->value, int64_t{1} << 40);
  EXPECT_EQ(btf().FindEnumerator("NOTHING"), nullptr);
}

TEST_F(BtfTest, Prototypes) {
  auto fault = btf().Prototype("handle_mm_fault");
  ASSERT_TRUE(fault.ok()) << fault.error().message();
  ASSERT_EQ(fault.value().parameters.size(), 4u);
  EXPECT_EQ(fault.value().parameters[0].name, "vma");
  EXPECT_EQ(fault.value().parameters[0].type.Name(), "struct vm_area_struct *");
  EXPECT_EQ(fault.value().result.Name(), "uint32");
  EXPECT_EQ(btf().Prototype("do_mmap").value().parameters.size(), 8u);
  EXPECT_TRUE(btf().Prototype("oom_kill_process").value().result.Is(types::Kind::kVoid));
  EXPECT_TRUE(btf().Prototype("_printk").value().is_variadic);
  EXPECT_EQ(btf().Prototype("nothing").error().kind(), ErrorKind::kNotFound);
}

TEST_F(BtfTest, RawTracepointsHaveNamesAndNoData) {
  auto alloc = btf().RawTracepoint("mm_page_alloc");
  ASSERT_TRUE(alloc.ok()) << alloc.error().message();
  ASSERT_EQ(alloc.value().parameters.size(), 4u);
  EXPECT_EQ(alloc.value().parameters[0].name, "page");
  EXPECT_EQ(alloc.value().parameters[0].type.Name(), "struct page *");
  EXPECT_EQ(alloc.value().parameters[3].name, "migratetype");
  EXPECT_EQ(btf().RawTracepoint("nothing").error().kind(), ErrorKind::kNotFound);
  std::vector<std::string> names = btf().RawTracepoints();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_TRUE(std::count(names.begin(), names.end(), "sched_switch"));
}

TEST_F(BtfTest, ListsAreSorted) {
  std::vector<std::string> names = btf().Functions();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_TRUE(std::count(names.begin(), names.end(), "do_mmap"));
  std::vector<std::string_view> structs = btf().NamesOf(BtfKind::kStruct);
  EXPECT_TRUE(std::count(structs.begin(), structs.end(), "task_struct"));
}

// Builds BTF by hand, for what compilers of today no longer emit.
class Builder {
 public:
  uint32_t Add(std::string_view name, BtfKind kind, uint32_t length, uint32_t size_or_type,
               const std::vector<uint32_t>& rest = {}, bool flag = false) {
    Put(String(name));
    Put((flag ? 1u << 31 : 0) | static_cast<uint32_t>(kind) << 24 | length);
    Put(size_or_type);
    for (uint32_t word : rest) Put(word);
    return next_id_++;
  }
  uint32_t String(std::string_view text) {
    if (text.empty()) return 0;
    uint32_t offset = static_cast<uint32_t>(strings_.size()) + string_base_;
    strings_.append(text).push_back('\0');
    return offset;
  }
  std::string Bytes() const {
    std::string bytes("\x9f\xeb\x01\x00", 4);
    auto put = [&bytes](uint32_t word) { bytes.append(reinterpret_cast<char*>(&word), 4); };
    put(24);
    put(0);
    put(static_cast<uint32_t>(types_.size()));
    put(static_cast<uint32_t>(types_.size()));
    put(static_cast<uint32_t>(strings_.size()));
    return bytes + types_ + strings_;
  }
  // A module's BTF goes on where its base ends.
  void ContinueAfter(uint32_t first_id, uint32_t string_base) {
    next_id_ = first_id;
    string_base_ = string_base;
  }
  uint32_t strings_size() const { return static_cast<uint32_t>(strings_.size()); }

 private:
  void Put(uint32_t word) { types_.append(reinterpret_cast<char*>(&word), 4); }
  std::string types_, strings_ = std::string(1, '\0');
  uint32_t next_id_ = 1, string_base_ = 0;
};

TEST(BtfBuiltTest, OldBitfieldsAreIntegersWithFewerBits) {
  Builder builder;
  // u32 with 3 of its bits, from bit 2 on.
  uint32_t bits = builder.Add("", BtfKind::kInt, 0, 4, {2u << 16 | 3});
  builder.Add("old", BtfKind::kStruct, 1, 8, {builder.String("field"), bits, 32});
  types::TypeTable types;
  auto btf = Btf::Parse(builder.Bytes(), types);
  ASSERT_TRUE(btf.ok()) << btf.error().message();
  types::Type old = btf.value().TypeNamed("struct old");
  btf.value().Complete(old);
  types::Member member = types::FindMember(old, "field").member;
  EXPECT_EQ(member.offset, 4u);
  EXPECT_EQ(member.bit_offset, 2);
  EXPECT_EQ(member.bit_size, 3);
}

TEST(BtfBuiltTest, UserTagMakesAUserPointer) {
  Builder builder;
  uint32_t character = builder.Add("char", BtfKind::kInt, 0, 1, {1u << 24 | 8});
  uint32_t constant = builder.Add("", BtfKind::kConst, 0, character);
  uint32_t tag = builder.Add("user", BtfKind::kTypeTag, 0, constant);
  uint32_t pointer = builder.Add("", BtfKind::kPtr, 0, tag);
  uint32_t name = builder.Add("name_t", BtfKind::kTypedef, 0, pointer);
  types::TypeTable types;
  auto btf = Btf::Parse(builder.Bytes(), types);
  ASSERT_TRUE(btf.ok());
  EXPECT_EQ(btf.value().TypeOf(name).Name(), "int8 __user *");
}

TEST(BtfBuiltTest, ArraysOfArrays) {
  Builder builder;
  uint32_t character = builder.Add("char", BtfKind::kInt, 0, 1, {1u << 24 | 8});
  uint32_t name = builder.Add("", BtfKind::kArray, 0, 0, {character, character, 8});
  uint32_t names = builder.Add("", BtfKind::kArray, 0, 0, {name, character, 3});
  uint32_t huge = builder.Add("", BtfKind::kArray, 0, 0, {names, character, UINT32_MAX});
  types::TypeTable types;
  auto btf = Btf::Parse(builder.Bytes(), types);
  ASSERT_TRUE(btf.ok());
  EXPECT_EQ(btf.value().TypeOf(names).Name(), "string[8][3]");
  EXPECT_TRUE(btf.value().TypeOf(huge).IsError());
}

TEST(BtfBuiltTest, ForwardDeclarationFindsTheDefinition) {
  Builder builder;
  uint32_t forward = builder.Add("later", BtfKind::kFwd, 0, 0);
  uint32_t pointer = builder.Add("", BtfKind::kPtr, 0, forward);
  builder.Add("later", BtfKind::kStruct, 0, 24);
  types::TypeTable types;
  auto btf = Btf::Parse(builder.Bytes(), types);
  ASSERT_TRUE(btf.ok());
  EXPECT_EQ(btf.value().TypeOf(pointer)->target->size, 24u);
}

TEST(BtfBuiltTest, EndlessChainsEnd) {
  Builder builder;
  builder.Add("", BtfKind::kPtr, 0, 1);                 // points to itself
  builder.Add("loop_t", BtfKind::kTypedef, 0, 2);       // names itself
  builder.Add("", BtfKind::kArray, 0, 0, {3, 3, 2});    // holds itself
  builder.Add("s", BtfKind::kStruct, 1, 8, {0, 4, 0});  // holds itself without a name
  builder.Add("f", BtfKind::kFunc, 0, 5);               // is its own prototype
  types::TypeTable types;
  auto btf = Btf::Parse(builder.Bytes(), types);
  ASSERT_TRUE(btf.ok());
  EXPECT_TRUE(btf.value().TypeOf(1).IsPointer());
  EXPECT_TRUE(btf.value().TypeOf(2).IsError());
  btf.value().TypeOf(3);
  types::Type s = btf.value().TypeOf(4);
  btf.value().Complete(s);
  EXPECT_FALSE(types::FindMember(s, "x").found);
  EXPECT_FALSE(btf.value().Prototype("f").ok());
  EXPECT_TRUE(btf.value().TypeOf(999).IsError());
}

TEST(BtfBuiltTest, ModuleSharesTheTypesOfItsBase) {
  Builder base;
  uint32_t number = base.Add("int", BtfKind::kInt, 0, 4, {1u << 24 | 32});
  uint32_t shared = base.Add("shared", BtfKind::kStruct, 1, 4, {base.String("x"), number, 0});
  types::TypeTable types;
  auto vmlinux = Btf::Parse(base.Bytes(), types);
  ASSERT_TRUE(vmlinux.ok());
  Builder module;
  module.ContinueAfter(vmlinux.value().type_count(), base.strings_size());
  uint32_t pointer = module.Add("", BtfKind::kPtr, 0, shared);
  module.Add("own", BtfKind::kStruct, 1, 8, {module.String("p"), pointer, 0});
  auto btf = Btf::Parse(module.Bytes(), types, &vmlinux.value());
  ASSERT_TRUE(btf.ok()) << btf.error().message();
  types::Type own = btf.value().TypeNamed("struct own");
  ASSERT_TRUE(own);
  btf.value().Complete(own);
  types::Type target = types::FindMember(own, "p").member.type->target;
  EXPECT_EQ(target, vmlinux.value().TypeOf(shared));
  btf.value().Complete(target);
  EXPECT_TRUE(types::FindMember(target, "x").found);
  EXPECT_EQ(btf.value().FindId("shared", BtfKind::kStruct), shared);
}

// Uses everything that reads the bytes.
void Exercise(Btf& btf) {
  for (uint32_t id = 0; id < std::min(btf.type_count(), 2000u) + 2; ++id) {
    types::Type type = btf.TypeOf(id);
    btf.Complete(type);
    if (type.IsStruct()) types::FindMember(type, "absent");
    type.Name();
  }
  for (const std::string& name : btf.RawTracepoints()) (void)btf.RawTracepoint(name);
  for (const std::string& name : btf.Functions()) (void)btf.Prototype(name);
  btf.FindEnumerator("PGSCAN_KSWAPD");
  btf.TypeNamed("struct task_struct");
  btf.TypeNamed("nothing");
}

TEST(BtfMutationTest, DamagedDataGivesNoCrash) {
  auto original = ReadFile(kFixture);
  ASSERT_TRUE(original.ok());
  std::mt19937 random(20240229);
  int opened = 0;
  for (int round = 0; round < 400; ++round) {
    std::string data = original.value();
    int changes = 1 + random() % 8;
    for (int i = 0; i < changes; ++i) {
      size_t at = random() % data.size();
      switch (random() % 4) {
        case 0:
          data[at] ^= 1 << random() % 8;
          break;
        case 1:
          data[at] = static_cast<char>(random());
          break;
        case 2:
          data[at] = '\xff';
          break;
        case 3:
          data[at & ~size_t{3}] = static_cast<char>(random() % 40);
          break;
      }
    }
    if (round % 5 == 0) data.resize(random() % data.size());
    types::TypeTable types;
    auto btf = Btf::Parse(std::move(data), types);
    if (!btf.ok()) continue;
    ++opened;
    Exercise(btf.value());
  }
  EXPECT_GT(opened, 50) << "most damage should get past the opening, or nothing is tested";
}

TEST(BtfMutationTest, CutOffDataIsRefused) {
  auto original = ReadFile(kFixture);
  ASSERT_TRUE(original.ok());
  types::TypeTable types;
  for (size_t size = 0; size < 64; ++size) {
    EXPECT_FALSE(Btf::Parse(original.value().substr(0, size), types).ok()) << size;
  }
  EXPECT_FALSE(Btf::Parse(std::string(100, 'x'), types).ok());
}

class LiveBtfTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::access(kLive, R_OK) != 0) GTEST_SKIP() << kLive << " is not readable";
    auto btf = Btf::Open(kLive, types_);
    ASSERT_TRUE(btf.ok()) << btf.error().message();
    btf_ = std::make_unique<Btf>(std::move(btf).value());
  }
  types::TypeTable types_;
  std::unique_ptr<Btf> btf_;
};

TEST_F(LiveBtfTest, EveryMemberLiesWithinItsStruct) {
  size_t structs = 0;
  for (uint32_t id = 1; id < btf_->type_count(); ++id) {
    types::Type type = btf_->TypeOf(id);
    if (!type.IsStruct()) continue;
    ++structs;
    btf_->Complete(type);
    for (const types::Member& member : type->members) {
      uint64_t end = member.bit_size
                         ? (member.offset * 8ull + member.bit_offset + member.bit_size + 7) / 8
                         : uint64_t{member.offset} + member.type->size;
      ASSERT_LE(end, type->size) << type.Name() << "." << member.name;
      ASSERT_FALSE(member.type.IsError()) << type.Name() << "." << member.name;
    }
  }
  EXPECT_GT(structs, 1000u);
}

TEST_F(LiveBtfTest, TaskStruct) {
  types::Type task = btf_->TypeNamed("struct task_struct");
  ASSERT_TRUE(task);
  btf_->Complete(task);
  EXPECT_EQ(types::FindMember(task, "comm").member.type.Name(), "string[16]");
  EXPECT_EQ(types::FindMember(task, "pid").member.type.Name(), "int32");
  EXPECT_EQ(types::FindMember(task, "mm").member.type.Name(), "struct mm_struct *");
  types::Type mm = btf_->TypeNamed("mm_struct");
  btf_->Complete(mm);
  EXPECT_EQ(types::FindMember(mm, "total_vm").member.type.Name(), "uint64");
}

TEST_F(LiveBtfTest, ForwardDeclaredStructsResolve) {
  size_t defined = 0;
  for (std::string_view name : btf_->NamesOf(BtfKind::kFwd)) {
    uint32_t definition = btf_->FindId(name, BtfKind::kStruct);
    if (definition == 0 || ++defined > 20) continue;
    uint32_t forward = btf_->FindId(name, BtfKind::kFwd);
    types::Type type = btf_->TypeOf(forward);
    if (!type.Is(types::Kind::kStruct)) continue;  // a union's
    EXPECT_EQ(type, btf_->TypeOf(definition)) << name;
  }
}

TEST_F(LiveBtfTest, RawTracepointsHaveNamedArguments) {
  auto fault = btf_->RawTracepoint("sched_switch");
  ASSERT_TRUE(fault.ok()) << fault.error().message();
  EXPECT_EQ(fault.value().parameters[1].name, "prev");
  EXPECT_EQ(fault.value().parameters[1].type.Name(), "struct task_struct *");
}

}  // namespace
}  // namespace memtrace::kernel
