#include "compiler/kernel/tracepoint_format.h"

#include <gtest/gtest.h>

namespace memtrace::kernel {
namespace {

class TracepointFormatTest : public testing::Test {
 protected:
  Result<TracepointFormat> Parse(std::string_view event, std::string_view fields) {
    std::string text = "name: " + std::string(event) +
                       "\nID: 42\nformat:\n"
                       "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                       "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";
    text += fields;
    text += "\nprint fmt: \"a=%d; b\", REC->a\n";
    return ParseTracepointFormat(text, types_, [this](std::string_view name) {
      asked_.emplace_back(name);
      if (name == "gfp_t" || name == "dev_t") return types_.Int(4, false);
      if (name == "pid_t") return types_.Int(4, true);
      if (name == "umode_t") return types_.Int(2, false);
      if (name == "struct mm_struct") return mm_;
      if (name == "enum zone_type") return zone_type_;
      return types::Type();
    });
  }
  // The one field of an event of which it is the only one.
  types::Member Field(std::string_view line, std::string_view event = "mm_page_alloc") {
    auto format = Parse(event, "\tfield:" + std::string(line) + "\n");
    EXPECT_TRUE(format.ok()) << format.error().message();
    if (!format.ok() || format.value().members.size() != 1) {
      ADD_FAILURE() << line;
      return {.name = "", .type = types_.Error()};
    }
    return format.value().members[0];
  }
  std::string TypeName(std::string_view line, std::string_view event = "mm_page_alloc") {
    return Field(line, event).type.Name();
  }

  types::TypeTable types_;
  types::Type mm_{types_.NewNominal(types::Kind::kStruct, "mm_struct")};
  types::Type zone_type_ = [this] {
    types::TypeInfo* info = types_.NewNominal(types::Kind::kEnum, "zone_type");
    info->size = 4;
    return types::Type(info);
  }();
  std::vector<std::string> asked_;
};

TEST_F(TracepointFormatTest, WholeFile) {
  auto format = Parse("mm_page_alloc",
                      "\tfield:unsigned long pfn;\toffset:8;\tsize:8;\tsigned:0;\n"
                      "\tfield:unsigned int order;\toffset:16;\tsize:4;\tsigned:0;\n");
  ASSERT_TRUE(format.ok()) << format.error().message();
  EXPECT_EQ(format.value().name, "mm_page_alloc");
  EXPECT_EQ(format.value().id, 42u);
  EXPECT_EQ(format.value().print_format, "\"a=%d; b\", REC->a");
  ASSERT_EQ(format.value().members.size(), 2u) << "common_ fields are dropped";
  EXPECT_EQ(format.value().members[1].name, "order");
  EXPECT_EQ(format.value().members[1].offset, 16u);
  EXPECT_TRUE(asked_.empty()) << "C's own types need no kernel";
}

TEST_F(TracepointFormatTest, PrintFormatMayHoldLineEnds) {
  auto format = ParseTracepointFormat("name: x\nprint fmt: \"a\nb\", REC->a\n", types_, nullptr);
  ASSERT_TRUE(format.ok()) << format.error().message();
  EXPECT_EQ(format.value().print_format, "\"a\nb\", REC->a");
}

TEST_F(TracepointFormatTest, Scalars) {
  EXPECT_EQ(TypeName("unsigned long long x;\toffset:8;\tsize:8;\tsigned:0;"), "uint64");
  EXPECT_EQ(TypeName("long int x;\toffset:8;\tsize:8;\tsigned:1;"), "int64");
  EXPECT_EQ(TypeName("u8 x;\toffset:8;\tsize:1;\tsigned:0;"), "uint8");
  EXPECT_EQ(TypeName("bool x;\toffset:8;\tsize:1;\tsigned:0;"), "bool");
  EXPECT_EQ(TypeName("dev_t x;\toffset:8;\tsize:4;\tsigned:0;"), "uint32");
  EXPECT_EQ(TypeName("enum zone_type x;\toffset:8;\tsize:4;\tsigned:0;"), "enum zone_type");
  EXPECT_EQ(TypeName("const unsigned int x;\toffset:8;\tsize:4;\tsigned:0;"), "uint32");
}

TEST_F(TracepointFormatTest, UnknownTypesGoByTheirSize) {
  EXPECT_EQ(TypeName("xfs_ino_t x;\toffset:8;\tsize:8;\tsigned:0;"), "uint64");
  EXPECT_EQ(TypeName("enum unknown x;\toffset:8;\tsize:4;\tsigned:1;"), "int32");
  EXPECT_EQ(TypeName("struct timestamp x;\toffset:8;\tsize:12;\tsigned:0;"), "uint8[12]");
  EXPECT_EQ(TypeName("gfp_t x;\toffset:8;\tsize:8;\tsigned:0;"), "uint64")
      << "the file is right about the size";
}

TEST_F(TracepointFormatTest, Pointers) {
  EXPECT_EQ(TypeName("struct mm_struct * mm;\toffset:8;\tsize:8;\tsigned:0;"),
            "struct mm_struct *");
  EXPECT_EQ(TypeName("const void *ptr;\toffset:8;\tsize:8;\tsigned:0;"), "void *");
  EXPECT_EQ(TypeName("const char *const p;\toffset:8;\tsize:8;\tsigned:0;"), "int8 *");
  EXPECT_EQ(TypeName("struct unknown *p;\toffset:8;\tsize:8;\tsigned:0;"), "void *");
  EXPECT_EQ(TypeName("void __user *p;\toffset:8;\tsize:8;\tsigned:0;"), "void __user *");
  EXPECT_EQ(TypeName("void __seg_gs *p;\toffset:8;\tsize:8;\tsigned:0;"), "void *");
}

TEST_F(TracepointFormatTest, Arrays) {
  EXPECT_EQ(TypeName("char comm[16];\toffset:8;\tsize:16;\tsigned:0;"), "string[16]");
  EXPECT_EQ(TypeName("char comm[TASK_COMM_LEN];\toffset:8;\tsize:16;\tsigned:1;"), "string[16]");
  EXPECT_EQ(TypeName("unsigned long args[6];\toffset:8;\tsize:48;\tsigned:0;"), "uint64[6]");
  EXPECT_EQ(TypeName("unsigned long args[NAME];\toffset:8;\tsize:48;\tsigned:0;"), "uint64[6]");
  EXPECT_EQ(TypeName("__u8 saddr_v6[16];\toffset:8;\tsize:16;\tsigned:0;"), "uint8[16]");
  EXPECT_EQ(TypeName("xyz_t x[4];\toffset:8;\tsize:16;\tsigned:0;"), "uint32[4]");
}

TEST_F(TracepointFormatTest, LocatedData) {
  types::Member text = Field("__data_loc char[] name;\toffset:8;\tsize:4;\tsigned:0;");
  EXPECT_TRUE(text.is_data_loc);
  EXPECT_FALSE(text.is_relative_loc);
  EXPECT_EQ(text.name, "name");
  EXPECT_TRUE(text.type.Is(types::Kind::kString));
  EXPECT_EQ(text.type->size, 0u);
  types::Member words = Field("__data_loc unsigned int[] ids;\toffset:8;\tsize:4;\tsigned:0;");
  EXPECT_EQ(words.type.Name(), "uint32[]");
  EXPECT_EQ(TypeName("__data_loc cpumask_t mask;\toffset:8;\tsize:4;\tsigned:0;"), "uint64[]");
  types::Member relative = Field("__rel_loc char[] name;\toffset:8;\tsize:4;\tsigned:0;");
  EXPECT_TRUE(relative.is_data_loc);
  EXPECT_TRUE(relative.is_relative_loc);
}

TEST_F(TracepointFormatTest, SystemCallArgumentsHaveTheirOwnSize) {
  types::Member flags = Field("int flags;\toffset:32;\tsize:8;\tsigned:0;", "sys_enter_openat");
  EXPECT_EQ(flags.type.Name(), "int32");
  EXPECT_EQ(flags.offset, 32u);
  EXPECT_EQ(TypeName("umode_t mode;\toffset:40;\tsize:8;\tsigned:0;", "sys_enter_openat"),
            "uint16");
  EXPECT_EQ(TypeName("size_t count;\toffset:32;\tsize:8;\tsigned:0;", "sys_enter_write"), "uint64");
  EXPECT_EQ(TypeName("const char * buf;\toffset:24;\tsize:8;\tsigned:0;", "sys_enter_write"),
            "int8 __user *");
  EXPECT_EQ(TypeName("unsigned long fd;\toffset:48;\tsize:8;\tsigned:0;", "sys_enter_mmap"),
            "int32");
  EXPECT_EQ(TypeName("unsigned long addr;\toffset:16;\tsize:8;\tsigned:0;", "sys_enter_mmap"),
            "uint64");
  EXPECT_EQ(TypeName("long ret;\toffset:16;\tsize:8;\tsigned:1;", "sys_exit_mmap"), "int64");
}

TEST_F(TracepointFormatTest, AFieldThatIsNotUnderstoodIsAnError) {
  for (std::string_view line :
       {"\tfield:int x;\toffset:8;\tsigned:1;\n", "\tfield:int x;\tsize:4;\n",
        "\tfield:x;\toffset:8;\tsize:4;\tsigned:0;\n", "\tnonsense\n",
        "\tfield:int x;\toffset:eight;\tsize:4;\tsigned:0;\n"}) {
    auto format = Parse("event", line);
    ASSERT_FALSE(format.ok()) << line;
    EXPECT_EQ(format.error().kind(), ErrorKind::kInvalid);
  }
  EXPECT_FALSE(ParseTracepointFormat("", types_, nullptr).ok());
}

}  // namespace
}  // namespace memtrace::kernel
