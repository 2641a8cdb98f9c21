// FunctionLowering: one program of the script becomes one LLVM function (and the callbacks of its
// loops).
//
// Scalars are i64 values, extended by their type. Everything else (strings, tuples, stacks,
// structs) is Bytes: memory that the program may touch. Small temporaries lie on the stack, the
// rest in the program's scratch slot; variables lie in the frame, a block of the stack that
// callbacks of loops receive as their context. A program without such loops gives its frame up to
// registers (SROA).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include <llvm/IR/IRBuilder.h>

#include "compiler/codegen/module_builder.h"
#include "compiler/sema/typed.h"

namespace memtrace::codegen {

// A value in memory that generated code reads and writes directly.
struct Bytes {
  llvm::Value* pointer;
  uint32_t size;
  uint32_t alignment;
};

enum class Memory : uint8_t {
  kBpf,      // `address` is a pointer that may be dereferenced
  kContext,  // `offset` bytes into the program's context
  kKernel,   // `address` is an i64, read through a helper
  kUser,
};
struct Place {
  Memory memory;
  llvm::Value* address = nullptr;
  uint32_t offset = 0;
  uint32_t alignment = 1;  // kBpf
};

// What follows the NUL of a string that is stored: in a record the reader stops there, elsewhere
// strings are compared and hashed as memory.
enum class Padding : uint8_t { kNone, kZero };

class FunctionLowering {
 public:
  FunctionLowering(ModuleBuilder& module, const sema::Program& program);
  void Lower();

  ModuleBuilder& module() { return module_; }
  const plan::Plan& plan() const { return module_.plan(); }
  const sema::Program& program() const { return program_; }
  llvm::IRBuilder<>& ir() { return ir_; }

  // ---- Expressions (expression.cc, place.cc) ----
  llvm::Value* Scalar(const sema::Expr& expr);
  llvm::Value* Condition(const sema::Expr& expr);  // i1
  // Where the value of a type that is no scalar lies. Only to be read, and only in this statement.
  Bytes InMemory(const sema::Expr& expr);
  // Writes the value into `to`, which has exactly the size of its type.
  void Store(const sema::Expr& expr, Bytes to, Padding padding = Padding::kZero);
  Place PlaceOf(const sema::Expr& expr);
  void ReadInto(Bytes to, const Place& place, sema::Type type, Padding padding);
  llvm::Value* LoadScalar(const Place& place, sema::Type type, uint32_t bit_offset,
                          uint32_t bit_size);
  // Cuts `value` to `type` and extends it again.
  llvm::Value* Narrow(llvm::Value* value, sema::Type type);
  void Evaluate(const sema::Expr& expr);

  // ---- Memory (memory.cc) ----
  Bytes Temporary(uint32_t size);
  // The same in the scratch slot: the verifier forgets what is put there.
  Bytes ScratchTemporary(uint32_t size);
  Bytes Part(Bytes whole, uint32_t offset, uint32_t size);
  void Zero(Bytes bytes);
  void Copy(Bytes to, llvm::Value* from, uint32_t from_alignment, uint32_t size);
  void Copy(Bytes to, Bytes from) { Copy(to, from.pointer, from.alignment, to.size); }
  llvm::Value* LoadInt(llvm::Value* pointer, uint32_t size, bool is_signed, uint32_t alignment);
  void StoreInt(llvm::Value* pointer, llvm::Value* value, uint32_t size, uint32_t alignment);
  llvm::Value* Offset(llvm::Value* pointer, uint64_t bytes);
  llvm::Value* Offset(llvm::Value* pointer, llvm::Value* bytes);
  // Reads through a helper; counts a failure. A string is read up to its NUL.
  void ProbeRead(Bytes to, Memory memory, llvm::Value* address);
  // Result: bytes read with the NUL, or 0.
  llvm::Value* ProbeReadString(Bytes to, Memory memory, llvm::Value* address, llvm::Value* limit,
                               Padding padding);
  // The same for str(): a string that goes on behind its place is counted as truncated.
  void ReadString(Bytes to, Memory memory, llvm::Value* address, llvm::Value* limit,
                  Padding padding);
  // `value`, of which LLVM no longer knows anything: what is masked afterwards stays masked.
  llvm::Value* Opaque(llvm::Value* value);
  // A mark without code: two branches that end in different numbers are not made one.
  void KeepApart(uint64_t number);

  // ---- Strings (string.cc) ----
  llvm::Value* BytesEqual(Bytes left, Bytes right, uint32_t size);      // i1
  llvm::Value* CompareStrings(Bytes left, Bytes right, uint32_t size);  // < 0, 0, > 0
  llvm::Value* Compare(const sema::Compare& compare);                   // i1
  llvm::Value* StringLength(Bytes string);
  llvm::Value* Contains(Bytes haystack, Bytes needle);

  // ---- Maps (map.cc, aggregate.cc) ----
  const plan::Map& PlanMap(sema::Id map) const { return plan().maps[map]; }
  llvm::Value* MapScalar(const sema::MapPlace& place, sema::Type type);
  void MapInto(const sema::MapPlace& place, Bytes to);
  void AssignMap(const sema::MapPlace& place, const sema::Expr& value);
  // Exact atomic addition; result: the value before.
  llvm::Value* AddMap(const sema::MapPlace& place, llvm::Value* delta, diag::Span span);
  void Aggregate(const sema::Aggregate& aggregate);
  llvm::Value* HasKey(const sema::MapPlace& place);  // i1
  llvm::Value* Delete(const sema::MapPlace& place);  // i1: whether there was one
  llvm::Value* Length(const sema::MapPlace& place, diag::Span span);
  llvm::Value* Find(const sema::Call& call);  // i1: whether it was there; sets the variable

  // ---- Records, stacks (record.cc, stack.cc) ----
  void EmitRecord(const sema::Call& call, bool wake);
  // Leaves the word that tells of exit() when the ring has no room for its record.
  void RequestExit(llvm::Value* status);
  void StoreStack(const sema::Call& call, Bytes to);
  void Leave();  // jumps to the end of the program

  // ---- Tasks and cgroups (scope.cc); pointers are those of the kernel, known to the verifier ----
  llvm::Value* LoadPointer(llvm::Value* structure, uint32_t offset);
  llvm::Value* CgroupState(llvm::Value* task, plan::CgroupHierarchy hierarchy);
  llvm::Value* CgroupIdOf(llvm::Value* css);

  // ---- Mappings (vma.cc) ----
  // Address of the current process's mapping that holds `address`, 0, or an error as -errno.
  llvm::Value* FindVma(llvm::Value* address, diag::Span span);

  // ---- Shared (function_lowering.cc) ----
  llvm::Value* Call(Helper helper, llvm::ArrayRef<llvm::Value*> arguments);
  llvm::Value* Number(uint64_t value) { return ir_.getInt64(value); }
  llvm::Value* Bool(llvm::Value* condition) { return ir_.CreateZExt(condition, ir_.getInt64Ty()); }
  llvm::Value* Context();
  llvm::Value* ContextArgument(uint32_t index);
  llvm::Value* Cpu();  // below cpu_slots
  llvm::Value* ProbeIndex();
  // The same of the function's name: `only` when the program serves one.
  llvm::Value* FunctionIndex(uint64_t only);
  llvm::Value* StateWord(uint32_t offset);  // a u64 of mt_state
  void CountLoss(plan::LossCause cause, std::string_view subject = {});
  llvm::BasicBlock* NewBlock(const char* name);
  // Runs `body` in a block of its own when `condition` holds.
  void When(llvm::Value* condition, const std::function<void()>& body, bool likely = true);
  // condition ? then() : otherwise(), as a phi.
  llvm::Value* Choose(llvm::Value* condition, const std::function<llvm::Value*()>& then,
                      const std::function<llvm::Value*()>& otherwise);
  // A loop of at most `limit` rounds, seen through by the verifier: body(index) returns an i1 that
  // ends it, or null.
  void BoundedLoop(uint64_t limit, const std::function<llvm::Value*(llvm::Value*)>& body);

 private:
  // A function being written: the program itself or a callback of it.
  struct StackTemporary {
    llvm::AllocaInst* memory;
    uint32_t size;
    bool in_use;
  };
  struct Activation {
    llvm::Function* function = nullptr;
    llvm::DISubprogram* scope = nullptr;
    llvm::BasicBlock* entry = nullptr;
    llvm::BasicBlock* leave = nullptr;
    llvm::BasicBlock* break_to = nullptr;
    llvm::BasicBlock* continue_to = nullptr;
    llvm::Value* frame = nullptr;
    uint32_t stack_budget = 0;
    std::vector<StackTemporary> temporaries;
  };
  // Frees what was taken since its construction.
  class TemporaryScope {
   public:
    explicit TemporaryScope(FunctionLowering& lowering);
    ~TemporaryScope();

   private:
    FunctionLowering& lowering_;
    uint32_t scratch_top_;
    std::vector<bool> in_use_;
  };
  // Until its end, instructions and losses belong to `span`.
  class Located {
   public:
    Located(FunctionLowering& lowering, diag::Span span)
        : lowering_(lowering),
          location_(lowering.ir_.getCurrentDebugLocation()),
          line_(lowering.line_) {
      lowering.SetLocation(span);
    }
    Located(const Located&) = delete;
    Located& operator=(const Located&) = delete;
    ~Located() {
      lowering_.ir_.SetCurrentDebugLocation(location_);
      lowering_.line_ = line_;
    }

   private:
    FunctionLowering& lowering_;
    llvm::DebugLoc location_;
    uint32_t line_;
  };
  struct Local {
    bool in_frame;
    uint32_t offset;
  };
  // What a keyed access found, by copy of the map.
  using ValueFunction = std::function<void(llvm::Value* value)>;

  // function_lowering.cc
  void PlaceVariables();
  void BeginFunction();
  void LowerPredicate(llvm::BasicBlock* otherwise);
  void DispatchSyscall(llvm::BasicBlock* otherwise);
  void LeaveIfCompat(llvm::BasicBlock* otherwise);
  void ClaimScratch(llvm::BasicBlock* otherwise);
  void ReleaseScratch();
  void InitialiseVariables();
  void FinishFrame();
  llvm::Value* FrameField(uint32_t offset);
  uint32_t NewFrameField();
  llvm::Value* ScratchAt(uint32_t offset);
  Bytes LocalBytes(sema::Id variable);
  void SetLocation(diag::Span span);
  std::optional<plan::Index> LossSite(plan::LossCause cause, std::string_view subject) const;

  // scope.cc
  void BeginObject(llvm::BasicBlock* otherwise);
  void FilterScope(llvm::BasicBlock* otherwise);
  void FilterVisited(llvm::BasicBlock* otherwise);
  void LeaveUnless(llvm::Value* condition, llvm::BasicBlock* otherwise);
  llvm::Value* IsInScope(llvm::Value* process);  // i1
  llvm::Value* IsInCgroup(llvm::Value* task);    // i1
  std::pair<llvm::Value*, llvm::Value*> TreeBit(llvm::Value* process);
  void FollowFork();

  // statement.cc
  void Statement(const sema::Stmt& stmt);
  void AssignVariable(const sema::AssignVariable& stmt);
  void StoreVariable(sema::Id variable, llvm::Value* scalar);
  void IfStatement(const sema::If& stmt);
  void UnrollStatement(const sema::Unroll& stmt);
  void JumpTo(llvm::BasicBlock* block);

  // loop.cc
  void WhileStatement(const sema::While& stmt);
  void ForRangeStatement(const sema::ForRange& stmt);
  void ForMapStatement(const sema::ForMap& stmt);
  void FillElement(const sema::ForMap& stmt, llvm::Value* key, llvm::Value* value);
  // Writes a callback (its parameters are pointers or numbers as `parameters` says; the frame is
  // number `frame_parameter`) that runs `body`, and returns it.
  llvm::Function* Callback(std::string_view name, std::string_view parameters,
                           unsigned frame_parameter, diag::Span span,
                           const std::function<void(llvm::Function&)>& body);
  void LeaveIfCallbackDid(bool left_before);

  // expression.cc
  llvm::Value* UnaryScalar(const sema::Unary& expr);
  llvm::Value* BinaryScalar(const sema::Binary& expr);
  llvm::Value* Comparison(const sema::Binary& expr);
  llvm::Value* Divide(const sema::Binary& expr, llvm::Value* left, llvm::Value* right);
  llvm::Value* LogicalCondition(const sema::Logical& expr);
  llvm::Value* ConditionalScalar(const sema::Conditional& expr);
  llvm::Value* CastScalar(const sema::Cast& expr);
  llvm::Value* IncrementScalar(const sema::Increment& expr);
  llvm::Value* ProbeIsCondition(const sema::ProbeIs& expr);
  void StoreConditional(const sema::Conditional& expr, Bytes to, Padding padding);
  void StoreCast(const sema::Cast& expr, Bytes to, Padding padding);
  void StoreTuple(const sema::Tuple& expr, Bytes to);
  // place.cc
  llvm::Value* ContextScalar(const sema::ContextField& field);
  Place ContextPlace(const sema::ContextField& field);
  Place StructInRegisters(const sema::ContextField& field);
  llvm::Value* RegisterOrSlot(const sema::ContextField& field, uint32_t slot);
  Place IndexPlace(const sema::Index& expr);
  Place MemberPlace(const sema::Member& expr);
  Place Pointee(const sema::Expr& pointer, uint64_t offset);
  llvm::Value* IndexScalar(const sema::Index& expr);

  // string.cc
  using RoundFunction =
      std::function<llvm::Value*(llvm::Value* index, llvm::ArrayRef<llvm::Value*> pointers)>;
  llvm::Value* FirstRound(uint32_t rounds, llvm::ArrayRef<llvm::Value*> pointers,
                          const RoundFunction& ends);
  llvm::Value* FirstEnd(Bytes left, Bytes right, uint32_t size);
  llvm::Value* HasNul(llvm::Value* word);

  // map.cc
  llvm::Value* Window(const plan::Map& map, bool closed);
  llvm::Value* StateSlot(const plan::Map& map, llvm::Value* cpu, bool closed);
  Bytes Key(const sema::MapPlace& place);
  // Calls `body` for the hash map itself, or for each copy under a branch on the window.
  llvm::Value* ForCopy(const plan::Map& map, bool closed,
                       const std::function<llvm::Value*(llvm::GlobalVariable*)>& body);
  llvm::Value* Lookup(const plan::Map& map, bool closed, llvm::Value* key);
  // Runs `found` with the value of the key, inserting zero first; counts a full map.
  void WithValue(const sema::MapPlace& place, const ValueFunction& found);
  llvm::Value* FoldedScalar(const sema::MapPlace& place, sema::Type type);
  llvm::Value* FoldState(const plan::Map& map, bool closed, sema::Type type);
  llvm::Value* FoldHash(const plan::Map& map, bool closed, llvm::Value* key, sema::Type type);
  llvm::Value* FoldAt(const sema::ForMap& stmt, llvm::Value* key, llvm::Value* value);
  // aggregate.cc
  struct Folded {
    llvm::Value* first;   // count, or the one number
    llvm::Value* second;  // avg: total
  };
  Folded FoldStep(const plan::Map& map, Folded so_far, llvm::Value* value);
  llvm::Value* FoldResult(const plan::Map& map, Folded folded, sema::Type type);
  void AggregateAt(const sema::Aggregate& stmt, const plan::Map& map, llvm::Value* value,
                   llvm::Value* number);
  void RaiseTo(llvm::Value* pointer, llvm::Value* number, const plan::Map& map);
  llvm::Value* OrderedImage(llvm::Value* number, bool is_signed);
  llvm::Value* BucketOf(const plan::Map& map, llvm::Value* number, bool is_signed);
  llvm::Value* LinearBucketOf(const plan::Map& map, llvm::Value* number, bool is_signed);
  llvm::Value* BitWidth(llvm::Value* number);

  // record.cc
  static bool NeedsOwnMemory(const sema::Expr& expr);
  void FillRecord(const sema::Call& call, const plan::Action& action, llvm::Value* record,
                  const std::vector<llvm::Value*>& scalars, const std::vector<Bytes>& computed);
  llvm::Value* WakeupFlags(bool wake);
  // stack.cc
  llvm::Value* HashFrames(llvm::Value* frames, llvm::Value* count, uint32_t depth);
  void KeepStack(Bytes entry, llvm::Value* hash, uint32_t depth);

  ModuleBuilder& module_;
  const sema::Program& program_;
  llvm::IRBuilder<> ir_;
  Activation here_;
  std::vector<Local> locals_;
  llvm::AllocaInst* frame_placeholder_ = nullptr;
  uint32_t frame_size_ = 0;
  uint32_t scratch_top_ = 0;  // bytes of the slot in use
  uint32_t scratch_peak_ = 0;
  bool leaves_from_callback_ = false;
  // What Logical::shared gave; only the sides of its node hold the expression.
  std::map<const sema::Expr*, llvm::Value*> evaluated_;
  uint32_t callbacks_ = 0;
  uint32_t line_ = 0;  // of what is being lowered
};

// The frame begins with what callbacks need of the program; variables follow.
inline constexpr uint32_t kFrameContext = 0;   // the program's context
inline constexpr uint32_t kFrameScratch = 8;   // its scratch slot
inline constexpr uint32_t kFrameBusyBit = 16;  // the bit of that slot in its CPU's bitmap
inline constexpr uint32_t kFrameProbe = 24;    // index into probe_names, when a program serves many
inline constexpr uint32_t kFrameLeft = 32;     // not 0: a callback left the program
inline constexpr uint32_t kFrameVariables = 40;

// Calls `visit` for every direct operand of `expr`.
void ForEachOperand(const sema::Expr& expr, const std::function<void(const sema::Expr&)>& visit);
// Whether evaluating `expr` changes something: it must then happen exactly once.
bool HasEffects(const sema::Expr& expr);
bool Mentions(const sema::Expr& expr, sema::Id variable);

inline llvm::StringRef Ref(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace memtrace::codegen
