// One raw sys_enter or sys_exit program that serves many system calls.
#include "compiler/codegen/function_lowering.h"

#include "compiler/base/check.h"

namespace memtrace::codegen {
namespace {

// Where the number of the running call lies in struct pt_regs (the kernel's ABI for ptrace).
#if defined(__x86_64__)
constexpr uint32_t kNumberInRegisters = 120;  // orig_ax
#elif defined(__aarch64__)
constexpr uint32_t kNumberInRegisters = 288;  // syscallno
#else
#error "which register holds the number of a system call on this architecture?"
#endif

// thread_info.status of x86 while a 32-bit call runs.
constexpr uint64_t kCompatStatus = 2;  // TS_COMPAT

}  // namespace

// Leaves for `otherwise` unless the running call is one of the program's. Which calls those are is
// asked first, as cheaply as can be: this runs on every system call of the machine.
void FunctionLowering::DispatchSyscall(llvm::BasicBlock* otherwise) {
  const sema::SyscallDispatch& dispatch = program_.syscalls;
  if (dispatch.calls.empty()) return;
  llvm::Value* number = nullptr;
  if (dispatch.is_enter) {
    number = ContextArgument(1);
  } else {
    Bytes word = Temporary(8);
    ProbeRead(word, Memory::kKernel, ir_.CreateAdd(ContextArgument(0), Number(kNumberInRegisters)));
    number = LoadInt(word.pointer, 8, false, 8);
  }
  uint32_t highest = 0;
  for (const auto& call : dispatch.calls) highest = std::max(highest, call.number);
  std::vector<uint64_t> bitmap(highest / 64 + 1), names(highest + 1);
  for (const auto& call : dispatch.calls) {
    bitmap[call.number / 64] |= uint64_t{1} << call.number % 64;
    names[call.number] = call.name_index;
  }
  llvm::BasicBlock* in_range = NewBlock("in_range");
  ir_.CreateCondBr(ir_.CreateICmpULE(number, Number(highest)), in_range, otherwise);
  ir_.SetInsertPoint(in_range);
  llvm::Value* word_at = ir_.CreateShl(ir_.CreateLShr(number, 6), 3);
  llvm::Value* word = LoadInt(Offset(module_.Table(bitmap), word_at), 8, false, 8);
  llvm::Value* bit =
      ir_.CreateAnd(ir_.CreateLShr(word, ir_.CreateAnd(number, Number(63))), Number(1));
  llvm::BasicBlock* ours = NewBlock("ours");
  ir_.CreateCondBr(ir_.CreateICmpNE(bit, Number(0)), ours, otherwise);
  ir_.SetInsertPoint(ours);
  LeaveIfCompat(otherwise);
  llvm::Value* name_at = ir_.CreateShl(number, 3);
  llvm::Value* name = LoadInt(Offset(module_.Table(names), name_at), 8, false, 8);
  ir_.CreateStore(name, FrameField(kFrameProbe));
}

// A 32-bit call has numbers of its own: int $0x80 with 45 is brk, not recvfrom.
void FunctionLowering::LeaveIfCompat(llvm::BasicBlock* otherwise) {
  uint32_t offset = program_.syscalls.compat_status_offset;
  if (offset == sema::SyscallDispatch::kNoCompat) return;
  Bytes status = Temporary(8);
  ir_.CreateStore(Number(0), status.pointer);
  llvm::Value* task = Call(Helper::get_current_task, {});
  ProbeRead(Part(status, 0, 4), Memory::kKernel, ir_.CreateAdd(task, Number(offset)));
  llvm::Value* flags = LoadInt(status.pointer, 4, false, 4);
  llvm::Value* compat = ir_.CreateAnd(flags, Number(kCompatStatus));
  llvm::BasicBlock* native = NewBlock("native");
  ir_.CreateCondBr(ir_.CreateICmpEQ(compat, Number(0)), native, otherwise);
  ir_.SetInsertPoint(native);
}

llvm::Value* FunctionLowering::ProbeIndex() {
  if (!program_.syscalls.calls.empty()) {
    return ir_.CreateLoad(ir_.getInt64Ty(), FrameField(kFrameProbe));
  }
  if (program_.names_by_cookie) {
    llvm::Value* cookie = Call(Helper::get_attach_cookie, {Context()});
    return ir_.CreateAnd(cookie, Number(UINT32_MAX));
  }
  MT_CHECK(!program_.probes.empty(), "a program serves at least one probe");
  return Number(program_.probes.front().name_index);
}

llvm::Value* FunctionLowering::FunctionIndex(uint64_t only) {
  if (!program_.names_by_cookie) return Number(only);
  return ir_.CreateLShr(Call(Helper::get_attach_cookie, {Context()}), 32);
}

}  // namespace memtrace::codegen
