#include "tests/exec/machine.h"

#include <cstring>

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/TargetSelect.h>

#include "bpf-headers/memtrace/record.h"
#include "compiler/base/check.h"

namespace memtrace::exec {
namespace {

Error FromLlvm(llvm::Error error) {
  return Error(ErrorKind::kOther, llvm::toString(std::move(error)));
}

bool IsMap(const llvm::GlobalVariable& variable) { return variable.getSection() == ".maps"; }

// Makes of a module for BPF one for the host: what names the target, debug info (which means
// nothing to the JIT), and sections go; what this file looks up becomes visible.
void MoveToHost(llvm::Module& module, const llvm::orc::LLJIT& jit) {
  llvm::StripDebugInfo(module);
  module.setTargetTriple(jit.getTargetTriple().str());
  module.setDataLayout(jit.getDataLayout());
  for (llvm::Function& function : module) {
    function.removeFnAttr("target-cpu");
    function.removeFnAttr("target-features");
    function.setSection("");
  }
  for (llvm::GlobalVariable& variable : module.globals()) {
    if (!variable.hasName() || variable.isDeclaration()) continue;
    variable.setLinkage(llvm::GlobalValue::ExternalLinkage);
    variable.setSection("");
  }
}

struct Global {
  std::string name;
  uint64_t size;
  bool is_map;
};

std::vector<Global> GlobalsOf(const llvm::Module& module) {
  std::vector<Global> globals;
  for (const llvm::GlobalVariable& variable : module.globals()) {
    if (!variable.hasName() || variable.isDeclaration()) continue;
    globals.push_back({.name = variable.getName().str(),
                       .size = module.getDataLayout().getTypeAllocSize(variable.getValueType()),
                       .is_map = IsMap(variable)});
  }
  return globals;
}

}  // namespace

Machine::Machine(const plan::Plan& plan, World& world)
    : plan_(plan), world_(world), cpus_(plan.cpu_slots), ring_(plan.config.ring_size) {
  for (const plan::Map& map : plan.maps) {
    for (const std::string& symbol : map.symbols) {
      maps_[symbol] = std::make_unique<FakeMap>(ShapeOf(map), world.memory);
    }
  }
  maps_[std::string(plan::kStackMap)] =
      std::make_unique<FakeMap>(FakeMap::Shape{.key_size = sizeof(mt_u64),
                                               .value_size = sizeof(mt_stack_entry),
                                               .max_entries = plan.config.max_stacks},
                                world.memory);
}

Machine::~Machine() = default;

FakeMap::Shape Machine::ShapeOf(const plan::Map& map) const {
  return {.key_size = map.key_size,
          .value_size = map.value_size,
          .max_entries = map.max_entries,
          .copies = map.storage == plan::Storage::kPerCpuHash ? cpus_ : 1};
}

Result<std::unique_ptr<Machine>> Machine::Create(std::unique_ptr<llvm::LLVMContext> context,
                                                 std::unique_ptr<llvm::Module> module,
                                                 const plan::Plan& plan, World& world) {
  std::unique_ptr<Machine> machine(new Machine(plan, world));
  MT_RETURN_IF_ERROR(machine->Compile(std::move(context), std::move(module)));
  return machine;
}

Result<void*> Machine::Address(const std::string& symbol) {
  auto found = jit_->lookup(symbol);
  if (!found) return FromLlvm(found.takeError());
  return found->toPtr<void*>();
}

Result<Done> Machine::Compile(std::unique_ptr<llvm::LLVMContext> context,
                              std::unique_ptr<llvm::Module> module) {
  static const bool kInitialised = !llvm::InitializeNativeTarget() &&
                                   !llvm::InitializeNativeTargetAsmPrinter() &&
                                   !llvm::InitializeNativeTargetAsmParser();
  MT_CHECK(kInitialised, "LLVM has the host's code generator");

  // Programs are small and run a few times: compile time is what matters.
  auto target = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!target) return FromLlvm(target.takeError());
  target->setCodeGenOptLevel(llvm::CodeGenOptLevel::None);
  auto jit = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(*target)).create();
  if (!jit) return FromLlvm(jit.takeError());
  jit_ = std::move(*jit);

  std::vector<Global> globals = GlobalsOf(*module);
  MoveToHost(*module, *jit_);

  llvm::orc::SymbolMap helpers;
  for (const FakeHelper& helper : FakeHelpers()) {
    helpers[jit_->mangleAndIntern(llvm::StringRef(helper.symbol))] = {
        llvm::orc::ExecutorAddr::fromPtr(helper.address), llvm::JITSymbolFlags::Exported};
  }
  if (llvm::Error error =
          jit_->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(helpers)))) {
    return FromLlvm(std::move(error));
  }
  llvm::orc::ThreadSafeModule owned(std::move(module), std::move(context));
  if (llvm::Error error = jit_->addIRModule(std::move(owned))) return FromLlvm(std::move(error));

  for (const Global& global : globals) {
    MT_ASSIGN_OR_RETURN(void* address, Address(global.name));
    if (global.name == plan::kStateSymbol) {
      state_ = {static_cast<std::byte*>(address), plan_.state_size};
    }
    if (!global.is_map) {
      world_.memory.AddHost(address, global.size);
    } else if (FakeMap* known = map(global.name)) {
      by_address_[address] = known;
    } else if (global.name != plan::kRingMap) {
      return Error(ErrorKind::kOther, "the module has a map that the plan has not: " + global.name);
    }
  }
  for (const plan::Program& program : plan_.programs) {
    MT_ASSIGN_OR_RETURN(void* address, Address(program.symbol));
    programs_.push_back(reinterpret_cast<void (*)(void*)>(address));
  }
  return Done{};
}

void Machine::Run(plan::Index program, void* context, uint32_t cpu) {
  Running before = ThisThread();
  ThisThread() = {.machine = this, .cpu = cpu};
  programs_[program](context);
  ThisThread() = before;
}

FakeMap* Machine::map(std::string_view symbol) {
  auto found = maps_.find(symbol);
  return found == maps_.end() ? nullptr : found->second.get();
}

FakeMap& Machine::MapAt(const void* address) {
  auto found = by_address_.find(address);
  MT_CHECK(found != by_address_.end(), "a map helper gets the address of a map");
  return *found->second;
}

uint64_t Machine::StateWord(uint32_t offset) const {
  uint64_t word;
  memcpy(&word, state_.data() + offset, sizeof(word));
  return word;
}

void Machine::SetStateWord(uint32_t offset, uint64_t word) {
  MT_CHECK(offset + sizeof(word) <= state_.size(), "a word of the state lies in it");
  memcpy(state_.data() + offset, &word, sizeof(word));
}

uint32_t Machine::Window(const plan::Map& map) const {
  uint32_t window;
  uint32_t offset = map.window_offset == plan::kNoIndex ? plan_.window_offset : map.window_offset;
  memcpy(&window, state_.data() + offset, sizeof(window));
  return window;
}

void Machine::FlipWindow(uint32_t offset) {
  uint32_t window;
  memcpy(&window, state_.data() + offset, sizeof(window));
  window ^= 1;
  memcpy(state_.data() + offset, &window, sizeof(window));
}

}  // namespace memtrace::exec
