// The functions that the table in table.cc names, by the file that defines them.
#pragma once

#include "compiler/codegen/builtin.h"

namespace memtrace::builtins {

using codegen::Bytes;
using codegen::FunctionLowering;
using codegen::Padding;
using sema::Call;

// names.cc
llvm::Value* Pid(FunctionLowering& lowering, const Call& call);
llvm::Value* Tid(FunctionLowering& lowering, const Call& call);
llvm::Value* Uid(FunctionLowering& lowering, const Call& call);
llvm::Value* Gid(FunctionLowering& lowering, const Call& call);
llvm::Value* Cpu(FunctionLowering& lowering, const Call& call);
llvm::Value* Ncpus(FunctionLowering& lowering, const Call& call);
llvm::Value* Numaid(FunctionLowering& lowering, const Call& call);
llvm::Value* Cgroup(FunctionLowering& lowering, const Call& call);
llvm::Value* Elapsed(FunctionLowering& lowering, const Call& call);
llvm::Value* Jiffies(FunctionLowering& lowering, const Call& call);
llvm::Value* Curtask(FunctionLowering& lowering, const Call& call);
llvm::Value* Rand(FunctionLowering& lowering, const Call& call);
llvm::Value* Probe(FunctionLowering& lowering, const Call& call);
llvm::Value* Func(FunctionLowering& lowering, const Call& call);
llvm::Value* Ctx(FunctionLowering& lowering, const Call& call);
llvm::Value* Usermode(FunctionLowering& lowering, const Call& call);
llvm::Value* Nsecs(FunctionLowering& lowering, const Call& call);
void Comm(FunctionLowering& lowering, const Call& call, Bytes to, Padding padding);
void Stack(FunctionLowering& lowering, const Call& call, Bytes to, Padding padding);

// output.cc
llvm::Value* Record(FunctionLowering& lowering, const Call& call);
llvm::Value* Exit(FunctionLowering& lowering, const Call& call);

// maps.cc
llvm::Value* Delete(FunctionLowering& lowering, const Call& call);
llvm::Value* Len(FunctionLowering& lowering, const Call& call);
llvm::Value* HasKey(FunctionLowering& lowering, const Call& call);
llvm::Value* Find(FunctionLowering& lowering, const Call& call);

// values.cc
llvm::Value* FirstArgument(FunctionLowering& lowering, const Call& call);
llvm::Value* Strlen(FunctionLowering& lowering, const Call& call);
llvm::Value* Strncmp(FunctionLowering& lowering, const Call& call);
llvm::Value* Strcontains(FunctionLowering& lowering, const Call& call);
llvm::Value* IsErr(FunctionLowering& lowering, const Call& call);
llvm::Value* FindVma(FunctionLowering& lowering, const Call& call);
void Str(FunctionLowering& lowering, const Call& call, Bytes to, Padding padding);
void Usym(FunctionLowering& lowering, const Call& call, Bytes to, Padding padding);

}  // namespace memtrace::builtins
