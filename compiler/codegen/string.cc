// Comparing and searching memory: strings, tuples, stacks.
#include <bit>

#include "compiler/base/check.h"
#include "compiler/codegen/function_lowering.h"

namespace memtrace::codegen {

using syntax::BinaryOp;

// Up to here words are compared in a row, without a branch.
static constexpr uint32_t kInlineCompare = 64;
// Rounds of a loop that the verifier may follow one by one. It keeps a branch for each until the
// end, and has room for 8,192.
static constexpr uint32_t kInlineRounds = 64;

// The first of `rounds` rounds in which `ends` holds, or `rounds`. `ends` gets the pointers anew,
// because a long search runs in a callback. The result comes back through the scratch slot: the
// verifier then goes on once, and not once for each round that may be the last.
llvm::Value* FunctionLowering::FirstRound(uint32_t rounds, llvm::ArrayRef<llvm::Value*> pointers,
                                          const RoundFunction& ends) {
  Bytes result = ScratchTemporary(8);
  ir_.CreateStore(Number(rounds), result.pointer);
  if (rounds <= kInlineRounds) {
    BoundedLoop(rounds, [&](llvm::Value* index) {
      llvm::Value* end = ends(index, pointers);
      When(end, [&] { ir_.CreateStore(index, result.pointer); });
      return end;
    });
    return ir_.CreateAlignedLoad(ir_.getInt64Ty(), result.pointer, llvm::Align(8), true);
  }
  std::vector<uint32_t> fields = {NewFrameField()};
  ir_.CreateStore(result.pointer, FrameField(fields[0]));
  for (llvm::Value* pointer : pointers) {
    fields.push_back(NewFrameField());
    ir_.CreateStore(pointer, FrameField(fields.back()));
  }
  llvm::Function* callback =
      Callback("search", "ip", 1, program_.span, [&](llvm::Function& function) {
        llvm::Value* index = function.getArg(0);
        llvm::BasicBlock* inside = NewBlock("inside");
        llvm::BasicBlock* found = NewBlock("found");
        // Always true; the verifier of older kernels does not know the limit.
        ir_.CreateCondBr(ir_.CreateICmpULT(index, Number(rounds)), inside, here_.break_to);
        ir_.SetInsertPoint(inside);
        std::vector<llvm::Value*> loaded;
        for (uint32_t field : fields) {
          loaded.push_back(ir_.CreateLoad(ir_.getPtrTy(), FrameField(field)));
        }
        llvm::Value* end = ends(index, llvm::ArrayRef(loaded).drop_front());
        ir_.CreateCondBr(end, found, here_.continue_to);
        ir_.SetInsertPoint(found);
        ir_.CreateStore(index, loaded[0]);
        ir_.CreateBr(here_.break_to);
        ir_.SetInsertPoint(NewBlock("dead"));
      });
  Call(Helper::loop, {Number(rounds), callback, here_.frame, Number(0)});
  return ir_.CreateAlignedLoad(ir_.getInt64Ty(), result.pointer, llvm::Align(8), true);
}

llvm::Value* FunctionLowering::BytesEqual(Bytes left, Bytes right, uint32_t size) {
  uint32_t alignment = std::min(left.alignment, right.alignment);
  uint32_t looped = size > kInlineCompare ? size / 8 * 8 : 0;
  llvm::Value* difference = Number(0);
  for (uint32_t offset = looped; offset < size;) {
    uint32_t width = std::min(8u, alignment);
    while (width > size - offset || offset % width != 0) width /= 2;
    llvm::Value* a = LoadInt(Offset(left.pointer, offset), width, false, width);
    llvm::Value* b = LoadInt(Offset(right.pointer, offset), width, false, width);
    difference = ir_.CreateOr(difference, ir_.CreateXor(a, b));
    offset += width;
  }
  llvm::Value* tail_equal = ir_.CreateICmpEQ(difference, Number(0));
  if (looped == 0) return tail_equal;
  llvm::Value* words =
      FirstRound(looped / 8, {left.pointer, right.pointer},
                 [&](llvm::Value* index, llvm::ArrayRef<llvm::Value*> pointers) {
                   llvm::Value* offset = ir_.CreateMul(index, Number(8));
                   llvm::Value* a = LoadInt(Offset(pointers[0], offset), 8, false, left.alignment);
                   llvm::Value* b = LoadInt(Offset(pointers[1], offset), 8, false, right.alignment);
                   return ir_.CreateICmpNE(a, b);
                 });
  return ir_.CreateAnd(ir_.CreateICmpEQ(words, Number(looped / 8)), tail_equal);
}

// Whether one of the eight bytes is 0.
llvm::Value* FunctionLowering::HasNul(llvm::Value* word) {
  llvm::Value* borrowed = ir_.CreateSub(word, Number(0x0101010101010101));
  llvm::Value* high = ir_.CreateAnd(borrowed, ir_.CreateNot(word));
  return ir_.CreateICmpNE(ir_.CreateAnd(high, Number(0x8080808080808080)), Number(0));
}

// Where the first NUL of `left` or the first difference to `right` is (`right` may be `left`),
// below `size`: word by word, then byte by byte in that word.
llvm::Value* FunctionLowering::FirstEnd(Bytes left, Bytes right, uint32_t size) {
  llvm::Value* start = Number(0);
  if (size > 8) {
    llvm::Value* words = FirstRound(
        size / 8, {left.pointer, right.pointer},
        [&](llvm::Value* index, llvm::ArrayRef<llvm::Value*> pointers) {
          llvm::Value* offset = ir_.CreateMul(index, Number(8));
          llvm::Value* a = LoadInt(Offset(pointers[0], offset), 8, false, left.alignment);
          llvm::Value* b = LoadInt(Offset(pointers[1], offset), 8, false, right.alignment);
          return ir_.CreateOr(ir_.CreateICmpNE(a, b), HasNul(a));
        });
    // Changes nothing, but bounds for the verifier what came from memory.
    words = ir_.CreateAnd(words, Number(std::bit_ceil(size / 8 + 1) - 1));
    start = ir_.CreateMul(words, Number(8));
  }
  llvm::Value* rest = FirstRound(
      8, {left.pointer, right.pointer},
      [&](llvm::Value* index, llvm::ArrayRef<llvm::Value*> pointers) {
        // Opaque: LLVM would add to the pointer first, past what is compared here.
        llvm::Value* position = Opaque(ir_.CreateAdd(start, index));
        llvm::Value* is_inside = ir_.CreateICmpULT(position, Number(size));
        return Choose(
            is_inside,
            [&] {
              llvm::Value* a = LoadInt(Offset(pointers[0], position), 1, false, 1);
              llvm::Value* b = LoadInt(Offset(pointers[1], position), 1, false, 1);
              return ir_.CreateOr(ir_.CreateICmpNE(a, b), ir_.CreateICmpEQ(a, Number(0)));
            },
            [&]() -> llvm::Value* { return ir_.getTrue(); });
      });
  return Opaque(ir_.CreateAdd(start, rest));
}

// The difference of the bytes at the first place where the strings differ or end.
llvm::Value* FunctionLowering::CompareStrings(Bytes left, Bytes right, uint32_t size) {
  llvm::Value* position = FirstEnd(left, right, size);
  return Choose(
      ir_.CreateICmpULT(position, Number(size)),
      [&] {
        llvm::Value* a = LoadInt(Offset(left.pointer, position), 1, false, 1);
        llvm::Value* b = LoadInt(Offset(right.pointer, position), 1, false, 1);
        return ir_.CreateSub(a, b);
      },
      [&] { return Number(0); });
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
  return FirstEnd(string, string, string.size);
}

// Whether `needle` begins anywhere in `haystack`: each start is one round of bpf_loop.
llvm::Value* FunctionLowering::Contains(Bytes haystack, Bytes needle) {
  uint32_t haystack_field = NewFrameField();
  uint32_t needle_field = NewFrameField();
  uint32_t start_field = NewFrameField();
  uint32_t found_field = NewFrameField();
  ir_.CreateStore(haystack.pointer, FrameField(haystack_field));
  ir_.CreateStore(needle.pointer, FrameField(needle_field));
  ir_.CreateStore(Number(0), FrameField(start_field));
  ir_.CreateStore(Number(0), FrameField(found_field));
  uint32_t size = haystack.size;
  // Ends at the needle's NUL or where the two differ.
  auto ends = [&](llvm::Value* index, llvm::ArrayRef<llvm::Value*> pointers) {
    llvm::Value* start = ir_.CreateLoad(ir_.getInt64Ty(), FrameField(start_field));
    llvm::Value* wanted = LoadInt(Offset(pointers[1], index), 1, false, 1);
    llvm::Value* position = Opaque(ir_.CreateAdd(start, index));
    return Choose(
        ir_.CreateICmpULT(position, Number(size)),
        [&] {
          llvm::Value* actual = LoadInt(Offset(pointers[0], position), 1, false, 1);
          return ir_.CreateOr(ir_.CreateICmpEQ(wanted, Number(0)),
                              ir_.CreateICmpNE(actual, wanted));
        },
        [&]() -> llvm::Value* { return ir_.getTrue(); });
  };
  auto body = [&](llvm::Function& function) {
    TemporaryScope scope(*this);
    llvm::Value* start = function.getArg(0);
    llvm::BasicBlock* inside = NewBlock("inside");
    ir_.CreateCondBr(ir_.CreateICmpULT(start, Number(size)), inside, here_.break_to);
    ir_.SetInsertPoint(inside);
    ir_.CreateStore(start, FrameField(start_field));
    llvm::Value* from = ir_.CreateLoad(ir_.getPtrTy(), FrameField(haystack_field));
    llvm::Value* what = ir_.CreateLoad(ir_.getPtrTy(), FrameField(needle_field));
    llvm::Value* matched = Opaque(FirstRound(needle.size, {from, what}, ends));
    llvm::BasicBlock* ended = NewBlock("ended");
    llvm::BasicBlock* found = NewBlock("found");
    // The needle has a NUL, so a round always ends before its size.
    ir_.CreateCondBr(ir_.CreateICmpULT(matched, Number(needle.size)), ended, here_.continue_to);
    ir_.SetInsertPoint(ended);
    llvm::Value* last = LoadInt(Offset(what, matched), 1, false, 1);
    ir_.CreateCondBr(ir_.CreateICmpEQ(last, Number(0)), found, here_.continue_to);
    ir_.SetInsertPoint(found);
    ir_.CreateStore(Number(1), FrameField(found_field));
    ir_.CreateBr(here_.break_to);
    ir_.SetInsertPoint(NewBlock("dead"));
  };
  llvm::Function* callback = Callback("contains", "ip", 1, program_.span, body);
  Call(Helper::loop, {Number(size), callback, here_.frame, Number(0)});
  llvm::Value* found = ir_.CreateLoad(ir_.getInt64Ty(), FrameField(found_field));
  return ir_.CreateICmpNE(found, Number(0));
}

}  // namespace memtrace::codegen
