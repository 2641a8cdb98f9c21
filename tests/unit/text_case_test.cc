#include "tests/support/text_case.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace memtrace::test {
namespace {

TextCase OneCase(std::string_view text) {
  TextCaseFile file = ParseTextCases(text, {});
  EXPECT_EQ(file.error, "");
  if (file.cases.size() != 1) {
    ADD_FAILURE() << file.cases.size() << " cases";
    return {};
  }
  return file.cases[0];
}

std::string ErrorOf(std::string_view text) { return ParseTextCases(text, {}).error; }

constexpr std::string_view kTwoCases =
    "prints hello\n"
    "-- args: --x 'a b'\n"
    "-- program\n"
    "begin { }\n"
    "\n"
    "-- stdout\n"
    "hello\n"
    "\\-- not a section\n"
    "\\\\ one backslash\n"
    "====\n"
    "fails\n"
    "-- exit: 1\n";

TEST(TextCase, IsParsed) {
  TextCaseFile file = ParseTextCases(kTwoCases, {});
  ASSERT_EQ(file.error, "");
  ASSERT_EQ(file.cases.size(), 2u);
  const TextCase& first = file.cases[0];
  EXPECT_EQ(first.sentence, "prints hello");
  EXPECT_EQ(first.Words("args"), (std::vector<std::string>{"--x", "a b"}));
  EXPECT_EQ(first.Find("program")->body, "begin { }\n\n");
  EXPECT_EQ(first.Find("stdout")->body, "hello\n-- not a section\n\\ one backslash\n");
  EXPECT_EQ(first.Find("stdout")->line, 6);
  EXPECT_EQ(file.cases[1].line, 11);
  EXPECT_EQ(file.cases[1].Value("exit"), "1");
}

TEST(TextCase, IsFormattedAsItWas) {
  EXPECT_EQ(FormatTextCases(ParseTextCases(kTwoCases, {}).cases), kTwoCases);
}

TEST(TextCase, TyposAreErrors) {
  EXPECT_EQ(ErrorOf("s\n-- stdot\n"), "2: no section is called `stdot`");
  EXPECT_EQ(ErrorOf("s\n-- exit: 1\n-- exit: 2\n"), "3: second section `exit` in one case");
  EXPECT_EQ(ErrorOf("s\nstray\n"), "2: expected a section, `-- NAME`");
  EXPECT_EQ(ErrorOf("s\n-- exit: 1\n=====\n"), "3: a separator is ==== and nothing else");
  EXPECT_EQ(ErrorOf("s\n-- exit: 1\n====\n"), "3: expected a case");
  EXPECT_EQ(ErrorOf("s\n-- exit: 1\n====\ns\n-- exit: 2\n"), "4: second case with this sentence");
  EXPECT_EQ(ErrorOf("-- exit: 1\n"), "1: a case starts with a sentence");
  EXPECT_EQ(ErrorOf("s\n-- exit: 1"), "2: the last line does not end in a newline");
  EXPECT_EQ(ErrorOf(""), "0: expected a case");
}

TEST(TextCase, LanesMayAddSections) {
  std::string_view more[] = {"event"};
  TextCaseFile file = ParseTextCases("s\n-- event: a\n-- event: b\n", more);
  EXPECT_EQ(file.error, "");
  EXPECT_EQ(file.cases[0].sections.size(), 2u);
}

TEST(TextCase, ComparesExactly) {
  TextCase expected = OneCase("s\n-- stdout\na\n-- exit: 2\n");
  EXPECT_FALSE(Mismatch(expected, {.out = "a\n", .err = "", .exit_status = 2}));
  EXPECT_EQ(Mismatch(expected, {.out = "a", .err = "", .exit_status = 2}),
            "stdout:\n@@ -1 +1 @@\n-a\n+a\n\\ no newline at the end\n");
  EXPECT_EQ(Mismatch(expected, {.out = "a\n", .err = "", .exit_status = 139}),
            "exit status: expected 2, was 139 (killed by a signal)\n");
  EXPECT_TRUE(Mismatch(expected, {.out = "a\n", .err = "x\n", .exit_status = 2}));
}

TEST(TextCase, ComparesPatterns) {
  TextCase expected = OneCase("s\n-- stdout: match\n(pid {{[0-9]+}})\n...\nend\n");
  EXPECT_FALSE(Mismatch(expected, {.out = "(pid 12)\nend\n", .err = ""}));
  EXPECT_FALSE(Mismatch(expected, {.out = "(pid 12)\na\nb\nend\n", .err = ""}));
  EXPECT_TRUE(Mismatch(expected, {.out = "(pid x)\nend\n", .err = ""}));
  EXPECT_TRUE(Mismatch(expected, {.out = "(pid 12)\nend\nmore\n", .err = ""}));
  TextCase bad = OneCase("s\n-- stdout: match\n{{(}}\n");
  EXPECT_TRUE(Mismatch(bad, {.out = "(\n", .err = ""}));
}

TEST(TextCase, AnUpdateMakesItPass) {
  TextCase text_case = OneCase("s\n-- program\np\n-- stdout\nold\n-- exit: 3\n");
  Observed observed = {.out = "", .err = "-- new", .exit_status = 1};
  Expect(text_case, observed);
  EXPECT_FALSE(Mismatch(text_case, observed));
  std::string text = FormatTextCases({&text_case, 1});
  EXPECT_EQ(text, "s\n-- program\np\n-- stderr: no-newline\n\\-- new\n-- exit: 1\n");
  EXPECT_FALSE(Mismatch(OneCase(text), observed));
}

}  // namespace
}  // namespace memtrace::test
