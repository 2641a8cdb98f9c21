// Temporaries, copies, and reads through helpers.
#include "compiler/base/check.h"
#include "compiler/codegen/function_lowering.h"

namespace memtrace::codegen {
namespace {

// A larger temporary lies in the scratch slot.
constexpr uint32_t kStackTemporaryLimit = 64;
// Up to here memory is copied, zeroed and compared by words in a row; beyond, a helper or a loop
// does it.
constexpr uint32_t kInlineBytes = 128;

}  // namespace

FunctionLowering::TemporaryScope::TemporaryScope(FunctionLowering& lowering)
    : lowering_(lowering), scratch_top_(lowering.scratch_top_) {
  for (const StackTemporary& temporary : lowering.here_.temporaries) {
    in_use_.push_back(temporary.in_use);
  }
}

FunctionLowering::TemporaryScope::~TemporaryScope() {
  lowering_.scratch_top_ = scratch_top_;
  std::vector<StackTemporary>& temporaries = lowering_.here_.temporaries;
  for (size_t i = 0; i < temporaries.size(); ++i) {
    temporaries[i].in_use = i < in_use_.size() && in_use_[i];
  }
}

Bytes FunctionLowering::Temporary(uint32_t size) {
  MT_CHECK(size > 0, "a temporary has a size");
  uint32_t rounded = (size + 7) / 8 * 8;
  for (StackTemporary& temporary : here_.temporaries) {
    if (temporary.in_use || temporary.size != rounded) continue;
    temporary.in_use = true;
    return {temporary.memory, size, 8};
  }
  if (rounded <= kStackTemporaryLimit && rounded <= here_.stack_budget) {
    here_.stack_budget -= rounded;
    llvm::IRBuilder<> entry(here_.entry, here_.entry->begin());
    auto* memory = entry.CreateAlloca(llvm::ArrayType::get(ir_.getInt64Ty(), rounded / 8));
    memory->setAlignment(llvm::Align(8));
    here_.temporaries.push_back({.memory = memory, .size = rounded, .in_use = true});
    return {memory, size, 8};
  }
  return ScratchTemporary(size);
}

Bytes FunctionLowering::ScratchTemporary(uint32_t size) {
  uint32_t offset = scratch_top_;
  scratch_top_ += (size + 7) / 8 * 8;
  scratch_peak_ = std::max(scratch_peak_, scratch_top_);
  return {ScratchAt(offset), size, 8};
}

llvm::Value* FunctionLowering::Offset(llvm::Value* pointer, uint64_t bytes) {
  return bytes == 0 ? pointer : ir_.CreateConstGEP1_64(ir_.getInt8Ty(), pointer, bytes);
}

llvm::Value* FunctionLowering::Offset(llvm::Value* pointer, llvm::Value* bytes) {
  return ir_.CreateGEP(ir_.getInt8Ty(), pointer, bytes);
}

Bytes FunctionLowering::Part(Bytes whole, uint32_t offset, uint32_t size) {
  uint32_t alignment = whole.alignment;
  while (offset % alignment != 0) alignment /= 2;
  return {Offset(whole.pointer, offset), size, alignment};
}

llvm::Value* FunctionLowering::LoadInt(llvm::Value* pointer, uint32_t size, bool is_signed,
                                       uint32_t alignment) {
  alignment = std::min(alignment, size);
  llvm::Value* value =
      ir_.CreateAlignedLoad(ir_.getIntNTy(size * 8), pointer, llvm::Align(alignment));
  return is_signed ? ir_.CreateSExt(value, ir_.getInt64Ty())
                   : ir_.CreateZExt(value, ir_.getInt64Ty());
}

void FunctionLowering::StoreInt(llvm::Value* pointer, llvm::Value* value, uint32_t size,
                                uint32_t alignment) {
  alignment = std::min(alignment, size);
  ir_.CreateAlignedStore(ir_.CreateTrunc(value, ir_.getIntNTy(size * 8)), pointer,
                         llvm::Align(alignment));
}

// Calls `visit(offset, width)` for `size` bytes in chunks of a width that `alignment` allows.
static void ForEachChunk(uint32_t size, uint32_t alignment,
                         const std::function<void(uint32_t, uint32_t)>& visit) {
  uint32_t offset = 0;
  while (offset < size) {
    uint32_t width = std::min(8u, alignment);
    while (width > size - offset) width /= 2;
    visit(offset, width);
    offset += width;
  }
}

void FunctionLowering::Zero(Bytes bytes) {
  if (bytes.size > kInlineBytes) {
    Call(Helper::probe_read_kernel,
         {bytes.pointer, Number(bytes.size),
          ir_.CreatePtrToInt(module_.Zeros(bytes.size), ir_.getInt64Ty())});
    return;
  }
  ForEachChunk(bytes.size, bytes.alignment, [&](uint32_t offset, uint32_t width) {
    StoreInt(Offset(bytes.pointer, offset), Number(0), width, width);
  });
}

void FunctionLowering::Copy(Bytes to, llvm::Value* from, uint32_t from_alignment, uint32_t size) {
  if (size > kInlineBytes) {
    Call(Helper::probe_read_kernel,
         {to.pointer, Number(size), ir_.CreatePtrToInt(from, ir_.getInt64Ty())});
    return;
  }
  ForEachChunk(size, std::min(to.alignment, from_alignment), [&](uint32_t offset, uint32_t width) {
    llvm::Value* chunk = LoadInt(Offset(from, offset), width, false, width);
    StoreInt(Offset(to.pointer, offset), chunk, width, width);
  });
}

void FunctionLowering::ProbeRead(Bytes to, Memory memory, llvm::Value* address) {
  Helper helper = memory == Memory::kUser ? Helper::probe_read_user : Helper::probe_read_kernel;
  // The helper zeroes the destination when it fails.
  llvm::Value* status = Call(helper, {to.pointer, Number(to.size), address});
  if (!LossSite(plan::LossCause::kReadFailed, {})) return;
  When(
      ir_.CreateICmpSLT(status, Number(0)), [&] { CountLoss(plan::LossCause::kReadFailed); },
      /*likely=*/false);
}

llvm::Value* FunctionLowering::ProbeReadString(Bytes to, Memory memory, llvm::Value* address,
                                               llvm::Value* limit, Padding padding) {
  // Without padding an empty string still needs its NUL when nothing is read.
  if (padding == Padding::kZero) {
    Zero(to);
  } else {
    StoreInt(to.pointer, Number(0), 1, 1);
  }
  Helper helper =
      memory == Memory::kUser ? Helper::probe_read_user_str : Helper::probe_read_kernel_str;
  llvm::Value* length = Call(helper, {to.pointer, limit, address});
  llvm::Value* failed = ir_.CreateICmpSLT(length, Number(0));
  if (LossSite(plan::LossCause::kReadFailed, {})) {
    When(failed, [&] { CountLoss(plan::LossCause::kReadFailed); }, /*likely=*/false);
  }
  return ir_.CreateSelect(failed, Number(0), length);
}

void FunctionLowering::ReadString(Bytes to, Memory memory, llvm::Value* address, llvm::Value* limit,
                                  Padding padding) {
  llvm::Value* length = ProbeReadString(to, memory, address, limit, padding);
  if (!LossSite(plan::LossCause::kTruncated, {})) return;
  // The place is full: the string ended with its last byte, or it goes on.
  When(
      ir_.CreateICmpEQ(length, Number(to.size)),
      [&] {
        Bytes last = Temporary(8);
        ir_.CreateStore(Number(0), last.pointer);
        ProbeRead(Part(last, 0, 1), memory, ir_.CreateAdd(address, Number(to.size - 1)));
        llvm::Value* goes_on = ir_.CreateICmpNE(LoadInt(last.pointer, 1, false, 8), Number(0));
        When(goes_on, [&] { CountLoss(plan::LossCause::kTruncated); });
      },
      /*likely=*/false);
}

}  // namespace memtrace::codegen
