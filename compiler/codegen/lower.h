// Lower: from the typed program to an LLVM module, and from there to a BPF object.
//
// Generated code calls helpers by name (@mt_helper_map_lookup_elem, …; helpers.def). EmitObject
// binds the names to BPF helper numbers; the exec lane binds them to C++ functions and runs the
// module on the host. A module before that binding is therefore the same for both.
//
// The first three functions are all that the rest of the compiler needs, and know nothing of LLVM.
#pragma once

#include <memory>
#include <string>

#include "compiler/diag/diagnostics.h"
#include "compiler/diag/source.h"
#include "compiler/plan/plan.h"
#include "compiler/sema/typed.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace memtrace::codegen {

// The BPF object (ELF) of a program. A clause that needs more stack than BPF has is reported; any
// other failure of LLVM is a bug of ours and aborts.
std::string CompileObject(const sema::TypedProgram& program, const plan::Plan& plan,
                          const diag::SourceMap& sources, diag::Diagnostics& diagnostics);
// --dump=ir: the optimised module, with helpers by name and without debug information.
std::string DumpIr(const sema::TypedProgram& program, const plan::Plan& plan,
                   const diag::SourceMap& sources);
// --dump=asm: BPF assembly of what CompileObject emits.
std::string DumpAsm(const sema::TypedProgram& program, const plan::Plan& plan,
                    const diag::SourceMap& sources, diag::Diagnostics& diagnostics);

// A module with one function per program, the globals mt_state and mt_scratch, the maps, and debug
// info for each (BTF and line info come from it). Passes of the optimiser have not run.
std::unique_ptr<llvm::Module> Lower(const sema::TypedProgram& program, const plan::Plan& plan,
                                    const diag::SourceMap& sources, llvm::LLVMContext& context);

// Runs the passes that the verifier and speed need; the same for BPF and host.
void Optimise(llvm::Module& module);

// Binds helpers to BPF numbers and emits an ELF object.
std::string EmitObject(llvm::Module& module);
// The same as BPF assembly text.
std::string EmitAssembly(llvm::Module& module);
// Text of the module without its debug information.
std::string Dump(llvm::Module& module);

}  // namespace memtrace::codegen
