// The typed program as text: one node a line, with its type.
#include <fmt/format.h>

#include "compiler/sema/typed.h"

namespace memtrace::sema {
namespace {

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += static_cast<char>(c);
    } else if (c < 0x20 || c >= 0x7f) {
      quoted += fmt::format("\\x{:02x}", c);
    } else {
      quoted += static_cast<char>(c);
    }
  }
  return quoted + "\"";
}

class Dumper {
 public:
  explicit Dumper(const TypedProgram& program) : program_(program) {}

  std::string Run() {
    for (const MapInfo& map : program_.maps) DumpMap(map);
    for (size_t i = 0; i < program_.actions.size(); ++i) DumpAction(i);
    for (const Program& program : program_.programs) DumpProgram(program);
    return std::move(out_);
  }

 private:
  template <typename... Arguments>
  void Line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    out_.append(2 * depth_, ' ');
    fmt::format_to(std::back_inserter(out_), format, std::forward<Arguments>(arguments)...);
    out_ += '\n';
  }

  void DumpMap(const MapInfo& map) {
    std::string keys;
    for (Type key : map.keys) keys += (keys.empty() ? "" : ", ") + key.Name();
    Line("map {}{}: {}{}{}", map.name, map.keys.empty() ? "" : "[" + keys + "]", map.value.Name(),
         map.max_entries > 0 ? fmt::format(" at most {}", map.max_entries) : "",
         map.is_swapped ? " swapped" : "");
  }

  void DumpAction(size_t index) {
    const ActionSite& action = program_.actions[index];
    static constexpr std::string_view kNames[] = {"printf",      "errorf", "time", "print map",
                                                  "print value", "clear",  "zero", "exit",
                                                  "join",        "cat"};
    std::string text(kNames[static_cast<size_t>(action.kind)]);
    if (action.map != kNoId) text += " " + program_.maps[action.map].name;
    if (!action.format.empty()) text += " " + Quoted(action.format);
    for (Type type : action.arguments) text += " " + type.Name();
    if (action.top != 0) text += fmt::format(" top={}", action.top);
    if (action.div != 0) text += fmt::format(" div={}", action.div);
    if (action.closed_window) text += " closed";
    Line("action {}: {}", index, text);
  }

  void DumpProgram(const Program& program) {
    Line("program {} ({})", program.symbol, plan::WordFor(program.type));
    current_ = &program;
    ++depth_;
    for (const ProbeUse& use : program.probes) DumpProbe(use);
    for (const SyscallDispatch::Call& call : program.syscalls.calls) {
      Line("call {} {}", call.number, program_.probe_names[call.name_index]);
    }
    for (Id id : program.swaps) Line("swaps {}", program_.maps[id].name);
    for (const LocalVariable& variable : program.variables) {
      Line("variable {}: {}", variable.name, variable.type.Name());
    }
    if (program.predicate != nullptr) Child("predicate", *program.predicate);
    if (program.body != nullptr) DumpStmt(*program.body);
    --depth_;
  }

  void DumpProbe(const ProbeUse& use) {
    std::string text = fmt::format("{} by {}", use.probe.name, plan::WordFor(use.probe.kind));
    if (use.probe.kind == plan::AttachKind::kRawTracepoint) text += " " + use.probe.event;
    if (use.probe.kind == plan::AttachKind::kTracing) text += " " + use.probe.event;
    for (const plan::Function& function : use.probe.functions) text += " " + function.symbol;
    if (use.probe.offset != 0) text += fmt::format("+{}", use.probe.offset);
    if (use.probe.period != 0) text += fmt::format(" period {}", use.probe.period);
    if (use.probe.frequency != 0) text += fmt::format(" frequency {}", use.probe.frequency);
    Line("probe {}", text);
    ++depth_;
    for (const plan::Refused& refused : use.probe.refused) {
      Line("not by {}: {}", refused.what, refused.reason);
    }
    --depth_;
  }

  void Child(std::string_view name, const Expr& expr) {
    Line("{}", name);
    ++depth_;
    DumpExpr(expr);
    --depth_;
  }

  void Children(const std::vector<Expr*>& exprs) {
    ++depth_;
    for (const Expr* expr : exprs) DumpExpr(*expr);
    --depth_;
  }

  std::string PlaceText(const MapPlace& place) const {
    if (place.map == kNoId) return "";
    return program_.maps[place.map].name + (place.closed_window ? " closed" : "");
  }

  void DumpExpr(const Expr& expr);
  void DumpStmt(const Stmt& stmt);
  std::string FieldText(const ContextField& field) const;
  void Nested(std::initializer_list<const Expr*> exprs) {
    ++depth_;
    for (const Expr* expr : exprs) {
      if (expr != nullptr) DumpExpr(*expr);
    }
    --depth_;
  }
  void Body(const Stmt* stmt) {
    ++depth_;
    if (stmt != nullptr) DumpStmt(*stmt);
    --depth_;
  }

  const TypedProgram& program_;
  const Program* current_ = nullptr;
  std::string out_;
  size_t depth_ = 0;
};

std::string Dumper::FieldText(const ContextField& field) const {
  std::string text;
  switch (field.from) {
    case probes::From::kRecord:
      text = fmt::format("record +{}", field.offset);
      break;
    case probes::From::kArgument:
      text = fmt::format("argument {}", field.index);
      break;
    case probes::From::kArgumentMember:
      text = fmt::format("argument {} -> +{}", field.index, field.offset);
      break;
    case probes::From::kSyscallArgument:
      text = fmt::format("pt_regs +{}", field.offset);
      break;
    case probes::From::kRegister:
      text = fmt::format("register {}", field.index);
      break;
    case probes::From::kStackArgument:
      text = fmt::format("stack +{}", field.offset);
      break;
    case probes::From::kUserStackArgument:
      text = fmt::format("user stack +{}", field.offset);
      break;
    case probes::From::kResult:
      text = "result";
      break;
    case probes::From::kUserRegister:
      text = fmt::format("pt_regs +{} >> {}", field.operand.base, field.operand.shift);
      break;
    case probes::From::kUserMemory:
      text = fmt::format("user memory at {} + pt_regs +{}", field.operand.constant,
                         field.operand.base);
      if (field.operand.scale != 0) {
        text += fmt::format(" + {} × pt_regs +{}", field.operand.scale, field.operand.index);
      }
      break;
  }
  if (field.is_data_loc) text += field.is_relative_loc ? " rel_loc" : " data_loc";
  return text;
}

void Dumper::DumpExpr(const Expr& expr) {
  std::string type = expr.type.Name();
  switch (expr.kind) {
    case ExprKind::kConstant: {
      uint64_t bits = static_cast<const Constant&>(expr).bits;
      if (expr.type.Is(types::Kind::kProbeName)) {
        Line("probe {}: {}", program_.probe_names[bits], type);
      } else if (expr.type->is_signed) {
        Line("constant {}: {}", static_cast<int64_t>(bits), type);
      } else {
        Line("constant {}: {}", bits, type);
      }
      return;
    }
    case ExprKind::kString:
      return Line("string {}: {}", Quoted(static_cast<const String&>(expr).value), type);
    case ExprKind::kVariable:
      return Line("variable {}: {}",
                  current_->variables[static_cast<const Variable&>(expr).variable].name, type);
    case ExprKind::kMapRead: {
      const auto& read = static_cast<const MapRead&>(expr);
      Line("read {}: {}", PlaceText(read.place), type);
      return Children(read.place.keys);
    }
    case ExprKind::kContextField:
      return Line("context {}: {}", FieldText(static_cast<const ContextField&>(expr)), type);
    case ExprKind::kMember: {
      const auto& member = static_cast<const Member&>(expr);
      Line(
          "member +{}{}: {}", member.offset,
          member.bit_size > 0 ? fmt::format(" bits {}+{}", member.bit_offset, member.bit_size) : "",
          type);
      return Nested({member.object});
    }
    case ExprKind::kIndex: {
      const auto& index = static_cast<const Index&>(expr);
      Line("index of {} bytes: {}", index.element_size, type);
      return Nested({index.object, index.index});
    }
    case ExprKind::kDereference:
      Line("dereference: {}", type);
      return Nested({static_cast<const Dereference&>(expr).pointer});
    case ExprKind::kAddressOf:
      Line("address of: {}", type);
      return Nested({static_cast<const AddressOf&>(expr).place});
    case ExprKind::kUnary:
      Line("{}: {}", Spelling(static_cast<const Unary&>(expr).op), type);
      return Nested({static_cast<const Unary&>(expr).operand});
    case ExprKind::kBinary: {
      const auto& binary = static_cast<const Binary&>(expr);
      Line("{}{}: {}", Spelling(binary.op), binary.is_signed ? " signed" : "", type);
      return Nested({binary.left, binary.right});
    }
    case ExprKind::kCompare: {
      const auto& compare = static_cast<const Compare&>(expr);
      Line("compare {}: {}", Spelling(compare.op), type);
      return Nested({compare.left, compare.right});
    }
    case ExprKind::kLogical: {
      const auto& logical = static_cast<const Logical&>(expr);
      Line("{}: {}", logical.is_and ? "&&" : "||", type);
      return Nested({logical.left, logical.right});
    }
    case ExprKind::kConditional: {
      const auto& conditional = static_cast<const Conditional&>(expr);
      Line("{}: {}", conditional.then != nullptr ? "?:" : "?: of itself", type);
      return Nested({conditional.condition, conditional.then, conditional.otherwise});
    }
    case ExprKind::kCast:
      Line("cast: {}", type);
      return Nested({static_cast<const Cast&>(expr).operand});
    case ExprKind::kTuple:
      Line("tuple: {}", type);
      return Children(static_cast<const Tuple&>(expr).elements);
    case ExprKind::kTupleElement:
      Line("element {}: {}", static_cast<const TupleElement&>(expr).index, type);
      return Nested({static_cast<const TupleElement&>(expr).tuple});
    case ExprKind::kIncrement: {
      const auto& increment = static_cast<const Increment&>(expr);
      std::string target = increment.variable != kNoId
                               ? current_->variables[increment.variable].name
                               : PlaceText(increment.place);
      Line("{} {} by {}: {}", increment.is_prefix ? "add before" : "add after", target,
           increment.delta, type);
      return Children(increment.place.keys);
    }
    case ExprKind::kCall: {
      const auto& call = static_cast<const Call&>(expr);
      std::string text(Spelling(call.function));
      if (call.place.map != kNoId) text += " " + PlaceText(call.place);
      if (call.action != plan::kNoIndex) text += fmt::format(" action {}", call.action);
      if (call.number != 0) text += fmt::format(" number {}", call.number);
      Line("{}: {}", text, type);
      Children(call.arguments);
      return Children(call.place.keys);
    }
    case ExprKind::kProbeIs: {
      const auto& is = static_cast<const ProbeIs&>(expr);
      std::string names;
      for (uint64_t index : is.indices) names += " " + program_.probe_names[index];
      return Line("probe is{}{}: {}", is.negated ? " not" : "", names, type);
    }
  }
}

void Dumper::DumpStmt(const Stmt& stmt) {
  switch (stmt.kind) {
    case StmtKind::kExpression:
      return DumpExpr(*static_cast<const ExpressionStmt&>(stmt).expr);
    case StmtKind::kAssignVariable: {
      const auto& assign = static_cast<const AssignVariable&>(stmt);
      return Child(fmt::format("set {}", current_->variables[assign.variable].name), *assign.value);
    }
    case StmtKind::kAssignMap: {
      const auto& assign = static_cast<const AssignMap&>(stmt);
      Line("store {}", PlaceText(assign.place));
      Children(assign.place.keys);
      return Nested({assign.value});
    }
    case StmtKind::kAddMap: {
      const auto& add = static_cast<const AddMap&>(stmt);
      Line("add to {}", PlaceText(add.place));
      Children(add.place.keys);
      return Nested({add.value});
    }
    case StmtKind::kAggregate: {
      const auto& aggregate = static_cast<const Aggregate&>(stmt);
      Line("{} into {}", Spelling(aggregate.function), PlaceText(aggregate.place));
      Children(aggregate.place.keys);
      return Nested({aggregate.value});
    }
    case StmtKind::kBlock:
      Line("block");
      ++depth_;
      for (const Stmt* inner : static_cast<const Block&>(stmt).statements) DumpStmt(*inner);
      --depth_;
      return;
    case StmtKind::kIf: {
      const auto& branch = static_cast<const If&>(stmt);
      Child("if", *branch.condition);
      Body(branch.then);
      if (branch.otherwise != nullptr) Line("else");
      return Body(branch.otherwise);
    }
    case StmtKind::kWhile:
      Child("while", *static_cast<const While&>(stmt).condition);
      return Body(static_cast<const While&>(stmt).body);
    case StmtKind::kForRange: {
      const auto& loop = static_cast<const ForRange&>(stmt);
      Line("for {}", current_->variables[loop.variable].name);
      Nested({loop.begin, loop.end});
      return Body(loop.body);
    }
    case StmtKind::kForMap: {
      const auto& loop = static_cast<const ForMap&>(stmt);
      Line("for {} in {}{}", current_->variables[loop.variable].name, program_.maps[loop.map].name,
           loop.closed_window ? " closed" : "");
      return Body(loop.body);
    }
    case StmtKind::kUnroll:
      Line("unroll {}", static_cast<const Unroll&>(stmt).count);
      return Body(static_cast<const Unroll&>(stmt).body);
    case StmtKind::kBreak:
      return Line("break");
    case StmtKind::kContinue:
      return Line("continue");
    case StmtKind::kReturn:
      return Line("return");
  }
}

}  // namespace

std::string Dump(const TypedProgram& program) { return Dumper(program).Run(); }

}  // namespace memtrace::sema
