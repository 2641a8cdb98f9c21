#include "compiler/compile.h"

#include "compiler/codegen/lower.h"
#include "compiler/sema/typed.h"
#include "compiler/syntax/parser.h"
#include "compiler/syntax/token.h"

namespace memtrace {

static sema::TypedProgram Front(const diag::SourceMap& sources, diag::Span text,
                                kernel::Kernel& kernel, const sema::CheckOptions& options,
                                diag::Diagnostics& diagnostics) {
  syntax::TokenBuffer tokens = syntax::Lex(sources, text, diagnostics);
  syntax::Ast ast = syntax::Parse(sources, tokens, diagnostics);
  return sema::Check(ast, sources, kernel, options, diagnostics);
}

std::optional<Compiled> Compile(const diag::SourceMap& sources, diag::Span text,
                                kernel::Kernel& kernel, const sema::CheckOptions& options,
                                diag::Diagnostics& diagnostics) {
  sema::TypedProgram program = Front(sources, text, kernel, options, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  Compiled compiled{.plan = sema::BuildPlan(program, sources), .object = {}};
  compiled.object = codegen::CompileObject(program, compiled.plan, sources, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  return compiled;
}

std::optional<plan::Plan> MakePlan(const diag::SourceMap& sources, diag::Span text,
                                   kernel::Kernel& kernel, const sema::CheckOptions& options,
                                   diag::Diagnostics& diagnostics) {
  sema::TypedProgram program = Front(sources, text, kernel, options, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  return sema::BuildPlan(program, sources);
}

void CheckOnly(const diag::SourceMap& sources, diag::Span text, kernel::Kernel& kernel,
               const sema::CheckOptions& options, diag::Diagnostics& diagnostics) {
  Front(sources, text, kernel, options, diagnostics);
}

std::optional<Stage> StageNamed(std::string_view name) {
  static constexpr std::pair<std::string_view, Stage> kStages[] = {
      {"tokens", Stage::kTokens}, {"ast", Stage::kAst}, {"types", Stage::kTypes},
      {"plan", Stage::kPlan},     {"ir", Stage::kIr},   {"asm", Stage::kAsm},
  };
  for (const auto& [spelling, stage] : kStages) {
    if (spelling == name) return stage;
  }
  return std::nullopt;
}

std::optional<std::string> DumpStage(Stage stage, const diag::SourceMap& sources, diag::Span text,
                                     kernel::Kernel& kernel, const sema::CheckOptions& options,
                                     diag::Diagnostics& diagnostics) {
  syntax::TokenBuffer tokens = syntax::Lex(sources, text, diagnostics);
  if (stage == Stage::kTokens) return syntax::Dump(tokens, sources);
  syntax::Ast ast = syntax::Parse(sources, tokens, diagnostics);
  if (stage == Stage::kAst) {
    if (diagnostics.has_errors()) return std::nullopt;
    return syntax::Dump(ast);
  }
  sema::TypedProgram program = sema::Check(ast, sources, kernel, options, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  if (stage == Stage::kTypes) return sema::Dump(program);
  plan::Plan plan = sema::BuildPlan(program, sources);
  if (stage == Stage::kPlan) return plan::ToJson(plan);
  if (stage == Stage::kIr) return codegen::DumpIr(program, plan, sources);
  std::string assembly = codegen::DumpAsm(program, plan, sources, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  return assembly;
}

}  // namespace memtrace
