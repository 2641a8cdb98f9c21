// Compile: the stages in a row. The driver's only door to the compiler.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "compiler/diag/diagnostics.h"
#include "compiler/diag/source.h"
#include "compiler/kernel/kernel.h"
#include "compiler/plan/plan.h"
#include "compiler/sema/check.h"

namespace memtrace {

struct Compiled {
  plan::Plan plan;
  std::string object;  // BPF ELF
};

// Empty when `diagnostics` has errors.
std::optional<Compiled> Compile(const diag::SourceMap& sources, diag::Span text,
                                kernel::Kernel& kernel, const sema::CheckOptions& options,
                                diag::Diagnostics& diagnostics);

// The plan alone, which says how everything would be attached. Empty after errors.
std::optional<plan::Plan> MakePlan(const diag::SourceMap& sources, diag::Span text,
                                   kernel::Kernel& kernel, const sema::CheckOptions& options,
                                   diag::Diagnostics& diagnostics);

// Only what tells whether a program is right: no code is generated.
void CheckOnly(const diag::SourceMap& sources, diag::Span text, kernel::Kernel& kernel,
               const sema::CheckOptions& options, diag::Diagnostics& diagnostics);

enum class Stage : uint8_t { kTokens, kAst, kTypes, kPlan, kIr, kAsm };
std::optional<Stage> StageNamed(std::string_view name);

// The product of `stage` as text; runs no later stage. Empty when there were errors before it.
std::optional<std::string> DumpStage(Stage stage, const diag::SourceMap& sources, diag::Span text,
                                     kernel::Kernel& kernel, const sema::CheckOptions& options,
                                     diag::Diagnostics& diagnostics);

}  // namespace memtrace
