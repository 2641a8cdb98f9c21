#include "compiler/codegen/lower.h"

#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "compiler/base/check.h"
#include "compiler/codegen/function_lowering.h"
#include "compiler/codegen/module_builder.h"

namespace memtrace::codegen {
namespace {

// A module that LLVM would refuse is our bug: say which, while the module can still be read.
void VerifyModule(llvm::Module& module) {
  std::string problem;
  llvm::raw_string_ostream out(problem);
  if (!llvm::verifyModule(module, &out)) return;
  llvm::errs() << module << "\n" << problem << "\n";
  MT_UNREACHABLE("generated code is well-formed IR");
}

}  // namespace

std::unique_ptr<llvm::Module> Lower(const sema::TypedProgram& program, const plan::Plan& plan,
                                    const diag::SourceMap& sources, llvm::LLVMContext& context) {
  auto module = std::make_unique<llvm::Module>("script", context);
  module->setTargetTriple("bpfel");
  module->setDataLayout("e-m:e-p:64:64-i64:64-i128:128-n32:64-S128");
  ModuleBuilder builder(program, plan, sources, *module);
  for (const sema::Program& one : program.programs) FunctionLowering(builder, one).Lower();
  builder.Finish();
  VerifyModule(*module);
  return module;
}

std::string Dump(llvm::Module& module) {
  auto copy = llvm::CloneModule(module);
  llvm::StripDebugInfo(*copy);
  std::string text;
  llvm::raw_string_ostream out(text);
  copy->print(out, nullptr);
  return text;
}

std::string CompileObject(const sema::TypedProgram& program, const plan::Plan& plan,
                          const diag::SourceMap& sources) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = Lower(program, plan, sources, context);
  Optimise(*module);
  return EmitObject(*module);
}

std::string DumpIr(const sema::TypedProgram& program, const plan::Plan& plan,
                   const diag::SourceMap& sources) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = Lower(program, plan, sources, context);
  Optimise(*module);
  return Dump(*module);
}

std::string DumpAsm(const sema::TypedProgram& program, const plan::Plan& plan,
                    const diag::SourceMap& sources) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = Lower(program, plan, sources, context);
  Optimise(*module);
  return EmitAssembly(*module);
}

}  // namespace memtrace::codegen
