// Binaries that were built for it: tests/workloads/CMakeLists.txt.
#include "compiler/user/binary.h"

#include <gtest/gtest.h>

namespace memtrace::user {
namespace {

std::string PathOf(const std::string& name) { return MT_BUILD_DIR "/workloads/" + name; }

class Binaries : public ::testing::Test {
 protected:
  std::unique_ptr<Binary> Open(const std::string& name) {
    auto binary = Binary::Open(PathOf(name), types_);
    EXPECT_TRUE(binary.ok()) << binary.error().message();
    return binary.ok() ? std::move(binary).value() : nullptr;
  }
  static const Symbol* Find(Binary& binary, std::string_view name) {
    for (const Symbol& symbol : binary.symbols()) {
      if (symbol.name == name) return &symbol;
    }
    return nullptr;
  }
  std::string Parameters(Binary& binary, std::string_view function) {
    const Symbol* symbol = Find(binary, function);
    if (symbol == nullptr) return "no symbol";
    auto prototype = binary.PrototypeAt(symbol->address);
    if (!prototype) return "no prototype";
    std::string text = prototype->result.Name() + ":";
    for (const Parameter& parameter : prototype->parameters) {
      char place = parameter.place == ParameterPlace::kRegister ? 'r'
                   : parameter.place == ParameterPlace::kStack  ? 's'
                                                                : '?';
      text += " " + parameter.type.Name() + " " + parameter.name + "@" + place +
              std::to_string(parameter.number);
    }
    return text;
  }
  types::TypeTable types_;
};

class Symbols : public Binaries, public ::testing::WithParamInterface<const char*> {};

TEST_P(Symbols, AreFoundWhereverTheyAre) {
  auto binary = Open(GetParam());
  ASSERT_NE(binary, nullptr);
  for (const char* name : {"add_up", "hidden", "main"}) {
    const Symbol* symbol = Find(*binary, name);
    ASSERT_NE(symbol, nullptr) << name;
    EXPECT_EQ(symbol->kind, SymbolKind::kFunction);
    EXPECT_GT(symbol->size, 0u);
    EXPECT_TRUE(binary->FileOffset(symbol->address).has_value());
  }
  EXPECT_EQ(Find(*binary, "total")->kind, SymbolKind::kData);
  EXPECT_EQ(Find(*binary, "chosen")->kind, SymbolKind::kIndirect);
  EXPECT_FALSE(binary->is_stripped());
  // Of two names for one function the shorter one.
  EXPECT_EQ(binary->FunctionAt(Find(*binary, "add_up_too")->address)->name, "add_up");
}

INSTANTIATE_TEST_SUITE_P(Of, Symbols,
                         ::testing::Values("calls", "calls-pie", "calls-static", "calls-debuglink",
                                           "calls-minidebug"),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST_F(Binaries, WithoutSymbolsKnowWhatTheyImport) {
  auto binary = Open("calls-stripped");
  ASSERT_NE(binary, nullptr);
  EXPECT_TRUE(binary->is_stripped());
  EXPECT_EQ(Find(*binary, "add_up"), nullptr);
  ASSERT_NE(Find(*binary, "pthread_create"), nullptr);
  EXPECT_EQ(Find(*binary, "pthread_create")->kind, SymbolKind::kUndefined);
  std::vector<std::string> needed = binary->Needed();
  EXPECT_NE(std::find(needed.begin(), needed.end(), "libc.so.6"), needed.end());
}

TEST_F(Binaries, PlacesInTheFileFollowTheSegments) {
  auto pie = Open("calls-pie"), fixed = Open("calls");
  ASSERT_TRUE(pie != nullptr && fixed != nullptr);
  uint64_t address = Find(*fixed, "add_up")->address;
  EXPECT_GE(address, 0x200000u);  // linked to a fixed place
  EXPECT_LT(*fixed->FileOffset(address), 0x100000u);
  EXPECT_FALSE(fixed->FileOffset(0x10).has_value());
  EXPECT_FALSE(fixed->FileOffset(Find(*fixed, "total")->address).has_value());
}

TEST_F(Binaries, ParametersComeFromDebugInformation) {
  constexpr const char* kAddUp =
      "int64: int32 number@r0 uint8 small@r1 int8 __user * text@r2 struct pair __user * pair@r3 "
      "enum color color@r4 int64 fifth@r5 int64 sixth@s0 int32 seventh@s1 uint8[8] ratio@?0";
  for (const char* name : {"calls", "calls-pie", "calls-static", "calls-debuglink"}) {
    auto binary = Open(name);
    ASSERT_NE(binary, nullptr);
    EXPECT_EQ(Parameters(*binary, "add_up"), kAddUp) << name;
    EXPECT_EQ(Parameters(*binary, "hidden"), "uint32: uint64 value@r0");
  }
  auto bare = Open("calls-minidebug");
  ASSERT_NE(bare, nullptr);
  EXPECT_EQ(Parameters(*bare, "add_up"), "no prototype");
}

TEST_F(Binaries, StructsAreFilledInWhenAsked) {
  auto binary = Open("calls");
  ASSERT_NE(binary, nullptr);
  auto prototype = binary->PrototypeAt(Find(*binary, "add_up")->address);
  ASSERT_TRUE(prototype.has_value());
  types::Type pair = prototype->parameters[3].type->target;
  EXPECT_FALSE(pair->complete);
  EXPECT_TRUE(binary->Complete(pair));
  types::FoundMember high = types::FindMember(pair, "high");
  ASSERT_TRUE(high.found);
  EXPECT_EQ(high.member.offset * 8 + high.member.bit_offset, 4 * 8 + 3u);
  EXPECT_EQ(high.member.bit_size, 5);
  types::FoundMember next = types::FindMember(pair, "next");
  ASSERT_TRUE(next.found);
  EXPECT_EQ(next.member.type->target, pair);
  EXPECT_EQ(next.member.type->space, types::Space::kUser);
}

TEST_F(Binaries, ClassesHaveTheMembersOfTheirBases) {
  auto binary = Open("shapes");
  ASSERT_NE(binary, nullptr);
  std::string text = Parameters(*binary, "_ZN2ns6Square4growEl");
  EXPECT_EQ(text, "int64: struct Square __user * this@r0 int64 by@r1");
  auto prototype = binary->PrototypeAt(Find(*binary, "_ZN2ns6Square4growEl")->address);
  types::Type square = prototype->parameters[0].type->target;
  binary->Complete(square);
  EXPECT_EQ(types::FindMember(square, "name").member.offset, 8u);
  EXPECT_EQ(types::FindMember(square, "side_").member.offset, 16u);
}

TEST_F(Binaries, HaveStaticProbes) {
  auto binary = Open("marks");
  ASSERT_NE(binary, nullptr);
  auto notes = binary->UsdtNotes();
  ASSERT_TRUE(notes.ok()) << notes.error().message();
  ASSERT_EQ(notes.value().size(), 3u);
  for (const UsdtNote& note : notes.value()) {
    EXPECT_EQ(note.provider, "lab");
    EXPECT_TRUE(binary->FileOffset(note.address).has_value());
    EXPECT_TRUE(binary->DataOffset(note.semaphore).has_value());
  }
}

TEST_F(Binaries, OfAnotherKindAreRefusedInWords) {
  types::TypeTable types;
  auto why = [&](const char* path) {
    auto binary = Binary::Open(path, types);
    return binary.ok() ? "opened" : binary.error().message();
  };
  EXPECT_EQ(why(MT_SOURCE_DIR "/dev"),
            MT_SOURCE_DIR "/dev is a script, not an ELF file: probe its interpreter");
  EXPECT_EQ(why(MT_SOURCE_DIR "/README.md"), MT_SOURCE_DIR "/README.md is not an ELF file");
  EXPECT_EQ(why("/nothing"), "open /nothing: No such file or directory");
}

TEST(Names, OfCxx) {
  EXPECT_EQ(Demangled("_ZN2ns4areaEi"), "ns::area(int)");
  EXPECT_EQ(Demangled("main"), "");
  EXPECT_EQ(WithoutParameters("ns::area(int)"), "ns::area");
  EXPECT_EQ(WithoutParameters("A::operator()(int (*)(char))"), "A::operator()");
  EXPECT_EQ(WithoutParameters("main"), "main");
}

}  // namespace
}  // namespace memtrace::user
