#include "compiler/diag/diagnostics.h"

#include <string>

#include <gtest/gtest.h>

namespace memtrace::diag {
namespace {

constexpr Code kAny = Code::kExpectedToken;

// One script from the command line and what is wrong with it.
class Script {
 public:
  explicit Script(std::string text, std::string name = "-e") : text_(text) {
    begin_ = sources.Add(std::move(name), std::move(text)).begin;
  }
  // The span of the first `part` of the script.
  Span Of(std::string_view part) const {
    const auto at = begin_ + static_cast<uint32_t>(text_.find(part));
    return {at, at + static_cast<uint32_t>(part.size())};
  }
  std::string Text() const { return Render(diagnostics, sources, false); }

  SourceMap sources;
  Diagnostics diagnostics;

 private:
  std::string text_;
  uint32_t begin_;
};

TEST(Diagnostics, AHintStandsBehindTheCaret) {
  Script script("t:a:b { @[comn] = count() }");
  script.diagnostics.Error(kAny, script.Of("comn"), "unknown name `comn`")
      .Hint("did you mean `comm`?");
  EXPECT_EQ(script.Text(),
            "error: unknown name `comn`\n"
            "  1 | t:a:b { @[comn] = count() }\n"
            "    |           ^~~~ did you mean `comm`?\n");
}

TEST(Diagnostics, ALabelWithoutTextSharesTheRowOfTheCaret) {
  Script script("tracepoint:vmscan:writepage { }");
  script.diagnostics.Error(kAny, script.Of("writepage"), "no tracepoint vmscan:writepage")
      .Label(script.Of("vmscan"), "")
      .Note("one note")
      .Note("another");
  EXPECT_EQ(script.Text(),
            "error: no tracepoint vmscan:writepage\n"
            "  1 | tracepoint:vmscan:writepage { }\n"
            "    |            ~~~~~~ ^~~~~~~~~\n"
            "  = one note\n"
            "  = another\n");
}

TEST(Diagnostics, ALabelWithTextHasItsOwnRowOrLine) {
  Script script("end {\n  f(1,\n  g(\n}");
  script.diagnostics.Error(kAny, script.Of("g("), "wrong")
      .Label(script.Of("g"), "here")
      .Label(script.Of("f"), "there");
  EXPECT_EQ(script.Text(),
            "error: wrong\n"
            "  3 |   g(\n"
            "    |   ^~\n"
            "    |   ~ here\n"
            "  2 |   f(1,\n"
            "    |   ~ there\n");
}

TEST(Diagnostics, AreShownInTheOrderOfTheSourceAndCounted) {
  Script script("a b");
  script.diagnostics.Error(kAny, script.Of("b"), "second");
  script.diagnostics.Warning(kAny, script.Of("a"), "first");
  script.diagnostics.Error(kAny, script.Of("b"), "third");
  EXPECT_EQ(script.Text(),
            "warning: first\n"
            "  1 | a b\n"
            "    | ^\n"
            "error: second\n"
            "  1 | a b\n"
            "    |   ^\n"
            "error: third\n"
            "  1 | a b\n"
            "    |   ^\n"
            "2 errors, nothing attached\n");
}

TEST(Diagnostics, AFileIsNamedWithThePlace) {
  Script script("x\n\n\n\n\n\n\n\n\n\n y", "vmscan.mt");
  script.diagnostics.Error(kAny, script.Of("y"), "wrong").Label(script.Of("x"), "first");
  EXPECT_EQ(script.Text(),
            "vmscan.mt:11:2: error: wrong\n"
            "  11 |  y\n"
            "     |  ^\n"
            "   1 | x\n"
            "     | ~ first\n");
}

TEST(Diagnostics, ALabelInAnotherFileNamesIt) {
  Script script("y");
  const Span other = script.sources.Add("lib.mt", "let @m");
  script.diagnostics.Error(kAny, script.Of("y"), "wrong").Label(other, "declared here");
  EXPECT_EQ(script.Text(),
            "error: wrong\n"
            "  1 | y\n"
            "    | ^\n"
            "  in lib.mt:\n"
            "  1 | let @m\n"
            "    | ~~~~~~ declared here\n");
}

TEST(Diagnostics, AMistakeAtTheEndHasACaret) {
  Script script("begin {");
  script.diagnostics.Error(kAny, {7, 7}, "`{` is not closed");
  EXPECT_EQ(script.Text(),
            "error: `{` is not closed\n"
            "  1 | begin {\n"
            "    |        ^\n");
}

TEST(Diagnostics, ASpanOfSeveralLinesIsMarkedOnItsFirst) {
  Script script("f(\n1)");
  script.diagnostics.Error(kAny, {0, 5}, "wrong");
  EXPECT_EQ(script.Text(),
            "error: wrong\n"
            "  1 | f(\n"
            "    | ^~\n");
}

TEST(Diagnostics, TabsWideLettersAndBadBytesKeepTheCaretInPlace) {
  Script script("\tx\t\"日é\" \x01\xff y");
  script.diagnostics.Error(kAny, script.Of("y"), "wrong \x1b[31m");
  EXPECT_EQ(script.Text(),
            "error: wrong \\x1b[31m\n"
            "  1 |     x   \"日é\" \\x01\\xff y\n"
            "    |                        ^\n");
}

TEST(Diagnostics, SignsThatReorderTextAreEscaped) {
  EXPECT_EQ(Printable("a\xe2\x80\xae"
                      "b"),
            "a\\xe2\\x80\\xaeb");
  EXPECT_EQ(Printable("\n\t\r\x7f"), "\\n\\t\\r\\x7f");
  EXPECT_EQ(Printable("é日"), "é日");
  EXPECT_EQ(Printable("\xc0\x80\xed\xa0\x80"), "\\xc0\\x80\\xed\\xa0\\x80");
}

TEST(Diagnostics, ALongLineIsCutAroundTheCaret) {
  Script script(std::string(5000, 'a') + "B" + std::string(5000, 'c'));
  script.diagnostics.Error(kAny, script.Of("B"), "wrong");
  EXPECT_EQ(script.Text(), "error: wrong\n  1 | …" + std::string(36, 'a') + "B" +
                               std::string(53, 'c') + "…\n    | " + std::string(37, ' ') + "^\n");
}

TEST(Diagnostics, ALongLineIsShownFromItsBeginningWhenTheCaretIsThere) {
  Script script("ab" + std::string(200, 'c'));
  script.diagnostics.Error(kAny, script.Of("b"), "wrong");
  EXPECT_EQ(script.Text(), "error: wrong\n  1 | ab" + std::string(89, 'c') + "…\n    |  ^\n");
}

TEST(Diagnostics, EachSeverityKeepsItsFirst) {
  Script script("x");
  for (size_t i = 0; i < Diagnostics::kMaxKept + 5; ++i) {
    script.diagnostics.Warning(kAny, script.Of("x"), "warning");
    script.diagnostics.Error(kAny, script.Of("x"), "error").Hint("hint");
  }
  EXPECT_EQ(script.diagnostics.all().size(), 2 * Diagnostics::kMaxKept);
  EXPECT_EQ(script.diagnostics.error_count(), Diagnostics::kMaxKept + 5);
  EXPECT_TRUE(script.Text().ends_with("\n55 errors, nothing attached (the first 50 are shown)\n"));
}

TEST(Diagnostics, ColourIsOnlyAdded) {
  Script script("x");
  script.diagnostics.Error(kAny, script.Of("x"), "wrong").Note("why");
  std::string colored = Render(script.diagnostics, script.sources, true);
  EXPECT_TRUE(colored.starts_with("\x1b[1;31merror:\x1b[0m \x1b[1mwrong\x1b[0m\n")) << colored;
  for (size_t at; (at = colored.find('\x1b')) != std::string::npos;) {
    colored.erase(at, colored.find('m', at) - at + 1);
  }
  EXPECT_EQ(colored, script.Text());
}

TEST(ClosestName, AllowsAThirdOfTheName) {
  EXPECT_EQ(ClosestName("comn", {"pid", "comm", "count"}), "comm");
  EXPECT_EQ(ClosestName("cuont", {"pid", "comm", "count"}), "count");  // a swap is one step
  EXPECT_EQ(ClosestName("kstakc", {"ustack", "kstack"}), "kstack");
  EXPECT_EQ(ClosestName("PID", {"pid"}), "pid");
  EXPECT_EQ(ClosestName("xy", {"xz"}), "");  // a third of two is nothing
  EXPECT_EQ(ClosestName("abc", {"xyz"}), "");
  EXPECT_EQ(ClosestName("abc", {}), "");
  EXPECT_EQ(ClosestName("abcd", {"abce", "abcf"}), "abce");  // the first of equals
}

}  // namespace
}  // namespace memtrace::diag
