// The typed program: what Check makes of the tree and all that Lower and BuildPlan read.
//
// Every name is resolved, every expression has a type, and nothing is left to decide but how to say
// it in BPF. A clause appears once per way of being served: a clause over several probes whose
// `args` differ is checked and kept once for each, so that a field access is always one known
// place.
//
// Integers: arithmetic happens in 64 bits. `type` of an arithmetic node is int64 or uint64; a
// narrower type only stands at loads, casts and declared variables, whose value is kept extended to
// 64 bits by its sign.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/base/arena.h"
#include "compiler/diag/source.h"
#include "compiler/plan/plan.h"
#include "compiler/probes/attach_plan.h"
#include "compiler/sema/function.h"
#include "compiler/syntax/ast.h"
#include "compiler/types/type.h"

namespace memtrace::sema {

using diag::Span;
using types::Type;

// Index of a @map, local variable, … in the vectors below.
using Id = uint32_t;
inline constexpr Id kNoId = UINT32_MAX;

enum class ExprKind : uint8_t {
  kConstant,  // integer, bool, enum, pointer known at compile time
  kString,    // literal; type string[length + 1] (or the place's size after conversion)
  kVariable,  // local variable
  kMapRead,   // @m or @m[key]: scalar; for an aggregation the folded number (count, sum, min, max,
              // avg)
  kContextField,  // args.field, or a raw tracepoint's argument
  kMember,        // field of a struct; see Member
  kIndex,         // element of an array, or pointer[index]
  kDereference,   // *pointer
  kAddressOf,     // &place
  kUnary,
  kBinary,   // arithmetic, bit operations and comparisons of integers and pointers
  kCompare,  // == and != (also <, > for strings) of strings, tuples, stacks, structs: memory
  kLogical,  // && and ||, short-circuit
  kConditional,
  kCast,
  kTuple,  // also records
  kTupleElement,
  kIncrement,
  kCall,
  kProbeIs,  // probe == "name" or func == "name": whether the index is one of `indices`
};

struct Expr {
  ExprKind kind;
  Span span;
  Type type;
};

struct Constant : Expr {
  uint64_t bits;  // extended to 64 bits by the type's sign
};
struct String : Expr {
  std::string value;
};
struct Variable : Expr {
  Id variable;
};
// How a map is reached: `keys` already converted to the types of the map's key fields.
struct MapPlace {
  Id map = kNoId;
  std::vector<Expr*> keys;
  // In the block of an interval that prints and clears the map: reads see the window just closed.
  bool closed_window = false;
};
struct MapRead : Expr {
  MapPlace place;
};

// Where an argument of the probe lies in the program's context.
struct ContextField : Expr {
  // Where the value lies (probes/attach_plan.h); decided with how the probe is attached.
  using From = probes::From;
  From from;
  uint32_t index;
  uint32_t offset;
  uint8_t bit_offset, bit_size;
  bool is_data_loc, is_relative_loc;
  probes::Operand operand;
};

// object.member. `object` is a pointer (then it is followed, through its Space) or a struct-typed
// place. The result is a value when `type` is a scalar or string, else (struct, array) again a
// place in the same memory.
struct Member : Expr {
  Expr* object;
  uint32_t offset;
  uint8_t bit_offset, bit_size;
};
// object[index]: `object` is a pointer or an array place. `element_size` in bytes. The checker has
// verified a constant index against a known count; a variable one is bounded by the code generator
// for arrays in BPF memory.
struct Index : Expr {
  Expr* object;
  Expr* index;
  uint32_t element_size;
};
struct Dereference : Expr {
  Expr* pointer;
};
struct AddressOf : Expr {
  Expr* place;
};
struct Unary : Expr {
  syntax::UnaryOp op;  // kNot, kBitNot, kMinus
  Expr* operand;
};
// Operands are 64 bits. `is_signed` decides / % >> < <= > >=. Shift counts are masked to 0…63,
// division by zero yields 0 and INT64_MIN / -1 yields INT64_MIN: the host and BPF agree. Pointer ±
// integer has been scaled.
struct Binary : Expr {
  syntax::BinaryOp op;
  bool is_signed;
  Expr* left;
  Expr* right;
};
// Both sides have the same type, or are strings of any size.
struct Compare : Expr {
  syntax::BinaryOp op;  // kEq, kNe, kLt, kLe, kGt, kGe
  Expr* left;
  Expr* right;
};
struct Logical : Expr {
  bool is_and;
  Expr* left;
  Expr* right;
  Expr* shared = nullptr;  // x of `x in a..b`, part of both sides: it is evaluated once, first
};
// `then` is null for `a ?: b`, whose condition is evaluated once. Both arms have this node's type.
struct Conditional : Expr {
  Expr* condition;
  Expr* then;
  Expr* otherwise;
};
// Between integers, enums, bool and pointers; also string[n] → string[m] (cut or padded), and
// integers read as arrays of bytes are not here.
struct Cast : Expr {
  Expr* operand;
};
struct Tuple : Expr {
  std::vector<Expr*> elements;  // placed at the offsets of type->members
};
struct TupleElement : Expr {
  Expr* tuple;
  uint32_t index;
};
// On a map: an exact atomic addition. Result: the value before or after.
struct Increment : Expr {
  bool is_prefix;
  int64_t delta;  // 1 or -1; the element size for pointers
  Id variable;    // kNoId when the target is a map
  MapPlace place;
};
// A builtin or function. `map` and `action` are set by those rows that need one.
struct Call : Expr {
  Function function;
  std::vector<Expr*> arguments;
  MapPlace place;  // clear, zero, delete, len, has_key, find, print(@m)
  plan::Index action =
      plan::kNoIndex;  // index of an ActionSite: what arguments are written into a record
  int64_t number = 0;  // what the row's check wants the lowering to know: a limit, a mode
};
struct ProbeIs : Expr {
  std::vector<uint64_t> indices;
  bool negated;
  const Expr* name;  // the probe's or the function's, whichever is compared
};

enum class StmtKind : uint8_t {
  kExpression,
  kAssignVariable,
  kAssignMap,
  kAddMap,
  kAggregate,
  kBlock,
  kIf,
  kWhile,
  kForRange,
  kForMap,
  kUnroll,
  kBreak,
  kContinue,
  kReturn,
};
struct Stmt {
  StmtKind kind;
  Span span;
};
struct Block : Stmt {
  std::vector<Stmt*> statements;
};
struct ExpressionStmt : Stmt {
  Expr* expr;
};
struct AssignVariable : Stmt {
  Id variable;
  Expr* value;  // of the variable's type
};
struct AssignMap : Stmt {
  MapPlace place;
  Expr* value;  // of the map's value type
};
// @m[k] += value (or -=: `value` is negated): an exact atomic addition.
struct AddMap : Stmt {
  MapPlace place;
  Expr* value;
};
// @m[k] = count() and relatives. `value` is null for count().
struct Aggregate : Stmt {
  MapPlace place;
  Function function;
  Expr* value;
};
struct If : Stmt {
  Expr* condition;
  Stmt* then;
  Stmt* otherwise;  // may be null
};
struct While : Stmt {
  Expr* condition;
  Stmt* body;
};
struct ForRange : Stmt {
  Id variable;
  Expr* begin;
  Expr* end;
  Stmt* body;
};
// `variable` is a tuple (key, value) filled for each element.
struct ForMap : Stmt {
  Id variable;
  Id map;
  Stmt* body;
  bool closed_window = false;
};
struct Unroll : Stmt {
  uint32_t count;
  Stmt* body;
};
struct Return : Stmt {};

struct LocalVariable {
  std::string name;
  Type type;
};

struct MapInfo {
  std::string name;
  Span first_use;
  std::vector<Type> keys;    // empty: keyless
  Type value;                // scalar type, or kAggregation
  uint32_t max_entries = 0;  // 0: config max_map_keys
  bool is_swapped = false;
  bool printed_at_exit = true;
};

// A call that writes a record: what BuildPlan makes an action of.
struct ActionSite {
  plan::ActionKind kind;
  Span span;
  std::string format;
  std::vector<plan::FormatPiece> pieces;
  std::vector<Type> arguments;  // in the order of the record
  Id map = kNoId;
  int64_t top = 0, div = 0;
  bool closed_window = false;
};

// How a program is attached: one or more probes that share its code.
struct ProbeUse {
  plan::Probe probe;    // `program` is filled in by BuildPlan
  uint64_t name_index;  // into probe_names
};

// A raw sys_enter/sys_exit program that serves many system calls: numbers and the probe name of
// each.
struct SyscallDispatch {
  bool is_enter = true;
  struct Call {
    uint32_t number;
    uint64_t name_index;
  };
  std::vector<Call> calls;  // empty: not a dispatching program
  // Bytes from the start of struct task_struct to thread_info.status (x86), whose TS_COMPAT bit
  // tells a 32-bit call; kNoCompat where there is no such thing.
  static constexpr uint32_t kNoCompat = UINT32_MAX;
  uint32_t compat_status_offset = kNoCompat;
};

// One BPF program.
struct Program {
  std::string symbol;  // "begin_0", "kmem_mm_page_alloc_1": unique, a valid C name
  plan::ProgramType type;
  plan::TracingTarget tracing_target = plan::TracingTarget::kNone;
  uint32_t attach_btf_id = 0;
  std::string attach_module;
  // Its probes are told apart by bpf_get_attach_cookie(): several kprobes share the program.
  bool names_by_cookie = false;
  uint32_t clause;
  Span span;  // of the clause
  std::vector<LocalVariable> variables;
  Expr* predicate = nullptr;  // may be null
  Block* body = nullptr;
  std::vector<ProbeUse> probes;
  SyscallDispatch syscalls;
  bool is_scoped = false;  // see plan::Program
  bool excludes_self = false;
  bool follows_forks = false;  // no clause of the script: keeps the tree of Scope; `body` is empty
  // An iterator's program: which u64 of its context are pointers (null after the last object), and
  // which of them is the task that the object belongs to; 0: there is none.
  std::vector<uint32_t> iterator_objects;
  uint32_t iterator_task = 0;
  std::vector<Id> swaps;  // maps whose closed window this interval program reads and clears
};

// Where the kernel keeps what scope filters and `memcg` ask for, in bytes from the start of each
// struct.
struct TaskLayout {
  uint32_t task_tgid = 0;     // task_struct.tgid
  uint32_t task_css_set = 0;  // task_struct.cgroups
  uint32_t set_default = 0;   // css_set.dfl_cgrp
  uint32_t set_memory = 0;    // css_set.subsys[memory_cgrp_id]
  uint32_t css_cgroup = 0;    // cgroup_subsys_state.cgroup
  uint32_t css_parent = 0;    // cgroup_subsys_state.parent
  uint32_t cgroup_css = 0;    // cgroup.self
  uint32_t cgroup_node = 0;   // cgroup.kn
  uint32_t node_id = 0;       // kernfs_node.id
};

struct TypedProgram {
  Arena arena;
  plan::Config config;
  std::vector<MapInfo> maps;
  std::vector<ActionSite> actions;
  std::vector<Program> programs;
  std::vector<std::string> probe_names;
  std::string kernel_release;
  uint32_t possible_cpus = 1;
  plan::Scope scope;       // its offsets are BuildPlan's
  TaskLayout task_layout;  // filled in as far as it is needed
};

// Deterministic text of the whole program with the type of every node: --dump=types.
std::string Dump(const TypedProgram& program);

}  // namespace memtrace::sema
