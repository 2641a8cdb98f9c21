// DebugInfo: what libbpf and the verifier want to know about a module.
//
// LLVM turns DWARF metadata into BTF. Needed are: a subprogram per function (callbacks are refused
// without BTF), a location on each instruction (a verifier message then names a line of the
// script), the definition of each map, and a variable for memory that the reader maps.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/GlobalVariable.h>

#include "compiler/diag/source.h"

namespace memtrace::codegen {

class DebugInfo {
 public:
  // `module` and `sources` must outlive it.
  DebugInfo(llvm::Module& module, const diag::SourceMap& sources);

  // Gives `function` a subprogram that begins at `span`. `is_entry`: a program, seen by libbpf;
  // else a callback.
  llvm::DISubprogram* AddFunction(llvm::Function& function, diag::Span span, bool is_entry);
  llvm::DebugLoc Location(diag::Span span, llvm::DISubprogram* function);

  // A BTF-defined map: `attributes` are written as `int (*name)[value]`.
  void AddMap(llvm::GlobalVariable& map,
              const std::vector<std::pair<std::string_view, uint32_t>>& attributes);
  // An array of `size` bytes.
  void AddBytes(llvm::GlobalVariable& variable, uint64_t size);

  void Finish() { builder_.finalize(); }

 private:
  llvm::DIFile* File(std::string_view name);
  llvm::DIType* NumberPointer(uint32_t number);  // int (*)[number]
  void Attach(llvm::GlobalVariable& variable, llvm::DIType* type);

  const diag::SourceMap& sources_;
  llvm::DIBuilder builder_;
  llvm::DICompileUnit* unit_;
  std::map<std::string, llvm::DIFile*, std::less<>> files_;
  llvm::DIType *int_, *long_, *byte_, *pointer_;
};

}  // namespace memtrace::codegen
