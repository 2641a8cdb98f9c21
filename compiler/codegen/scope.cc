// Filters that a program begins with: whose events it sees; and the program that follows forks.
//
// Numbers are compared with words of mt_state that the reader wrote. The structures of tasks and
// cgroups are loaded through typed pointers, which the verifier knows from get_current_task_btf: a
// load then costs as much as in the kernel itself.
#include "compiler/codegen/function_lowering.h"

namespace memtrace::codegen {
namespace {

// Levels of cgroups that are looked at above a task's own: more than anybody nests, few enough for
// the verifier.
constexpr uint64_t kCgroupLevels = 64;

}  // namespace

void FunctionLowering::LeaveUnless(llvm::Value* condition, llvm::BasicBlock* otherwise) {
  llvm::BasicBlock* stays = NewBlock("in_scope");
  ir_.CreateCondBr(condition, stays, otherwise);
  ir_.SetInsertPoint(stays);
}

llvm::Value* FunctionLowering::StateWord(uint32_t offset) {
  return LoadInt(Offset(module_.state(), offset), 8, false, 8);
}

// An iterator's program: leaves after the last object, and writes a byte for each into the file
// that is read, so that a reader of few bytes gets a rest after as many objects.
void FunctionLowering::BeginObject(llvm::BasicBlock* otherwise) {
  if (program_.tracing_target != plan::TracingTarget::kIterator) return;
  TemporaryScope scope(*this);
  for (uint32_t index : program_.iterator_objects) {
    LeaveUnless(ir_.CreateICmpNE(ContextArgument(index), Number(0)), otherwise);
  }
  constexpr uint32_t kFile = 0;  // of struct bpf_iter_meta, which begins with it
  llvm::Value* file = LoadPointer(LoadPointer(Context(), 0), kFile);
  Bytes byte = Temporary(8);
  ir_.CreateStore(Number(0), byte.pointer);
  Call(Helper::seq_write, {file, byte.pointer, Number(1)});
}

// The same as FilterScope, of the task that an iterator shows.
void FunctionLowering::FilterVisited(llvm::BasicBlock* otherwise) {
  const plan::Scope& scope = plan().scope;
  TemporaryScope temporaries(*this);
  if (scope.processes != plan::ProcessScope::kAll) {
    Bytes process = Temporary(8);
    ir_.CreateStore(Number(0), process.pointer);
    llvm::Value* task = ContextArgument(program_.iterator_task);
    ProbeRead(Part(process, 0, 4), Memory::kKernel,
              ir_.CreateAdd(task, Number(module_.program().task_layout.task_tgid)));
    LeaveUnless(IsInScope(LoadInt(process.pointer, 4, false, 8)), otherwise);
  }
  if (scope.cgroup != plan::CgroupHierarchy::kNone) {
    llvm::Value* task = LoadPointer(Context(), program_.iterator_task * 8);
    LeaveUnless(ir_.CreateICmpNE(task, llvm::ConstantPointerNull::get(ir_.getPtrTy())), otherwise);
    LeaveUnless(IsInCgroup(task), otherwise);
  }
}

void FunctionLowering::FilterScope(llvm::BasicBlock* otherwise) {
  if (program_.is_scoped && program_.iterator_task != 0) return FilterVisited(otherwise);
  const plan::Scope& scope = plan().scope;
  bool by_process = program_.is_scoped && scope.processes != plan::ProcessScope::kAll;
  if (by_process || program_.excludes_self) {
    llvm::Value* process = ir_.CreateLShr(Call(Helper::get_current_pid_tgid, {}), 32);
    if (program_.excludes_self) {
      LeaveUnless(ir_.CreateICmpNE(process, StateWord(scope.self_offset)), otherwise);
    }
    if (by_process) LeaveUnless(IsInScope(process), otherwise);
  }
  if (program_.is_scoped && scope.cgroup != plan::CgroupHierarchy::kNone) {
    LeaveUnless(IsInCgroup(Call(Helper::get_current_task_btf, {})), otherwise);
  }
}

llvm::Value* FunctionLowering::IsInScope(llvm::Value* process) {
  const plan::Scope& scope = plan().scope;
  if (scope.processes == plan::ProcessScope::kProcess) {
    return ir_.CreateICmpEQ(process, StateWord(scope.process_offset));
  }
  auto [word, bit] = TreeBit(process);
  return ir_.CreateICmpNE(ir_.CreateAnd(LoadInt(word, 8, false, 8), bit), Number(0));
}

// The word of the tree's bitmap that holds the bit of a process, and the bit.
std::pair<llvm::Value*, llvm::Value*> FunctionLowering::TreeBit(llvm::Value* process) {
  llvm::Value* index = ir_.CreateAnd(process, Number(plan::kTreeBits - 1));
  llvm::Value* bytes = ir_.CreateShl(ir_.CreateLShr(index, 6), 3);
  llvm::Value* word = Offset(Offset(module_.state(), plan().scope.tree_offset), Opaque(bytes));
  return {word, ir_.CreateShl(Number(1), ir_.CreateAnd(index, Number(63)))};
}

llvm::Value* FunctionLowering::LoadPointer(llvm::Value* structure, uint32_t offset) {
  // Volatile: what is loaded is not to be loaded again from what may have changed meanwhile.
  return ir_.CreateAlignedLoad(ir_.getPtrTy(), Offset(structure, offset), llvm::Align(8),
                               /*isVolatile=*/true);
}

// The state of the task's cgroup in a hierarchy (struct cgroup_subsys_state).
llvm::Value* FunctionLowering::CgroupState(llvm::Value* task, plan::CgroupHierarchy hierarchy) {
  const sema::TaskLayout& layout = module_.program().task_layout;
  llvm::Value* set = LoadPointer(task, layout.task_css_set);
  if (hierarchy == plan::CgroupHierarchy::kMemory) return LoadPointer(set, layout.set_memory);
  return Offset(LoadPointer(set, layout.set_default), layout.cgroup_css);
}

llvm::Value* FunctionLowering::CgroupIdOf(llvm::Value* css) {
  const sema::TaskLayout& layout = module_.program().task_layout;
  llvm::Value* node = LoadPointer(LoadPointer(css, layout.css_cgroup), layout.cgroup_node);
  return ir_.CreateAlignedLoad(ir_.getInt64Ty(), Offset(node, layout.node_id), llvm::Align(8),
                               /*isVolatile=*/true);
}

// Whether the task's cgroup is that of the scope or lies below it.
llvm::Value* FunctionLowering::IsInCgroup(llvm::Value* task) {
  const sema::TaskLayout& layout = module_.program().task_layout;
  llvm::Value* wanted = StateWord(plan().scope.cgroup_offset);
  llvm::Value* css = CgroupState(task, plan().scope.cgroup);
  llvm::BasicBlock* before = ir_.GetInsertBlock();
  llvm::BasicBlock* level = NewBlock("cgroup");
  llvm::BasicBlock* up = NewBlock("cgroup_up");
  llvm::BasicBlock* done = NewBlock("cgroup_done");
  JumpTo(level);
  llvm::PHINode* current = ir_.CreatePHI(ir_.getPtrTy(), 2);
  llvm::PHINode* levels = ir_.CreatePHI(ir_.getInt64Ty(), 2);
  current->addIncoming(css, before);
  levels->addIncoming(Number(0), before);
  llvm::Value* found = ir_.CreateICmpEQ(CgroupIdOf(current), wanted);
  ir_.CreateCondBr(found, done, up);
  llvm::BasicBlock* compared = ir_.GetInsertBlock();

  ir_.SetInsertPoint(up);
  llvm::Value* parent = LoadPointer(current, layout.css_parent);
  llvm::Value* next = ir_.CreateAdd(levels, Number(1));
  llvm::Value* goes_on =
      ir_.CreateAnd(ir_.CreateICmpNE(parent, llvm::ConstantPointerNull::get(ir_.getPtrTy())),
                    ir_.CreateICmpULT(next, Number(kCgroupLevels)));
  current->addIncoming(parent, up);
  levels->addIncoming(next, up);
  ir_.CreateCondBr(goes_on, level, done);

  ir_.SetInsertPoint(done);
  llvm::PHINode* result = ir_.CreatePHI(ir_.getInt1Ty(), 2);
  result->addIncoming(ir_.getTrue(), compared);
  result->addIncoming(ir_.getFalse(), up);
  return result;
}

// On sched_process_fork(parent, child): the child is in the tree if its parent, which runs, is. A
// new thread finds the bit of its process as it should be.
void FunctionLowering::FollowFork() {
  llvm::Value* child = ContextArgument(1);
  Bytes number = Temporary(8);
  ir_.CreateStore(Number(0), number.pointer);
  ProbeRead(Part(number, 0, 4), Memory::kKernel,
            ir_.CreateAdd(child, Number(module_.program().task_layout.task_tgid)));
  llvm::Value* parent = ir_.CreateLShr(Call(Helper::get_current_pid_tgid, {}), 32);
  llvm::Value* parent_is_in = IsInScope(parent);
  auto [word, bit] = TreeBit(LoadInt(number.pointer, 4, false, 8));
  llvm::Value* is_in = ir_.CreateICmpNE(ir_.CreateAnd(LoadInt(word, 8, false, 8), bit), Number(0));
  When(
      ir_.CreateICmpNE(is_in, parent_is_in),
      [&, word = word, bit = bit] {
        ir_.CreateAtomicRMW(llvm::AtomicRMWInst::Xor, word, bit, llvm::MaybeAlign(8),
                            llvm::AtomicOrdering::Monotonic);
      },
      /*likely=*/false);
}

}  // namespace memtrace::codegen
