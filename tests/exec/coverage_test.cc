// Every function and every operator of the language is used by at least one case of this lane.
#include <filesystem>
#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "compiler/base/file.h"
#include "compiler/diag/diagnostics.h"
#include "compiler/sema/function.h"
#include "compiler/syntax/token.h"
#include "tests/support/exec_case.h"

namespace memtrace::exec {
namespace {

// The texts of all tokens of all cases.
std::set<std::string, std::less<>> TokensOfCases() {
  std::set<std::string, std::less<>> texts;
  std::filesystem::recursive_directory_iterator files(MT_SOURCE_DIR "/tests/exec/cases");
  for (const auto& entry : files) {
    if (entry.path().extension() != ".test") continue;
    auto text = ReadFile(entry.path());
    if (!text.ok()) continue;
    for (const test::TextCase& one :
         test::ParseTextCases(text.value(), test::kExecSections).cases) {
      const test::Section* program = one.Find("program");
      if (program == nullptr) continue;
      diag::SourceMap sources;
      diag::Diagnostics diagnostics;
      syntax::TokenBuffer tokens =
          syntax::Lex(sources, sources.Add("-e", program->body), diagnostics);
      for (const syntax::Token& token : tokens.tokens) {
        texts.emplace(sources.Text(token.span));
      }
    }
  }
  return texts;
}

TEST(Coverage, EveryFunctionHasACase) {
  auto tokens = TokensOfCases();
  for (std::string_view name : sema::kFunctionSpellings) {
    // No probe of this version has a return value.
    if (name == sema::Spelling(sema::Function::kRetval)) continue;
    EXPECT_TRUE(tokens.contains(name)) << "no case uses " << name;
  }
}

TEST(Coverage, EveryOperatorAndKeywordHasACase) {
  auto tokens = TokensOfCases();
  // `??`, unions and the C preamble are not supported by this version.
  const std::set<std::string_view> kNotYet = {"??", "union"};
  static constexpr std::string_view kSpellings[] = {
#define MT_TOKEN(name, spelling)
#define MT_KEYWORD(name, spelling) spelling,
#define MT_PUNCTUATION(name, spelling) spelling,
#include "compiler/syntax/token.def"
  };
  for (std::string_view spelling : kSpellings) {
    if (kNotYet.contains(spelling)) continue;
    EXPECT_TRUE(tokens.contains(spelling)) << "no case uses " << spelling;
  }
}

}  // namespace
}  // namespace memtrace::exec
