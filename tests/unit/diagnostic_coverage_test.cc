// Each code of codes.def is shown by a text case under tests/golden.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "compiler/base/file.h"
#include "compiler/sema/check.h"
#include "compiler/syntax/parser.h"
#include "compiler/syntax/token.h"
#include "tests/support/text_case.h"

namespace memtrace {
namespace {

constexpr std::string_view kCodeNames[] = {
#define MT_CODE(name) #name,
#include "compiler/diag/codes.def"
};

// What no text case can show, and where it is shown instead.
constexpr std::string_view kShownElsewhere[] = {
    "kNeedsRoot",  // probes_test: a directory that may not be read
    "kBadFormat",  // probes_test: a format file that is no format
    "kTooDeep",    // depth.test, whose programs are generated
};

void CollectCodes(const test::TextCase& text_case, std::set<std::string_view>& codes) {
  const test::Section* program = text_case.Find("program");
  if (program == nullptr) return;
  types::TypeTable types;
  std::string root = MT_SOURCE_DIR "/tests/";
  const test::Section* sysroot = text_case.Find("sysroot");
  kernel::Kernel kernel(
      kernel::Roots::Fixture(root + (sysroot != nullptr ? sysroot->value : "fixture")), types);
  sema::CheckOptions options;
  std::vector<std::string> words = text_case.Words("args");
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    size_t equals = words[i + 1].find('=');
    if (words[i] != "--config" || equals == std::string::npos) continue;
    options.config.emplace_back(words[i + 1].substr(0, equals), words[i + 1].substr(equals + 1));
  }
  diag::SourceMap sources;
  diag::Diagnostics diagnostics;
  diag::Span span = sources.Add("-e", program->body);
  syntax::TokenBuffer tokens = syntax::Lex(sources, span, diagnostics);
  syntax::Ast ast = syntax::Parse(sources, tokens, diagnostics);
  sema::Check(ast, sources, kernel, options, diagnostics);
  for (const diag::Diagnostic& diagnostic : diagnostics.all()) {
    codes.insert(kCodeNames[static_cast<size_t>(diagnostic.code)]);
  }
}

TEST(DiagnosticCoverage, EveryCodeHasACase) {
  std::set<std::string_view> codes(std::begin(kShownElsewhere), std::end(kShownElsewhere));
  std::filesystem::path folder = MT_SOURCE_DIR "/tests/golden/diagnostics";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    auto text = ReadFile(entry.path());
    ASSERT_TRUE(text.ok()) << text.error().message();
    test::TextCaseFile file = test::ParseTextCases(text.value(), {});
    ASSERT_EQ(file.error, "") << entry.path();
    for (const test::TextCase& text_case : file.cases) CollectCodes(text_case, codes);
  }
  for (std::string_view name : kCodeNames) EXPECT_TRUE(codes.contains(name)) << name;
}

}  // namespace
}  // namespace memtrace
