// bpf_find_vma: the mapping that holds an address.
//
// The kernel shows the mapping to a callback, under the lock of the mappings. What leaves the
// callback is a number: fields are read through helpers afterwards, as through any pointer of the
// kernel. Nobody keeps the mapping in place then, so that a thread that unmaps it at this very
// moment may leave older contents to be read.
#include <cerrno>

#include "compiler/codegen/function_lowering.h"

namespace memtrace::codegen {

llvm::Value* FunctionLowering::FindVma(llvm::Value* address, diag::Span span) {
  // Through the scratch slot the verifier forgets that it was a pointer, which may not be
  // calculated with.
  Bytes result = ScratchTemporary(8);
  ir_.CreateStore(Number(0), result.pointer);
  uint32_t field = NewFrameField();
  ir_.CreateStore(result.pointer, FrameField(field));
  llvm::Function* callback = Callback("vma", "ppp", 2, span, [&](llvm::Function& function) {
    llvm::Value* to = ir_.CreateLoad(ir_.getPtrTy(), FrameField(field));
    ir_.CreateStore(ir_.CreatePtrToInt(function.getArg(1), ir_.getInt64Ty()), to);
  });
  llvm::Value* task = Call(Helper::get_current_task_btf, {});
  llvm::Value* status = Call(Helper::find_vma, {task, address, callback, here_.frame, Number(0)});
  llvm::Value* found =
      ir_.CreateAlignedLoad(ir_.getInt64Ty(), result.pointer, llvm::Align(8), true);
  // Nothing mapped there, and tasks without mappings.
  llvm::Value* is_error =
      ir_.CreateAnd(ir_.CreateICmpSLT(status, Number(0)),
                    ir_.CreateICmpNE(status, Number(static_cast<uint64_t>(-ENOENT))));
  return ir_.CreateSelect(is_error, status, found);
}

}  // namespace memtrace::codegen
