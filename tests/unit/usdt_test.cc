#include <string>

#include <gtest/gtest.h>

#include "compiler/user/usdt_argument.h"
#include "compiler/user/usdt_note.h"

namespace memtrace::user {
namespace {

using namespace std::string_literals;

template <typename T>
void Append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string Note(uint64_t address, uint64_t base, uint64_t semaphore, const std::string& texts,
                 uint32_t type = 3, std::string owner = std::string("stapsdt\0", 8)) {
  std::string content;
  Append(content, address);
  Append(content, base);
  Append(content, semaphore);
  content += texts;
  std::string bytes;
  Append(bytes, static_cast<uint32_t>(owner.size()));
  Append(bytes, static_cast<uint32_t>(content.size()));
  Append(bytes, type);
  bytes += owner + content;
  while (bytes.size() % 4 != 0) bytes += '\0';
  return bytes;
}

const std::string kTexts = "libc\0setjmp\0008@%rdi -4@%esi\0"s;

TEST(UsdtNotes, ReadsPlaceNamesAndArguments) {
  auto notes = ParseUsdtNotes(Note(0x1000, 0, 0x2000, kTexts) + Note(0x1008, 0, 0, kTexts), 0);
  ASSERT_TRUE(notes.ok()) << notes.error().message();
  ASSERT_EQ(notes.value().size(), 2u);
  const UsdtNote& note = notes.value()[0];
  EXPECT_EQ(note.provider, "libc");
  EXPECT_EQ(note.name, "setjmp");
  EXPECT_EQ(note.arguments, "8@%rdi -4@%esi");
  EXPECT_EQ(note.address, 0x1000u);
  EXPECT_EQ(note.semaphore, 0x2000u);
  EXPECT_EQ(notes.value()[1].semaphore, 0u);
}

TEST(UsdtNotes, MovesWithTheBase) {
  auto notes = ParseUsdtNotes(Note(0x1000, 0x500, 0x2000, kTexts), 0x700);
  ASSERT_TRUE(notes.ok());
  EXPECT_EQ(notes.value()[0].address, 0x1200u);
  EXPECT_EQ(notes.value()[0].semaphore, 0x2200u);
}

TEST(UsdtNotes, LeavesOtherNotesOut) {
  auto notes = ParseUsdtNotes(
      Note(1, 0, 0, kTexts, 4) + Note(2, 0, 0, kTexts, 3, std::string("GNU\0", 4)), 0);
  ASSERT_TRUE(notes.ok());
  EXPECT_TRUE(notes.value().empty());
}

TEST(UsdtNotes, SurvivesDamage) {
  std::string whole = Note(0x1000, 0, 0, kTexts);
  constexpr size_t kPadding = 3;
  for (size_t size = 0; size < whole.size() - kPadding; ++size) {
    auto notes = ParseUsdtNotes(std::string_view(whole).substr(0, size), 0);
    EXPECT_TRUE(!notes.ok() || notes.value().empty()) << size;
  }
}

// One argument as text: "s4 r80>>8", "u8 m[32]-16", "u4 m[80+96*4]+0", "s8 c42", "? why".
std::string Show(const UsdtArgument& argument) {
  if (!argument.problem.empty()) return "? " + argument.problem;
  std::string text = (argument.is_signed ? "s" : "u") + std::to_string(argument.size);
  switch (argument.kind) {
    case OperandKind::kConstant:
      return text + " c" + std::to_string(argument.constant);
    case OperandKind::kRegister:
      text += " r" + std::to_string(argument.base);
      return argument.shift == 0 ? text : text + ">>" + std::to_string(argument.shift);
    case OperandKind::kMemory:
      text += " m[";
      if (argument.base != UsdtArgument::kNoRegister) text += std::to_string(argument.base);
      if (argument.index != UsdtArgument::kNoRegister) {
        text += "+" + std::to_string(argument.index) + "*" + std::to_string(argument.scale);
      }
      return text + "]" + std::to_string(argument.constant);
  }
  return "";
}

std::string Show(std::string_view text, std::string_view architecture) {
  std::string shown;
  for (const UsdtArgument& argument : ParseUsdtArguments(text, architecture)) {
    shown += (shown.empty() ? "" : ", ") + Show(argument);
  }
  return shown;
}

TEST(UsdtArguments, OfX86) {
  auto show = [](std::string_view text) { return Show(text, "x86_64"); };
  EXPECT_EQ(show("-4@%eax 8@%rdi 1@%ah 2@%r10w"), "s4 r80, u8 r112, u1 r80>>8, u2 r56");
  EXPECT_EQ(show("8@$42 -4@$-7 4@$0x10"), "u8 c42, s4 c-7, u4 c16");
  EXPECT_EQ(show("-8@-16(%rbp) 4@(%rsp)"), "s8 m[32]-16, u4 m[152]0");
  EXPECT_EQ(show("4@(%rax,%rdx,4) 8@24(%rbx,%rcx) 8@8(,%r9,8)"),
            "u4 m[80+96*4]0, u8 m[40+88*1]24, u8 m[+64*8]8");
  EXPECT_EQ(show("%rsi"), "u8 r104");
  EXPECT_EQ(show(""), "");
}

TEST(UsdtArguments, OfArm) {
  auto show = [](std::string_view text) { return Show(text, "aarch64"); };
  EXPECT_EQ(show("-4@w0 8@x19 8@sp 4@wzr"), "s4 r0, u8 r152, u8 r248, u4 c0");
  EXPECT_EQ(show("8@42 -4@-1 8@#3"), "u8 c42, s4 c-1, u8 c3");
  EXPECT_EQ(show("8@[sp, 16] -4@[x1] 8@[x29, -8] 8@[x0,#24]"),
            "u8 m[248]16, s4 m[8]0, u8 m[232]-8, u8 m[0]24");
  EXPECT_EQ(show("8@[x1, x2, lsl #3] 1@[x1, x2]"), "u8 m[8+16*8]0, u1 m[8+16*1]0");
}

TEST(UsdtArguments, SayWhatCannotBeRead) {
  EXPECT_EQ(Show("8f@%xmm0 8@global(%rip) 3@%eax 8@%rdi", "x86_64"),
            "? it is a floating-point number, ? its place is written as 8@global(%rip), "
            "? its place is written as 3@%eax, u8 r112");
  EXPECT_EQ(Show("8@[x1, w2, sxtw 3] 8@x31", "aarch64"),
            "? its place is written as 8@[x1, w2, sxtw 3], ? its place is written as 8@x31");
}

}  // namespace
}  // namespace memtrace::user
