// Functions of values: strings, symbols, pointers.
#include "bpf-headers/memtrace/record.h"
#include "compiler/builtins/lowering/builtins.h"

namespace memtrace::builtins {

using codegen::Helper;
using codegen::Memory;

// ksym(), kptr(), strftime(): the value is that of the argument, only its type is another.
llvm::Value* FirstArgument(FunctionLowering& lowering, const Call& call) {
  return lowering.Scalar(*call.arguments[0]);
}

llvm::Value* Strlen(FunctionLowering& lowering, const Call& call) {
  return lowering.StringLength(lowering.InMemory(*call.arguments[0]));
}

llvm::Value* Strncmp(FunctionLowering& lowering, const Call& call) {
  Bytes left = lowering.InMemory(*call.arguments[0]);
  Bytes right = lowering.InMemory(*call.arguments[1]);
  auto limit = static_cast<uint32_t>(call.number);
  uint32_t size = std::min({left.size, right.size, limit});
  if (size == 0) return lowering.Number(0);
  return lowering.CompareStrings(left, right, size);
}

llvm::Value* Strcontains(FunctionLowering& lowering, const Call& call) {
  Bytes haystack = lowering.InMemory(*call.arguments[0]);
  Bytes needle = lowering.InMemory(*call.arguments[1]);
  return lowering.Bool(lowering.Contains(haystack, needle));
}

// str(pointer[, length]): `length` counts bytes without the NUL.
void Str(FunctionLowering& lowering, const Call& call, Bytes to, Padding padding) {
  const sema::Expr& pointer = *call.arguments[0];
  bool is_user = pointer.type.IsPointer() && pointer.type->space == types::Space::kUser;
  llvm::Value* address = lowering.Scalar(pointer);
  llvm::Value* limit = lowering.Number(to.size);
  if (call.arguments.size() > 1) {
    llvm::IRBuilder<>& ir = lowering.ir();
    llvm::Value* length = lowering.Scalar(*call.arguments[1]);
    llvm::Value* fits = ir.CreateICmpULT(length, lowering.Number(to.size - 1));
    length = ir.CreateSelect(fits, length, lowering.Number(to.size - 1));
    limit = ir.CreateAdd(length, lowering.Number(1));
  }
  Memory memory = is_user ? Memory::kUser : Memory::kKernel;
  if (to.size < lowering.plan().config.max_strlen) {
    // That few bytes were asked for: what is behind them is not lost.
    lowering.ProbeReadString(to, memory, address, limit, padding);
  } else {
    lowering.ReadString(to, memory, address, limit, padding);
  }
}

// include/linux/err.h: MAX_ERRNO.
llvm::Value* IsErr(FunctionLowering& lowering, const Call& call) {
  constexpr uint64_t kMaxErrno = 4095;
  llvm::Value* pointer = lowering.Scalar(*call.arguments[0]);
  return lowering.Bool(lowering.ir().CreateICmpUGE(pointer, lowering.Number(-kMaxErrno)));
}

llvm::Value* FindVma(FunctionLowering& lowering, const Call& call) {
  return lowering.FindVma(lowering.Scalar(*call.arguments[0]), call.span);
}

void Usym(FunctionLowering& lowering, const Call& call, Bytes to, Padding) {
  llvm::Value* address = lowering.Scalar(*call.arguments[0]);
  llvm::Value* process =
      lowering.ir().CreateLShr(lowering.Call(Helper::get_current_pid_tgid, {}), 32);
  lowering.StoreInt(to.pointer, address, 8, to.alignment);
  lowering.StoreInt(lowering.Offset(to.pointer, offsetof(mt_user_symbol, process)), process, 8,
                    to.alignment);
}

}  // namespace memtrace::builtins
