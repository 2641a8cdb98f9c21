// Functions on a map that are decided where the event happens. clear, zero and print are records:
// the reader does them.
#include "compiler/builtins/lowering/builtins.h"

namespace memtrace::builtins {

llvm::Value* Delete(FunctionLowering& lowering, const Call& call) {
  return lowering.Bool(lowering.Delete(call.place));
}

llvm::Value* Len(FunctionLowering& lowering, const Call& call) {
  return lowering.Length(call.place, call.span);
}

llvm::Value* HasKey(FunctionLowering& lowering, const Call& call) {
  return lowering.Bool(lowering.HasKey(call.place));
}

llvm::Value* Find(FunctionLowering& lowering, const Call& call) {
  return lowering.Bool(lowering.Find(call));
}

}  // namespace memtrace::builtins
