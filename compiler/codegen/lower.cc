#include "compiler/codegen/lower.h"

#include <set>
#include <string>

#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
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

// Turns LLVM's complaint about a frame of more than 512 bytes into a diagnostic of the clause, as
// long as it lives.
class StackReport {
 public:
  StackReport(const sema::TypedProgram& program, diag::Diagnostics& diagnostics,
              llvm::LLVMContext& context)
      : program_(program), diagnostics_(diagnostics) {
    context.setDiagnosticHandlerCallBack(&StackReport::Handle, this);
  }

 private:
  static void Handle(const llvm::DiagnosticInfo* info, void* self) {
    if (info->getSeverity() != llvm::DS_Error) return;
    const auto* unsupported = llvm::dyn_cast<llvm::DiagnosticInfoUnsupported>(info);
    std::string message = unsupported != nullptr ? unsupported->getMessage().str() : "";
    if (message.find("stack limit") == message.npos) {
      llvm::DiagnosticPrinterRawOStream printer(llvm::errs());
      info->print(printer);
      MT_UNREACHABLE("LLVM compiles what it is given");
    }
    static_cast<StackReport*>(self)->Add(unsupported->getFunction().getName().str());
  }

  // LLVM says it once for each access.
  void Add(const std::string& function) {
    const sema::Program* longest = nullptr;  // callbacks bear the name of their program and more
    for (const sema::Program& one : program_.programs) {
      if (function.starts_with(one.symbol) &&
          (longest == nullptr || one.symbol.size() > longest->symbol.size())) {
        longest = &one;
      }
    }
    MT_CHECK(longest != nullptr, "a function belongs to a program");
    if (!reported_.insert(longest->clause).second) return;
    diagnostics_
        .Error(diag::Code::kUnsupportedFeature, longest->span,
               "this clause needs more than the 512 bytes of stack that BPF has")
        .Note(
            "numbers in variables take 8 bytes each while they are needed; in a map, or split into "
            "several clauses, they take none");
  }

  const sema::TypedProgram& program_;
  diag::Diagnostics& diagnostics_;
  std::set<uint32_t> reported_;
};

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
                          const diag::SourceMap& sources, diag::Diagnostics& diagnostics) {
  llvm::LLVMContext context;
  StackReport report(program, diagnostics, context);
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
                    const diag::SourceMap& sources, diag::Diagnostics& diagnostics) {
  llvm::LLVMContext context;
  StackReport report(program, diagnostics, context);
  std::unique_ptr<llvm::Module> module = Lower(program, plan, sources, context);
  Optimise(*module);
  return EmitAssembly(*module);
}

}  // namespace memtrace::codegen
