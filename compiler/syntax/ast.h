// The syntax tree: what the parser saw, before any name is looked up.
//
// Nodes are plain data in an arena that the Ast owns; a node's `span` covers its text. Nothing here
// is resolved: names are strings, types are spellings. The checker reads this tree and never edits
// it. Sugar that means exactly the same as something simpler (BEGIN for begin, `->` for `.` after a
// pointer) is kept as written where a message may want to show it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/arena.h"
#include "compiler/diag/source.h"

namespace memtrace::syntax {

using diag::Span;

enum class ExprKind : uint8_t {
  kInteger,
  kString,
  kBool,
  kName,
  kVariable,
  kMap,
  kPositional,
  kPositionalCount,
  kUnary,
  kBinary,
  kConditional,
  kCall,
  kMember,
  kIndex,
  kCast,
  kTuple,
  kRecord,
  kSizeof,
  kOffsetof,
  kIncrement,
  kUnit,
  kIn,
  kHas,
  kError,
};

enum class UnaryOp : uint8_t { kNot, kBitNot, kMinus, kPlus, kDereference, kAddressOf };

enum class BinaryOp : uint8_t {
  kMul,
  kDiv,
  kMod,
  kAdd,
  kSub,
  kShl,
  kShr,
  kLt,
  kLe,
  kGt,
  kGe,
  kEq,
  kNe,
  kBitAnd,
  kBitXor,
  kBitOr,
  kAnd,
  kOr,
  kCoalesce,  // a ?? b
};
std::string_view Spelling(UnaryOp op);
std::string_view Spelling(BinaryOp op);

// Unit of a literal or of `expr as UNIT`.
enum class UnitName : uint8_t { kNone, kNanoseconds, kBytes, kPages };

struct Expr {
  ExprKind kind;
  Span span;
  // Levels of nodes from here down, at most kMaxDepth (parser.h): who walks the tree may use a
  // stack frame per level. Long chains (a + b + …) are deep trees too.
  uint16_t height = 1;
};

// A type as written: "uint64", "struct task_struct *", "int8[4]", "string[64]".
struct TypeName {
  Span span;
  std::string name;  // "uint64", "task_struct", "string"; without struct/union/enum
  enum class Tag : uint8_t { kNone, kStruct, kUnion, kEnum } tag = Tag::kNone;
  uint8_t pointer_depth = 0;
  // Outermost first; for string[64] the one count. `int8[]` has 0: as many as the operand has.
  std::vector<uint32_t> array_counts;
};

struct Integer : Expr {
  uint64_t value;
  UnitName unit;  // 4KiB → 4096 bytes, 250ms → 250000000 ns
};
struct String : Expr {
  std::string value;  // escapes resolved; may hold any byte
};
struct Bool : Expr {
  bool value;
};
// A builtin (pid), an enumerator or a constant: the checker decides. In a call's callee it is a
// string.
struct Name : Expr {
  std::string name;
};
struct Variable : Expr {
  std::string name;  // with "$"
};
// @name or @name[key, …]. Several keys are one tuple key.
struct Map : Expr {
  std::string name;  // with "@"; "@" alone is a name of its own
  std::vector<Expr*> keys;
  Span name_span;
};
struct Positional : Expr {
  uint32_t index;  // $1 is 1
};
struct PositionalCount : Expr {};
struct Unary : Expr {
  UnaryOp op;
  Expr* operand;
};
struct Binary : Expr {
  BinaryOp op;
  Span op_span;
  Expr* left;
  Expr* right;
};
// condition ? then : otherwise; `then` is null for `a ?: b`.
struct Conditional : Expr {
  Expr* condition;
  Expr* then;
  Expr* otherwise;
};
struct Argument {
  std::string name;  // empty: positional
  Expr* value;
};
struct Call : Expr {
  std::string name;
  Span name_span;
  std::vector<Argument> arguments;
};
// object.name, object->name, or tuple.0 (then name is "0").
struct Member : Expr {
  Expr* object;
  std::string name;
  Span name_span;
  bool arrow;
};
struct Index : Expr {
  Expr* object;
  Expr* index;
};
struct Cast : Expr {
  TypeName type;
  Expr* operand;
};
struct Tuple : Expr {
  std::vector<Expr*> elements;
};
struct Record : Expr {
  std::vector<Argument> elements;  // all named
};
// sizeof(type) or sizeof(expression); one of the two is set. A lone name that is not one of the
// language's own types arrives as an expression (a Name), and may turn out to be a type.
struct Sizeof : Expr {
  bool has_type;
  TypeName type;
  Expr* operand;
};
struct Offsetof : Expr {
  TypeName type;
  std::vector<std::string> path;
};
// ++x, x++, --x, x--; `target` is a Variable or Map.
struct Increment : Expr {
  Expr* target;
  bool is_increment;
  bool is_prefix;
};
// operand as bytes
struct UnitCast : Expr {
  Expr* operand;
  UnitName unit;
};
// value in begin .. end
struct In : Expr {
  Expr* value;
  Expr* begin;
  Expr* end;
};
// One probe as written, split at ':' with the provider first: {"tracepoint", "kmem", "mm_page_*"}.
// An empty part stays (`interval:` is {"interval", ""}); quotes are removed from quoted parts.
// Whether the parts make sense is the provider row's business. `optional` is a trailing '?'.
struct ProbePart {
  std::string text;
  Span span;
};
struct ProbeSpec {
  Span span;
  std::vector<ProbePart> parts;
  bool optional = false;
  std::vector<ProbeSpec> alternatives;  // probe | probe | …: what follows the first
};

// has(probe) or has(object.member): whether this kernel has it, decided when the script is
// compiled.
struct Has : Expr {
  ProbeSpec* probe;  // null: `field` is set
  Member* field;
};
// Where something was wrong; already reported.
struct ErrorExpr : Expr {};

enum class StmtKind : uint8_t {
  kExpression,
  kAssign,
  kLet,
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
// target op= value; `compound` is false for plain `=`. Target is a Variable or Map.
struct Assign : Stmt {
  Expr* target;
  bool compound;
  BinaryOp op;
  Span op_span;
  Expr* value;
};
// let $x; let $x = value; let $x : type = value
struct Let : Stmt {
  std::string name;
  Span name_span;
  bool has_type;
  TypeName type;
  Expr* value;  // may be null
};
struct If : Stmt {
  Expr* condition;
  Block* then;
  Stmt* otherwise;  // null, a Block, or an If
};
struct While : Stmt {
  Expr* condition;
  Block* body;
};
// for ($i : begin..end) body
struct ForRange : Stmt {
  std::string variable;
  Span variable_span;
  Expr* begin;
  Expr* end;
  Block* body;
};
// for ($kv : @map) body
struct ForMap : Stmt {
  std::string variable;
  Span variable_span;
  std::string map;
  Span map_span;
  Block* body;
};
struct Unroll : Stmt {
  Expr* count;
  Block* body;
};
struct Break : Stmt {};
struct Continue : Stmt {};
struct Return : Stmt {
  Expr* value;  // may be null
};

struct Clause {
  Span span;
  std::vector<ProbeSpec> probes;
  Expr* predicate = nullptr;
  Block* body = nullptr;
};

// config = { name = value; … }
struct ConfigItem {
  std::string name;
  Span name_span;
  Expr* value;
};
// let @name = lruhash(1000);
struct MapDecl {
  Span span;
  std::string name;
  Span name_span;
  std::string kind;
  Expr* max_entries;  // may be null
};

struct Ast {
  Arena arena;
  std::vector<ConfigItem> config;
  std::vector<MapDecl> map_declarations;
  std::vector<Clause> clauses;
};

}  // namespace memtrace::syntax
