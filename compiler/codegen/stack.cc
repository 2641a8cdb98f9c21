// Stacks: walked into the scratch slot, named by a hash of their frames, kept once in mt_stacks.
//
// The kernel's own table (BPF_MAP_TYPE_STACK_TRACE) loses one of two stacks that fall into the same
// bucket; here frames are compared, and two stacks with one 64-bit hash are counted.
#include <linux/bpf.h>

#include "bpf-headers/memtrace/record.h"
#include "compiler/base/check.h"
#include "compiler/codegen/function_lowering.h"

namespace memtrace::codegen {
namespace {

using plan::LossCause;

// Odd, with about half of the bits set.
constexpr uint64_t kMix1 = 0x9e3779b97f4a7c15;
constexpr uint64_t kMix2 = 0xc2b2ae3d27d4eb4f;

// Frames on top of a kernel stack that are always our own machinery: the program, and what called
// it (seen on Linux 6.1, 6.12 and 6.18). What may come in addition, such as __traceiter_… where
// several programs hang on one tracepoint, is known by its name when the stack is printed: frames
// below the asked-for depth may not be kept in its place, or equal stacks would be different keys.
uint64_t OwnFrames(plan::ProgramType type) {
  switch (type) {
    case plan::ProgramType::kRawTracepoint:
      return 2;  // bpf_prog_…, bpf_trace_runN
    case plan::ProgramType::kTracing:
      return 2;  // bpf_prog_…, bpf_trampoline_…
    case plan::ProgramType::kTracepoint:
    case plan::ProgramType::kPerfEvent:
    case plan::ProgramType::kKprobe:
    case plan::ProgramType::kKprobeMulti:
    case plan::ProgramType::kUprobeMulti:
      return 0;  // walked from the registers where the event happened
  }
  MT_UNREACHABLE("a program type outside its enum");
}

}  // namespace

// A polynomial of the frames, mixed at the end. The loop is the longest of all in a program that
// counts stacks, so it does no more than that: two stacks of one hash are told apart by their
// frames and reported, they are not mistaken for each other.
llvm::Value* FunctionLowering::HashFrames(llvm::Value* frames, llvm::Value* count, uint32_t depth) {
  Bytes state = Temporary(8);
  ir_.CreateStore(ir_.CreateMul(count, Number(kMix2)), state.pointer);
  BoundedLoop(depth, [&](llvm::Value* index) {
    llvm::Value* frame = LoadInt(Offset(frames, ir_.CreateMul(index, Number(8))), 8, false, 8);
    llvm::Value* hash = ir_.CreateLoad(ir_.getInt64Ty(), state.pointer);
    hash = ir_.CreateAdd(ir_.CreateMul(hash, Number(kMix1)), frame);
    ir_.CreateStore(hash, state.pointer);
    return ir_.CreateICmpUGE(ir_.CreateAdd(index, Number(1)), count);
  });
  llvm::Value* hash = ir_.CreateLoad(ir_.getInt64Ty(), state.pointer);
  hash = ir_.CreateXor(hash, ir_.CreateLShr(hash, 32));
  hash = ir_.CreateMul(hash, Number(kMix2));
  hash = ir_.CreateXor(hash, ir_.CreateLShr(hash, 29));
  // 0 means no stack.
  llvm::Value* is_zero = ir_.CreateICmpEQ(hash, Number(0));
  return ir_.CreateSelect(is_zero, Number(1), hash);
}

// Puts the stack into the table unless it is there.
void FunctionLowering::KeepStack(Bytes entry, llvm::Value* hash, uint32_t depth) {
  Bytes key = Temporary(8);
  ir_.CreateStore(hash, key.pointer);
  llvm::Value* known = Call(Helper::map_lookup_elem, {module_.stacks(), key.pointer});
  llvm::BasicBlock* kept = NewBlock("kept");
  llvm::BasicBlock* compare = NewBlock("compare");
  llvm::BasicBlock* insert = NewBlock("insert");
  llvm::BasicBlock* collision = NewBlock("collision");
  ir_.CreateCondBr(ir_.CreateIsNotNull(known), compare, insert);

  ir_.SetInsertPoint(compare);
  // Read again: what the first loop taught the verifier about `count` would make it follow this one
  // once for every count there is.
  llvm::Value* count =
      ir_.CreateZExt(ir_.CreateAlignedLoad(ir_.getInt32Ty(), entry.pointer, llvm::Align(4),
                                           /*isVolatile=*/true),
                     ir_.getInt64Ty());
  llvm::BasicBlock* same_count = NewBlock("same_count");
  llvm::Value* known_count = LoadInt(known, 4, false, 4);
  ir_.CreateCondBr(ir_.CreateICmpEQ(known_count, count), same_count, collision);
  ir_.SetInsertPoint(same_count);
  BoundedLoop(depth, [&](llvm::Value* index) {
    llvm::BasicBlock* same = NewBlock("same");
    llvm::Value* offset =
        ir_.CreateAdd(ir_.CreateMul(index, Number(8)), Number(offsetof(mt_stack_entry, frames)));
    llvm::Value* ours = LoadInt(Offset(entry.pointer, offset), 8, false, 8);
    llvm::Value* theirs = LoadInt(Offset(known, offset), 8, false, 8);
    ir_.CreateCondBr(ir_.CreateICmpEQ(ours, theirs), same, collision);
    ir_.SetInsertPoint(same);
    return ir_.CreateICmpUGE(ir_.CreateAdd(index, Number(1)), count);
  });
  ir_.CreateBr(kept);

  ir_.SetInsertPoint(collision);
  CountLoss(LossCause::kStackCollision);
  ir_.CreateBr(kept);

  ir_.SetInsertPoint(insert);
  llvm::Value* status = Call(Helper::map_update_elem,
                             {module_.stacks(), key.pointer, entry.pointer, Number(BPF_ANY)});
  When(
      ir_.CreateICmpSLT(status, Number(0)), [&] { CountLoss(LossCause::kStackTableFull); },
      /*likely=*/false);
  JumpTo(kept);
}

// Writes the mt_stack_ref of the current stack to `to`.
void FunctionLowering::StoreStack(const sema::Call& call, Bytes to) {
  bool is_user = call.type.Is(types::Kind::kUserStack);
  uint32_t depth = std::min<uint32_t>(std::max<uint32_t>(call.type->depth, 1), MT_STACK_DEPTH);
  Bytes entry = Temporary(sizeof(mt_stack_entry));
  llvm::Value* frames = Offset(entry.pointer, offsetof(mt_stack_entry, frames));
  uint64_t flags = is_user ? BPF_F_USER_STACK : OwnFrames(program_.type);
  llvm::Value* length =
      Call(Helper::get_stack, {Context(), frames, Number(depth * 8), Number(flags)});
  llvm::Value* process = Number(0);
  if (is_user) process = ir_.CreateLShr(Call(Helper::get_current_pid_tgid, {}), 32);
  StoreInt(to.pointer, Number(0), 8, to.alignment);
  StoreInt(Offset(to.pointer, offsetof(mt_stack_ref, process)), process, 4, to.alignment);
  llvm::Value* flags_at = Offset(to.pointer, offsetof(mt_stack_ref, flags));
  StoreInt(flags_at, Number(0), 4, to.alignment);
  Choose(
      ir_.CreateICmpSGT(length, Number(0)),
      [&]() -> llvm::Value* {
        llvm::Value* count = ir_.CreateLShr(length, 3);
        llvm::Value* is_full = ir_.CreateICmpUGE(count, Number(depth));
        llvm::Value* truncated = ir_.CreateSelect(is_full, Number(MT_STACK_TRUNCATED), Number(0));
        StoreInt(entry.pointer, count, 4, 4);
        StoreInt(Offset(entry.pointer, offsetof(mt_stack_entry, flags)), truncated, 4, 4);
        StoreInt(flags_at, truncated, 4, to.alignment);
        llvm::Value* hash = HashFrames(frames, count, depth);
        StoreInt(to.pointer, hash, 8, to.alignment);
        KeepStack(entry, hash, depth);
        return ir_.getFalse();
      },
      [&]() -> llvm::Value* {
        // No frames at all is what a kernel thread has in user space.
        When(
            ir_.CreateICmpSLT(length, Number(0)),
            [&] {
              StoreInt(flags_at, Number(MT_STACK_FAILED), 4, to.alignment);
              CountLoss(LossCause::kStackFailed);
            },
            /*likely=*/false);
        return ir_.getFalse();
      });
}

}  // namespace memtrace::codegen
