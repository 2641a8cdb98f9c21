// Lower: from the typed program to an LLVM module, and from there to a BPF object.
//
// Generated code calls helpers by name (@mt_helper_map_lookup_elem, …; helpers.def). EmitObject binds the
// names to BPF helper numbers; the exec lane binds them to C++ functions and runs the module on the host. A
// module before that binding is therefore the same for both.
#pragma once

#include <memory>
#include <string>

#include "compiler/base/result.h"
#include "compiler/diag/source.h"
#include "compiler/sema/typed.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace memtrace::codegen {

// A module with one function per program, the globals mt_state and mt_scratch, the maps, and debug
// info for each (BTF and line info come from it). Passes of the optimiser have not run.
std::unique_ptr<llvm::Module> Lower(const sema::TypedProgram& program, const plan::Plan& plan,
                                    const diag::SourceMap& sources, llvm::LLVMContext& context);

// Runs the passes that the verifier and speed need; the same for BPF and host.
void Optimise(llvm::Module& module);

// Binds helpers to BPF numbers and emits an ELF object. An LLVM failure is a bug of ours and aborts.
std::string EmitObject(llvm::Module& module);
// The same as BPF assembly text: --dump=asm.
std::string EmitAssembly(llvm::Module& module);
// --dump=ir
std::string Dump(const llvm::Module& module);

}  // namespace memtrace::codegen
