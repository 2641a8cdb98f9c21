// Every row of the language's tables says what it is and has an example that is right.
#include <gtest/gtest.h>

#include "compiler/probes/provider.h"
#include "compiler/sema/check.h"
#include "compiler/sema/row.h"
#include "compiler/syntax/parser.h"
#include "compiler/syntax/token.h"

namespace memtrace::sema {
namespace {

// What checking `text` on the fixture kernel reports; empty when it is right.
std::string ErrorsOf(std::string_view text) {
  types::TypeTable types;
  kernel::Kernel kernel(kernel::Roots::Fixture(MT_SOURCE_DIR "/tests/fixture"), types);
  diag::SourceMap sources;
  diag::Diagnostics diagnostics;
  diag::Span span = sources.Add("-e", std::string(text));
  syntax::TokenBuffer tokens = syntax::Lex(sources, span, diagnostics);
  syntax::Ast ast = syntax::Parse(sources, tokens, diagnostics);
  CheckOptions options;
  TypedProgram program = Check(ast, sources, kernel, options, diagnostics);
  if (!diagnostics.has_errors()) {
    BuildPlan(program, sources);
    EXPECT_EQ(Dump(program), Dump(Check(ast, sources, kernel, options, diagnostics))) << text;
    return "";
  }
  return diag::Render(diagnostics, sources, false);
}

TEST(Rows, AreIndexedByFunction) {
  ASSERT_EQ(Rows().size(), kFunctionCount);
  for (size_t i = 0; i < kFunctionCount; ++i) {
    EXPECT_EQ(static_cast<size_t>(Rows()[i].function), i) << kFunctionSpellings[i];
    EXPECT_NE(Rows()[i].signature.find(kFunctionSpellings[i]), std::string_view::npos)
        << kFunctionSpellings[i];
  }
}

TEST(Rows, HaveADocAndAnExampleThatCompiles) {
  for (const Row& row : Rows()) {
    EXPECT_TRUE(row.doc.ends_with(".")) << Spelling(row.function);
    EXPECT_EQ(ErrorsOf(row.example), "") << row.example;
  }
}

TEST(Providers, HaveADocAndAnExampleThatCompiles) {
  for (const probes::ProviderRow& row : probes::Providers()) {
    if (row.expand == nullptr) continue;
    EXPECT_TRUE(row.doc.ends_with(".") || row.doc.ends_with("uses.")) << row.name;
    EXPECT_EQ(ErrorsOf(row.example), "") << row.example;
  }
}

}  // namespace
}  // namespace memtrace::sema
