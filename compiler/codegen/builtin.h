// Lowering: what code a builtin or function becomes. The rest of what is known about it is its Row.
#pragma once

#include <array>

#include "compiler/codegen/function_lowering.h"
#include "compiler/sema/function.h"

namespace memtrace::codegen {

struct Lowering {
  sema::Function function;
  // The value of a scalar; null for a call without a value.
  llvm::Value* (*scalar)(FunctionLowering&, const sema::Call&) = nullptr;
  // Writes a value that is no scalar.
  void (*store)(FunctionLowering&, const sema::Call&, Bytes to, Padding padding) = nullptr;
};

// Indexed by Function; defined in builtins/lowering.
const Lowering& LoweringOf(sema::Function function);

}  // namespace memtrace::codegen
