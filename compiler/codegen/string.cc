// Comparing and searching memory: strings, tuples, stacks.
#include "compiler/base/check.h"
#include "compiler/codegen/function_lowering.h"

namespace memtrace::codegen {

using syntax::BinaryOp;

// Up to here words are compared in a row, without a branch.
static constexpr uint32_t kInlineCompare = 64;

llvm::Value* FunctionLowering::BytesEqual(Bytes left, Bytes right, uint32_t size) {
  uint32_t alignment = std::min(left.alignment, right.alignment);
  auto difference_at = [&](uint32_t offset, uint32_t width) {
    llvm::Value* a = LoadInt(Offset(left.pointer, offset), width, false, width);
    llvm::Value* b = LoadInt(Offset(right.pointer, offset), width, false, width);
    return ir_.CreateXor(a, b);
  };
  uint32_t looped = size > kInlineCompare ? size / 8 * 8 : 0;
  llvm::Value* difference = Number(0);
  for (uint32_t offset = looped; offset < size;) {
    uint32_t width = std::min(8u, alignment);
    while (width > size - offset || offset % width != 0) width /= 2;
    difference = ir_.CreateOr(difference, difference_at(offset, width));
    offset += width;
  }
  llvm::Value* tail_equal = ir_.CreateICmpEQ(difference, Number(0));
  if (looped == 0) return tail_equal;

  Bytes flag = Temporary(8);
  ir_.CreateStore(Number(0), flag.pointer);
  BoundedLoop(looped / 8, [&](llvm::Value* index) {
    llvm::Value* offset = ir_.CreateMul(index, Number(8));
    llvm::Value* a = LoadInt(Offset(left.pointer, offset), 8, false, left.alignment);
    llvm::Value* b = LoadInt(Offset(right.pointer, offset), 8, false, right.alignment);
    llvm::Value* differs = ir_.CreateICmpNE(a, b);
    ir_.CreateStore(Bool(differs), flag.pointer);
    return differs;
  });
  llvm::Value* loop_equal =
      ir_.CreateICmpEQ(ir_.CreateLoad(ir_.getInt64Ty(), flag.pointer), Number(0));
  return ir_.CreateAnd(loop_equal, tail_equal);
}

// Byte by byte up to the first difference or NUL; the result is the difference there.
llvm::Value* FunctionLowering::CompareStrings(Bytes left, Bytes right, uint32_t size) {
  Bytes result = Temporary(8);
  ir_.CreateStore(Number(0), result.pointer);
  BoundedLoop(size, [&](llvm::Value* index) {
    llvm::Value* a = LoadInt(Offset(left.pointer, index), 1, false, 1);
    llvm::Value* b = LoadInt(Offset(right.pointer, index), 1, false, 1);
    llvm::Value* difference = ir_.CreateSub(a, b);
    ir_.CreateStore(difference, result.pointer);
    llvm::Value* ends = ir_.CreateICmpEQ(a, Number(0));
    return ir_.CreateOr(ends, ir_.CreateICmpNE(difference, Number(0)));
  });
  return ir_.CreateLoad(ir_.getInt64Ty(), result.pointer);
}

// Strings are padded with NULs, so the bytes that both have decide: the shorter one's last is a
// NUL.
llvm::Value* FunctionLowering::Compare(const sema::Compare& expr) {
  Bytes left = InMemory(*expr.left);
  Bytes right = InMemory(*expr.right);
  uint32_t size = std::min(left.size, right.size);
  bool is_equality = expr.op == BinaryOp::kEq || expr.op == BinaryOp::kNe;
  if (is_equality) {
    llvm::Value* equal = BytesEqual(left, right, size);
    return expr.op == BinaryOp::kEq ? equal : ir_.CreateNot(equal);
  }
  llvm::Value* order = CompareStrings(left, right, size);
  switch (expr.op) {
    case BinaryOp::kLt:
      return ir_.CreateICmpSLT(order, Number(0));
    case BinaryOp::kLe:
      return ir_.CreateICmpSLE(order, Number(0));
    case BinaryOp::kGt:
      return ir_.CreateICmpSGT(order, Number(0));
    case BinaryOp::kGe:
      return ir_.CreateICmpSGE(order, Number(0));
    case BinaryOp::kMul:
    case BinaryOp::kDiv:
    case BinaryOp::kMod:
    case BinaryOp::kAdd:
    case BinaryOp::kSub:
    case BinaryOp::kShl:
    case BinaryOp::kShr:
    case BinaryOp::kEq:
    case BinaryOp::kNe:
    case BinaryOp::kBitAnd:
    case BinaryOp::kBitXor:
    case BinaryOp::kBitOr:
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
    case BinaryOp::kCoalesce:
      break;
  }
  MT_UNREACHABLE("memory is compared by == != < <= > >=");
}

llvm::Value* FunctionLowering::StringLength(Bytes string) {
  Bytes result = Temporary(8);
  ir_.CreateStore(Number(0), result.pointer);
  BoundedLoop(string.size, [&](llvm::Value* index) {
    ir_.CreateStore(index, result.pointer);
    llvm::Value* byte = LoadInt(Offset(string.pointer, index), 1, false, 1);
    return ir_.CreateICmpEQ(byte, Number(0));
  });
  return ir_.CreateLoad(ir_.getInt64Ty(), result.pointer);
}

// Whether `needle` begins anywhere in `haystack`. Each start is one round of bpf_loop: the verifier
// sees one comparison instead of as many as there are starts.
llvm::Value* FunctionLowering::Contains(Bytes haystack, Bytes needle) {
  uint32_t haystack_field = NewFrameField();
  uint32_t needle_field = NewFrameField();
  uint32_t found_field = NewFrameField();
  ir_.CreateStore(haystack.pointer, FrameField(haystack_field));
  ir_.CreateStore(needle.pointer, FrameField(needle_field));
  ir_.CreateStore(Number(0), FrameField(found_field));
  uint32_t size = haystack.size;
  uint32_t needle_size = needle.size;
  llvm::Function* callback =
      Callback("contains", "ip", 1, program_.span, [&](llvm::Function& function) {
        llvm::BasicBlock* stop = NewBlock("stop");
        llvm::BasicBlock* inside = NewBlock("inside");
        llvm::Value* start = function.getArg(0);
        ir_.CreateCondBr(ir_.CreateICmpULT(start, Number(size)), inside, stop);
        ir_.SetInsertPoint(inside);
        llvm::Value* from = ir_.CreateLoad(ir_.getPtrTy(), FrameField(haystack_field));
        llvm::Value* what = ir_.CreateLoad(ir_.getPtrTy(), FrameField(needle_field));
        BoundedLoop(needle_size, [&](llvm::Value* index) {
          llvm::BasicBlock* found = NewBlock("found");
          llvm::BasicBlock* more = NewBlock("more");
          llvm::BasicBlock* same = NewBlock("same");
          llvm::BasicBlock* differs = here_.continue_to;
          llvm::Value* wanted = LoadInt(Offset(what, index), 1, false, 1);
          ir_.CreateCondBr(ir_.CreateICmpEQ(wanted, Number(0)), found, more);
          ir_.SetInsertPoint(found);
          ir_.CreateStore(Number(1), FrameField(found_field));
          ir_.CreateBr(stop);
          ir_.SetInsertPoint(more);
          llvm::Value* position = ir_.CreateAdd(start, index);
          llvm::BasicBlock* readable = NewBlock("readable");
          ir_.CreateCondBr(ir_.CreateICmpULT(position, Number(size)), readable, differs);
          ir_.SetInsertPoint(readable);
          llvm::Value* actual = LoadInt(Offset(from, position), 1, false, 1);
          ir_.CreateCondBr(ir_.CreateICmpEQ(actual, wanted), same, differs);
          ir_.SetInsertPoint(same);
          return static_cast<llvm::Value*>(nullptr);
        });
        ir_.CreateBr(here_.continue_to);
        ir_.SetInsertPoint(stop);
        ir_.CreateBr(here_.break_to);
        ir_.SetInsertPoint(NewBlock("dead"));
      });
  Call(Helper::loop, {Number(size), callback, here_.frame, Number(0)});
  llvm::Value* found = ir_.CreateLoad(ir_.getInt64Ty(), FrameField(found_field));
  return ir_.CreateICmpNE(found, Number(0));
}

}  // namespace memtrace::codegen
