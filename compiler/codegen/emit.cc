// Optimise and emit: the passes we run, and LLVM's BPF back end.
#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/BasicAliasAnalysis.h>
#include <llvm/Analysis/OptimizationRemarkEmitter.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/CodeGen/CommandFlags.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/IR/PassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Scalar/DCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include "compiler/base/check.h"
#include "compiler/codegen/helpers.h"
#include "compiler/codegen/lower.h"

// The BPF target's entry points; LLVM's own header pulls in every target that it was built with.
extern "C" {
void LLVMInitializeBPFTargetInfo();
void LLVMInitializeBPFTarget();
void LLVMInitializeBPFTargetMC();
void LLVMInitializeBPFAsmPrinter();
}

namespace memtrace::codegen {
namespace {

// Calls by name become calls by number: that is how BPF knows its helpers.
void BindHelpers(llvm::Module& module) {
  llvm::Type* number_type = llvm::Type::getInt64Ty(module.getContext());
  for (const HelperInfo& info : kHelpers) {
    llvm::Function* function = module.getFunction(llvm::StringRef(info.symbol));
    if (function == nullptr) continue;
    function->replaceAllUsesWith(llvm::ConstantExpr::getIntToPtr(
        llvm::ConstantInt::get(number_type, info.number), function->getType()));
    function->eraseFromParent();
  }
}

std::unique_ptr<llvm::TargetMachine> NewTargetMachine() {
  LLVMInitializeBPFTargetInfo();
  LLVMInitializeBPFTarget();
  LLVMInitializeBPFTargetMC();
  LLVMInitializeBPFAsmPrinter();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget("bpfel", error);
  MT_CHECK(target != nullptr, "LLVM has its BPF target");
  // v3: atomics with results and 32-bit jumps; v4 needs Linux 6.6.
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine("bpfel", "v3", "", llvm::TargetOptions(), llvm::Reloc::PIC_,
                                  std::nullopt, llvm::CodeGenOptLevel::Default));
}

std::string Emit(llvm::Module& module, llvm::CodeGenFileType type) {
  BindHelpers(module);
  std::unique_ptr<llvm::TargetMachine> machine = NewTargetMachine();
  module.setDataLayout(machine->createDataLayout());
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  bool refused = machine->addPassesToEmitFile(passes, out, nullptr, type);
  MT_CHECK(!refused, "the BPF back end emits objects");
  passes.run(module);
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace

void Optimise(llvm::Module& module) {
  // Analyses are registered by hand: llvm::PassBuilder would link every pass that there is.
  llvm::FunctionAnalysisManager analyses;
  analyses.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
  analyses.registerPass([] { return llvm::DominatorTreeAnalysis(); });
  analyses.registerPass([] { return llvm::AssumptionAnalysis(); });
  analyses.registerPass([] { return llvm::TargetLibraryAnalysis(); });
  analyses.registerPass([] { return llvm::TargetIRAnalysis(); });
  analyses.registerPass([] { return llvm::OptimizationRemarkEmitterAnalysis(); });
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::DCEPass());
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) passes.run(function, analyses);
  }
}

std::string EmitObject(llvm::Module& module) {
  return Emit(module, llvm::CodeGenFileType::ObjectFile);
}

std::string EmitAssembly(llvm::Module& module) {
  return Emit(module, llvm::CodeGenFileType::AssemblyFile);
}

}  // namespace memtrace::codegen
