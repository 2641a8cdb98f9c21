#include "compiler/codegen/module_builder.h"

#include <linux/bpf.h>

#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>

#include "bpf-headers/memtrace/record.h"
#include "compiler/base/check.h"

namespace memtrace::codegen {
namespace {

// Every page of the sections below is allocated by the kernel: rounding keeps slots aligned, no
// more.
constexpr uint32_t kSlotAlignment = 64;

constexpr std::string_view kScratchSection = ".bss.scratch";

uint32_t RoundUp(uint32_t value, uint32_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

// Whether all calls of one run of a program give the same: a program neither changes its CPU nor
// its task. LLVM then makes one call of several, and none of those whose result nobody needs.
bool StaysTheSame(Helper helper) {
  switch (helper) {
    case Helper::get_smp_processor_id:
    case Helper::get_current_pid_tgid:
    case Helper::get_current_uid_gid:
    case Helper::get_current_task:
    case Helper::get_current_task_btf:
    case Helper::get_numa_node_id:
    case Helper::get_current_cgroup_id:
      return true;
    default:
      return false;
  }
}

}  // namespace

ModuleBuilder::ModuleBuilder(const sema::TypedProgram& program, const plan::Plan& plan,
                             const diag::SourceMap& sources, llvm::Module& module)
    : program_(program),
      plan_(plan),
      sources_(sources),
      module_(module),
      context_(module.getContext()),
      debug_(module, sources) {
  uint32_t state_size = std::max<uint32_t>(plan.state_size, 8);
  state_ = NewZeroed(plan::kStateSymbol, plan::kStateSection, state_size);
  state_->setLinkage(llvm::GlobalValue::ExternalLinkage);
  // libbpf makes the section mappable when its variables are global.
  debug_.AddBytes(*state_, state_size);

  auto* license =
      new llvm::GlobalVariable(module_, llvm::ArrayType::get(llvm::Type::getInt8Ty(context_), 4),
                               /*isConstant=*/true, llvm::GlobalValue::ExternalLinkage,
                               llvm::ConstantDataArray::getString(context_, "GPL"), "LICENSE");
  license->setSection("license");
}

llvm::Function* ModuleBuilder::Declaration(Helper helper) {
  llvm::Function*& function = helpers_[helper];
  if (function != nullptr) return function;
  const HelperInfo& info = Info(helper);
  auto type_of = [this](char letter) -> llvm::Type* {
    if (letter == 'p') return llvm::PointerType::get(context_, 0);
    return llvm::Type::getInt64Ty(context_);
  };
  llvm::SmallVector<llvm::Type*, 5> parameters;
  for (char letter : info.parameters) parameters.push_back(type_of(letter));
  function = llvm::Function::Create(
      llvm::FunctionType::get(type_of(info.result), parameters, /*isVarArg=*/false),
      llvm::GlobalValue::ExternalLinkage, llvm::StringRef(info.symbol), module_);
  if (StaysTheSame(helper)) {
    function->setDoesNotAccessMemory();
    function->setDoesNotThrow();
    function->setWillReturn();
  }
  return function;
}

llvm::GlobalVariable* ModuleBuilder::NewMap(
    std::string_view name, const std::vector<std::pair<std::string_view, uint32_t>>& attributes) {
  auto found = maps_.find(name);
  if (found != maps_.end()) return found->second;
  auto* type = llvm::ArrayType::get(llvm::Type::getInt64Ty(context_), attributes.size());
  auto* map = new llvm::GlobalVariable(
      module_, type, /*isConstant=*/false, llvm::GlobalValue::ExternalLinkage,
      llvm::ConstantAggregateZero::get(type), llvm::StringRef(name));
  map->setSection(".maps");
  map->setAlignment(llvm::Align(8));
  debug_.AddMap(*map, attributes);
  maps_.emplace(name, map);
  return map;
}

llvm::GlobalVariable* ModuleBuilder::ring() {
  return NewMap(plan::kRingMap,
                {{"type", BPF_MAP_TYPE_RINGBUF}, {"max_entries", plan_.config.ring_size}});
}

llvm::GlobalVariable* ModuleBuilder::stacks() {
  return NewMap(plan::kStackMap, {{"type", BPF_MAP_TYPE_HASH},
                                  {"map_flags", BPF_F_NO_PREALLOC},
                                  {"key_size", sizeof(mt_u64)},
                                  {"value_size", sizeof(mt_stack_entry)},
                                  {"max_entries", plan_.config.max_stacks}});
}

llvm::GlobalVariable* ModuleBuilder::HashMap(const plan::Map& map, uint32_t copy) {
  MT_CHECK(copy < map.symbols.size(), "a hash map has a symbol for each copy");
  uint32_t type =
      map.storage == plan::Storage::kPerCpuHash ? BPF_MAP_TYPE_PERCPU_HASH : BPF_MAP_TYPE_HASH;
  uint32_t flags = map.preallocated ? 0 : BPF_F_NO_PREALLOC;
  return NewMap(map.symbols[copy], {{"type", type},
                                    {"map_flags", flags},
                                    {"key_size", map.key_size},
                                    {"value_size", map.value_size},
                                    {"max_entries", map.max_entries}});
}

llvm::GlobalVariable* ModuleBuilder::NewZeroed(std::string_view name, std::string_view section,
                                               uint64_t size) {
  auto* type = llvm::ArrayType::get(llvm::Type::getInt8Ty(context_), size);
  auto* variable = new llvm::GlobalVariable(
      module_, type, /*isConstant=*/false, llvm::GlobalValue::InternalLinkage,
      llvm::ConstantAggregateZero::get(type), llvm::StringRef(name));
  variable->setSection(llvm::StringRef(section));
  variable->setAlignment(llvm::Align(64));
  return variable;
}

llvm::GlobalVariable* ModuleBuilder::Zeros(uint32_t size) {
  zeros_size_ = std::max(zeros_size_, size);
  if (zeros_ == nullptr) zeros_ = NewZeroed("mt_zeros", kScratchSection, 1);
  return zeros_;
}

llvm::GlobalVariable* ModuleBuilder::scratch() {
  if (scratch_ == nullptr) scratch_ = NewZeroed("mt_scratch", kScratchSection, 1);
  return scratch_;
}

llvm::GlobalVariable* ModuleBuilder::busy() {
  if (busy_ == nullptr) {
    busy_ = NewZeroed("mt_busy", kScratchSection, uint64_t{plan_.cpu_slots} * kBusyStride);
  }
  return busy_;
}

llvm::Value* ModuleBuilder::SlotSize(llvm::IRBuilder<>& builder) {
  if (slot_size_placeholder_ == nullptr) {
    slot_size_placeholder_ =
        llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getInt64Ty(context_), false),
                               llvm::GlobalValue::ExternalLinkage, "mt_slot_size", module_);
  }
  return builder.CreateCall(slot_size_placeholder_);
}

llvm::GlobalVariable* ModuleBuilder::NewConstant(llvm::Constant* value, uint32_t alignment) {
  auto* variable =
      new llvm::GlobalVariable(module_, value->getType(), /*isConstant=*/true,
                               llvm::GlobalValue::InternalLinkage, value, "mt_constant");
  variable->setAlignment(llvm::Align(alignment));
  // Not .rodata.str or .rodata.cst: each section becomes a map of its own.
  variable->setSection(".rodata");
  return variable;
}

llvm::GlobalVariable* ModuleBuilder::Text(std::string_view text, uint32_t size) {
  std::string padded(text.substr(0, size));
  padded.resize(RoundUp(size, 8), '\0');
  auto found = texts_.find(padded);
  if (found != texts_.end()) return found->second;
  auto* constant = llvm::ConstantDataArray::getString(context_, padded, /*AddNull=*/false);
  llvm::GlobalVariable* variable = NewConstant(constant, 8);
  texts_.emplace(std::move(padded), variable);
  return variable;
}

llvm::GlobalVariable* ModuleBuilder::Table(llvm::ArrayRef<uint64_t> values) {
  return NewConstant(llvm::ConstantDataArray::get(context_, values), 8);
}

void ModuleBuilder::Resize(llvm::GlobalVariable*& variable, std::string_view section,
                           uint64_t size) {
  if (variable == nullptr) return;
  std::string name(variable->getName());
  variable->setName("");
  llvm::GlobalVariable* sized = NewZeroed(name, section, size);
  variable->replaceAllUsesWith(sized);
  variable->eraseFromParent();
  variable = sized;
}

void ModuleBuilder::Finish() {
  uint32_t slot_size = RoundUp(slot_size_, kSlotAlignment);
  if (slot_size_placeholder_ != nullptr) {
    auto* size = llvm::ConstantInt::get(llvm::Type::getInt64Ty(context_), slot_size);
    while (!slot_size_placeholder_->use_empty()) {
      auto* call = llvm::cast<llvm::CallInst>(slot_size_placeholder_->user_back());
      call->replaceAllUsesWith(size);
      call->eraseFromParent();
    }
    slot_size_placeholder_->eraseFromParent();
    slot_size_placeholder_ = nullptr;
  }
  Resize(scratch_, kScratchSection, uint64_t{plan_.cpu_slots} * kScratchSlots * slot_size);
  Resize(zeros_, kScratchSection, RoundUp(zeros_size_, 8));
  debug_.Finish();
}

}  // namespace memtrace::codegen
