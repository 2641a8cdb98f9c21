// ModuleBuilder: the module that programs are lowered into, and what they share: memory, maps,
// helpers.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include "compiler/codegen/debug_info.h"
#include "compiler/codegen/helpers.h"
#include "compiler/plan/plan.h"
#include "compiler/sema/typed.h"

namespace memtrace::codegen {

// Programs that may be nested on one CPU (task, soft and hard interrupt, NMI, preempted tasks),
// each with a scratch slot; a power of two that fits the byte of the bitmap.
inline constexpr uint32_t kScratchSlots = 8;
// Bytes between two CPUs' bitmaps: a cache line.
inline constexpr uint32_t kBusyStride = 64;

class ModuleBuilder {
 public:
  // All must outlive the builder.
  ModuleBuilder(const sema::TypedProgram& program, const plan::Plan& plan,
                const diag::SourceMap& sources, llvm::Module& module);

  const sema::TypedProgram& program() const { return program_; }
  const plan::Plan& plan() const { return plan_; }
  const diag::SourceMap& sources() const { return sources_; }
  llvm::Module& module() { return module_; }
  DebugInfo& debug() { return debug_; }
  uint32_t LineOf(diag::Span span) const { return sources_.PositionOf(span.begin).line; }

  llvm::Function* Declaration(Helper helper);

  llvm::GlobalVariable* state() { return state_; }
  llvm::GlobalVariable* ring();
  llvm::GlobalVariable* stacks();
  // The hash map of a plan::Map, its second copy when `copy` is 1.
  llvm::GlobalVariable* HashMap(const plan::Map& map, uint32_t copy);

  // Memory of at least `size` zero bytes that is never written.
  llvm::GlobalVariable* Zeros(uint32_t size);
  // A constant of the bytes of `text`, padded with NULs to `size`.
  llvm::GlobalVariable* Text(std::string_view text, uint32_t size);
  // A constant array of integers of the same width as `values`.
  llvm::GlobalVariable* Table(llvm::ArrayRef<uint64_t> values);

  // The scratch memory of all CPUs and slots, and one bitmap of taken slots for each CPU.
  llvm::GlobalVariable* scratch();
  llvm::GlobalVariable* busy();
  // A value that becomes the size of one slot when all programs have been lowered.
  llvm::Value* SlotSize(llvm::IRBuilder<>& builder);
  // A program uses `bytes` of its slot.
  void NeedScratch(uint32_t bytes) { slot_size_ = std::max(slot_size_, bytes); }

  // Fixes all sizes that were open. Nothing may be added afterwards.
  void Finish();

 private:
  llvm::GlobalVariable* NewMap(
      std::string_view name, const std::vector<std::pair<std::string_view, uint32_t>>& attributes);
  llvm::GlobalVariable* NewConstant(llvm::Constant* value, uint32_t alignment);
  llvm::GlobalVariable* NewZeroed(std::string_view name, std::string_view section, uint64_t size);
  // Gives a variable that stood for memory of unknown size its size.
  void Resize(llvm::GlobalVariable*& variable, std::string_view section, uint64_t size);

  const sema::TypedProgram& program_;
  const plan::Plan& plan_;
  const diag::SourceMap& sources_;
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  DebugInfo debug_;
  std::map<Helper, llvm::Function*> helpers_;
  std::map<std::string, llvm::GlobalVariable*, std::less<>> maps_;
  std::map<std::string, llvm::GlobalVariable*, std::less<>> texts_;
  llvm::GlobalVariable* state_ = nullptr;
  llvm::GlobalVariable* zeros_ = nullptr;
  llvm::GlobalVariable* scratch_ = nullptr;
  llvm::GlobalVariable* busy_ = nullptr;
  llvm::Function* slot_size_placeholder_ = nullptr;
  uint32_t zeros_size_ = 0;
  uint32_t slot_size_ = 0;
};

}  // namespace memtrace::codegen
