// Functions that send a record to the reader.
#include "compiler/builtins/lowering/builtins.h"

namespace memtrace::builtins {

llvm::Value* Record(FunctionLowering& lowering, const Call& call) {
  lowering.EmitRecord(call, /*wake=*/false);
  return nullptr;
}

// The reader must know at once, and nothing of the clause runs after it.
llvm::Value* Exit(FunctionLowering& lowering, const Call& call) {
  lowering.EmitRecord(call, /*wake=*/true);
  lowering.Leave();
  return nullptr;
}

}  // namespace memtrace::builtins
