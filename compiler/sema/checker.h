// Checker: the state of one Check, and what the rows of builtins and functions may ask of it.
//
// All clauses are walked again and again without reporting until the types of maps and variables
// stay the same; the last walk reports and its nodes are the product. So every walk is the same
// code. The member functions are defined in the files named by the headings below.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/kernel/kernel.h"
#include "compiler/probes/attach_plan.h"
#include "compiler/sema/check.h"
#include "compiler/sema/inferred.h"
#include "compiler/sema/row.h"
#include "compiler/sema/typed.h"
#include "compiler/sema/usage.h"
#include "compiler/user/programs.h"

namespace memtrace::sema {

class Checker {
 public:
  Checker(const syntax::Ast& ast, kernel::Kernel& kernel, const CheckOptions& options,
          diag::Diagnostics& diagnostics);

  TypedProgram Run();

  // ---- For all -------------------------------------------------------------------------------

  types::TypeTable& types() { return kernel_.types(); }
  kernel::Kernel& kernel() { return kernel_; }
  const plan::Config& config() const { return config_; }
  // Whether the command line had this many arguments.
  bool IsGiven(const syntax::Positional& positional) const;
  // The program that is being checked: its probes decide what some builtins mean.
  const probes::Group& group() const { return *group_; }
  // No probe of the clause exists or an error was reported: nothing is known about args.
  bool has_unknown_probes() const { return unknown_probes_; }
  uint64_t name_index() const {
    return program_->probes.empty() ? 0 : program_->probes[0].name_index;
  }

  // The index of a name that events can bear: a probe's or a function's.
  uint64_t NameIndex(const std::string& name);
  // The value that a function returns; an error where there is none.
  Expr* CheckResult(Span span);

  template <typename T>
  T* New(ExprKind kind, Span span, Type type) {
    T* node = product_.arena.New<T>();
    node->kind = kind;
    node->span = span;
    node->type = type;
    return node;
  }
  template <typename T>
  T* NewStmt(StmtKind kind, Span span) {
    T* node = product_.arena.New<T>();
    node->kind = kind;
    node->span = span;
    return node;
  }

  // A mistake at one place is kept once, however many probes the clause has, and not at all in the
  // walks that only infer types.
  diag::DiagnosticBuilder Error(diag::Code code, Span span, std::string message);
  diag::DiagnosticBuilder Warning(diag::Code code, Span span, std::string message);
  // Not again what was said in the same words before.
  void WarnOnce(diag::Code code, Span span, std::string message);
  // A node that fits everywhere, for a mistake that was reported.
  Expr* ErrorExpr(Span span);

  // ---- Expressions (expressions.cc, operators.cc, members.cc, names.cc, has.cc) ---------------

  // The value of an expression: never an aggregation and never nothing.
  Expr* CheckValue(const syntax::Expr& expr);
  // The same, but a call that yields nothing is fine.
  Expr* CheckExpr(const syntax::Expr& expr);
  // An integer: bools and enums count, a struct of one integer is seen through. `what` begins the
  // message: "the limit of kstack()".
  Expr* CheckInteger(const syntax::Expr& expr, std::string_view what);
  // An integer known now and within [low, high]; false after an error.
  bool CheckConstant(const syntax::Expr& expr, std::string_view what, int64_t low, int64_t high,
                     int64_t& out);
  // What `if`, `while`, `!`, `&&`, `?` and predicates take.
  Expr* CheckCondition(const syntax::Expr& expr);
  // The text of a string literal, or null after an error.
  const std::string* CheckLiteral(const syntax::Expr& expr, std::string_view what);

  Expr* ConstantOf(Span span, Type type, uint64_t bits);
  // `expr` as a value of `type`, which Unify() allowed.
  Expr* Convert(Expr* expr, Type type);
  static bool IsLiteral(const Expr& expr);
  // `expr` is an integer or sees through a one-field struct to one; null otherwise.
  Expr* AsInteger(Expr* expr);
  // `object`.`name`, reported at the object when there is no such field.
  Expr* Field(Expr* object, const std::string& name) {
    return MemberOf(object->span, object->span, object, name);
  }
  Type TypeNamed(const syntax::TypeName& name);
  void Complete(Type type);
  // Where a number that is used as an address points: what probes on programs see are addresses of
  // the process.
  types::Space AddressSpace() const {
    return group_ != nullptr && group_->is_user ? types::Space::kUser : types::Space::kKernel;
  }
  // Where the memory lies that a place or a pointer is in.
  static types::Space SpaceOf(const Expr& expr);

  // ---- Scope (scope.cc) ----------------------------------------------------------------------

  // Looks up where the kernel keeps a task's cgroups; false after an error at `span`.
  bool NeedTaskLayout(Span span, plan::CgroupHierarchy hierarchy);
  // The id of the cgroup at `path` as a constant of `type`, in the hierarchy of a kind of path.
  Expr* CgroupNamed(Span span, const std::string& path, types::Kind kind, Type type);

  // ---- Maps (maps.cc) ------------------------------------------------------------------------

  // Argument that must be a map: `@m` as a whole, or `@m[key]` when `with_key`. False after an
  // error.
  bool CheckMapArgument(const CallSyntax& call, const Row& row, size_t index, bool with_key,
                        MapPlace& place);
  // A map that is used as `@m, key`: sets the keys of `place`.
  void CheckKeys(MapPlace& place, const std::vector<const syntax::Expr*>& keys, Span span);
  Type MapValue(Id map) const;  // empty: not known yet
  bool IsKeyed(Id map) const;
  // Type of @m in an expression, the folded number of an aggregation; empty when not known (yet).
  Type ReadType(Id map);
  const std::string& MapName(Id map) const { return maps_[map].name; }
  Span MapFirstUse(Id map) const { return maps_[map].value.first; }
  bool IsClosedWindow(Id map) const { return closed_.contains(map); }
  Expr* ReadMap(Span span, MapPlace place);

  // ---- Calls (calls.cc) ----------------------------------------------------------------------

  // Reports a wrong number of positional arguments, and names that nobody asked for.
  bool CheckCount(const CallSyntax& call, const Row& row, size_t least, size_t most,
                  const std::vector<std::string_view>& names = {});
  // The positional arguments, and the named one or null.
  static std::vector<const syntax::Expr*> Positional(const CallSyntax& call);
  static const syntax::Expr* Named(const CallSyntax& call, std::string_view name);
  Call* NewCall(const Row& row, const CallSyntax& call, Type type);
  plan::Index AddAction(ActionSite site);
  // Declares or reuses `$name` for a value of `type` (find's third argument).
  Id VariableFor(const syntax::Variable& variable, Type type);
  Type VariableType(Id variable) const { return program_->variables[variable].type; }

 private:
  struct MapState {
    std::string name;
    Span first_use;
    Inferred value;
    std::vector<Inferred> keys;
    bool keys_known = false;
    Span keys_span;
    bool is_assigned = false;
    bool is_swapped = false;
    uint32_t max_entries = 0;
  };
  struct CheckedClause {
    const syntax::Clause* clause;
    std::vector<probes::Group> groups;
    bool unknown_probes = false;
  };
  // A variable in scope.
  struct Local {
    Id id;
    Inferred* inferred;
    bool is_set;
  };

  // check.cc
  void ReadConfig();
  void SetConfig(std::string_view name, Span span, const std::string& value);
  void DeclareMaps();
  void ExpandClauses();
  syntax::ProbeSpec WithPositionals(const syntax::ProbeSpec& written);
  void CheckClauses();
  void CheckProgram(const CheckedClause& clause, size_t index, const probes::Group& group);
  void FillProbes(Program& program, const probes::Group& group);
  void SetFilters(Program& program);
  void NeedLayoutFor(const Program& program);
  void AddFollowProgram();
  void FinishMaps();
  void CheckMapCount();
  bool FirstReport(diag::Code code, Span span, const std::string& message);

  // expressions.cc
  Expr* CheckString(const syntax::String& string);
  Expr* CheckPositional(const syntax::Positional& positional);
  Expr* CheckConditional(const syntax::Conditional& conditional);
  Expr* CheckTuple(Span span, const std::vector<Expr*>& elements,
                   const std::vector<std::string>& names);
  Expr* CheckCast(const syntax::Cast& cast);
  Expr* CheckUnitCast(const syntax::UnitCast& cast);
  Expr* CheckIn(const syntax::In& in);
  Expr* CheckSizeof(const syntax::Sizeof& expr);
  Expr* CheckOffsetof(const syntax::Offsetof& expr);
  Expr* CheckIncrement(const syntax::Increment& increment);
  Expr* ConvertTuple(Expr* expr, Type type);

  // operators.cc
  Expr* CheckUnary(const syntax::Unary& unary);
  Expr* CheckBinary(const syntax::Binary& binary);
  Expr* CheckComparison(Span span, syntax::BinaryOp op, Expr* left, Expr* right);
  Expr* CheckArithmetic(Span span, syntax::BinaryOp op, Expr* left, Expr* right);
  Expr* CheckPointerArithmetic(Span span, syntax::BinaryOp op, Expr* left, Expr* right);
  void WarnOfLongLiteral(syntax::BinaryOp op, const Expr& literal, const Expr& other);
  Expr* CompareMemory(Span span, syntax::BinaryOp op, Expr* left, Expr* right);
  Expr* ProbeIsNamed(Span span, syntax::BinaryOp op, const Expr& which, const String& name);
  Expr* NewBinary(Span span, syntax::BinaryOp op, Expr* left, Expr* right, Type type,
                  bool is_signed);
  bool ResultUnit(Span span, syntax::BinaryOp op, const Expr& left, const Expr& right,
                  types::Unit& unit);
  bool IsSigned(Span span, syntax::BinaryOp op, const Expr& left, const Expr& right);
  Expr* OperandError(Span span, std::string_view what, const Expr& left, const Expr& right);

  // members.cc
  Expr* CheckMember(const syntax::Member& member);
  Expr* CheckArgument(const syntax::Member& member);
  Expr* FieldOf(Span span, const probes::Field& field);
  Expr* MemberOf(Span span, Span name_span, Expr* object, const std::string& name);
  Expr* ElementOf(Span span, Span name_span, Expr* tuple, const std::string& name);
  Expr* CheckIndex(const syntax::Index& index);
  Expr* CheckDereference(Span span, Expr* pointer);
  void ReportNoField(Span span, const std::string& name);
  Type InSpace(Type type, types::Space space);

  // names.cc
  Expr* CheckName(const syntax::Name& name);
  Expr* CheckNumberedArgument(Span span, uint32_t number);
  Expr* CheckVariable(const syntax::Variable& variable);
  void ReportUnknownName(const syntax::Name& name);

  // has.cc
  std::optional<bool> Decide(const syntax::Expr& expr);
  std::optional<bool> HasField(const syntax::Member& field);
  bool HasProbe(const syntax::ProbeSpec& written);

  // calls.cc
  Expr* CheckCall(const syntax::Call& call);
  Expr* CallAggregation(const syntax::Call& call);
  static const Row* AggregationOf(const syntax::Expr& expr);
  void ReportUnknownFunction(const syntax::Call& call);

  // maps.cc
  Id MapNamed(const std::string& name, Span span);
  MapPlace CheckPlace(const syntax::Map& map);
  void CheckKeyCount(Id id, size_t count, Span span);
  void StoreIn(Id map, Type type, bool is_literal, Span span);
  void ReportNotNumber(Id map, Span span, std::string_view what);

  // statements.cc
  Stmt* CheckStmt(const syntax::Stmt& stmt);
  Block* CheckBlock(const syntax::Block& block);
  Stmt* CheckAssign(const syntax::Assign& assign);
  Stmt* AssignToVariable(const syntax::Assign& assign, const syntax::Variable& target);
  Stmt* AssignToMap(const syntax::Assign& assign, const syntax::Map& target);
  Stmt* AggregateInto(const syntax::Assign& assign, const syntax::Map& target);
  Stmt* AddToMap(const syntax::Assign& assign, const syntax::Map& target);
  Stmt* CheckLet(const syntax::Let& let);
  Stmt* CheckIf(const syntax::If& stmt);
  Stmt* CheckWhile(const syntax::While& stmt);
  Stmt* CheckForRange(const syntax::ForRange& stmt);
  Block* CheckLoopBody(Span loop, const syntax::Block& body);
  template <typename Syntax, typename Loop>
  void CheckLoopOver(const Syntax& stmt, Type type, Loop& node);
  Stmt* CheckForMap(const syntax::ForMap& stmt);
  Stmt* CheckUnroll(const syntax::Unroll& stmt);
  Stmt* CheckExpressionStmt(const syntax::ExpressionStmt& stmt);

  // variables (names.cc)
  Local* FindLocal(std::string_view name);
  Local& Declare(const std::string& name, const void* node, bool in_block);
  // Takes `value` into the variable's type; false after an error.
  bool StoreInVariable(Local& local, const std::string& name, const Expr& value);

  const syntax::Ast& ast_;
  kernel::Kernel& kernel_;
  user::Programs programs_;
  const CheckOptions& options_;
  diag::Diagnostics& diagnostics_;
  plan::Config config_;
  bool classic_only_;

  // What stays from walk to walk.
  std::vector<CheckedClause> clauses_;
  std::vector<MapState> maps_;
  std::map<std::string, Id, std::less<>> map_ids_;
  std::map<std::pair<size_t, const void*>, Inferred>
      inferred_;  // by walk-stable program number and node
  SwapPlan swaps_;
  std::map<const syntax::ProbeSpec*, bool> has_probe_;

  // One walk.
  bool is_quiet_ = true;
  bool changed_ = false;
  TypedProgram product_;
  std::set<std::tuple<diag::Code, uint32_t, uint32_t, std::string>> reported_;
  diag::Diagnostic discarded_;

  // One program of it.
  const CheckedClause* clause_ = nullptr;
  const probes::Group* group_ = nullptr;
  bool unknown_probes_ = false;
  size_t program_number_ = 0;
  Program* program_ = nullptr;
  std::vector<std::map<std::string, Local, std::less<>>> scopes_;
  std::set<Id> closed_;
  int loop_depth_ = 0;
  int64_t unrolled_ = 1;  // copies of what is being checked
};

// The row of a builtin or function by its spelling; null when there is none.
const Row* FindRow(std::string_view name);

}  // namespace memtrace::sema
