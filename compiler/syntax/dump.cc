// The tree as text: one node per line, two blanks per level. Everything that a node says is on its
// line except its place; strings are quoted with escapes.
#include <string>

#include "compiler/diag/diagnostics.h"
#include "compiler/syntax/parser.h"

namespace memtrace::syntax {
namespace {

std::string Quoted(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return "\"" + diag::Printable(escaped) + "\"";
}

std::string_view UnitWord(UnitName unit) {
  switch (unit) {
    case UnitName::kNone:
      return "";
    case UnitName::kNanoseconds:
      return "ns";
    case UnitName::kBytes:
      return "bytes";
    case UnitName::kPages:
      return "pages";
  }
  return "";
}

std::string TypeText(const TypeName& type) {
  std::string text;
  switch (type.tag) {
    case TypeName::Tag::kNone:
      break;
    case TypeName::Tag::kStruct:
      text = "struct ";
      break;
    case TypeName::Tag::kUnion:
      text = "union ";
      break;
    case TypeName::Tag::kEnum:
      text = "enum ";
      break;
  }
  text += type.name;
  if (type.pointer_depth > 0) text += " " + std::string(type.pointer_depth, '*');
  for (uint32_t count : type.array_counts) {
    text += count == 0 ? "[]" : "[" + std::to_string(count) + "]";
  }
  return text;
}

class Dumper {
 public:
  std::string Take() { return std::move(out_); }

  void Add(const ConfigItem& item) {
    Line("config " + item.name);
    const Inside inside(*this);
    Add(item.value);
  }

  void Add(const MapDecl& decl) {
    Line("map " + decl.name + " " + decl.kind);
    const Inside inside(*this);
    Add(decl.max_entries);
  }

  void Add(const Clause& clause) {
    Line("clause");
    const Inside inside(*this);
    for (const ProbeSpec& probe : clause.probes) Add(probe, "probe");
    if (clause.predicate != nullptr) Under("predicate", clause.predicate);
    AddStmt(clause.body);
  }

 private:
  // Lines written while it lives are one level deeper.
  class Inside {
   public:
    explicit Inside(Dumper& dumper) : dumper_(dumper) { ++dumper_.depth_; }
    ~Inside() { --dumper_.depth_; }

   private:
    Dumper& dumper_;
  };

  void Line(std::string_view text) {
    out_.append(static_cast<size_t>(2 * depth_), ' ');
    out_ += text;
    out_ += '\n';
  }

  // `title`, and below it the expressions that are there.
  template <typename... Exprs>
  void Under(std::string_view title, const Exprs*... children) {
    Line(title);
    const Inside inside(*this);
    (Add(children), ...);
  }

  void Add(const ProbeSpec& probe, std::string text) {
    for (const ProbePart& part : probe.parts) text += " " + Quoted(part.text);
    Line(probe.optional ? text + " optional" : text);
    const Inside inside(*this);
    for (const ProbeSpec& alternative : probe.alternatives) Add(alternative, "or");
  }

  void Add(const std::vector<Argument>& arguments) {
    const Inside inside(*this);
    for (const Argument& argument : arguments) {
      if (argument.name.empty()) {
        Add(argument.value);
      } else {
        Under(argument.name + " =", argument.value);
      }
    }
  }

  void Add(const std::vector<Expr*>& exprs) {
    const Inside inside(*this);
    for (const Expr* expr : exprs) Add(expr);
  }

  template <typename T>
  static const T& As(const Expr* expr) {
    return *static_cast<const T*>(expr);
  }
  template <typename T>
  static const T& As(const Stmt* stmt) {
    return *static_cast<const T*>(stmt);
  }

  void Add(const Expr* expr) {
    if (expr == nullptr) return;
    switch (expr->kind) {
      case ExprKind::kInteger:
        return AddInteger(As<Integer>(expr));
      case ExprKind::kString:
        return Line("string " + Quoted(As<String>(expr).value));
      case ExprKind::kBool:
        return Line(As<Bool>(expr).value ? "bool true" : "bool false");
      case ExprKind::kName:
        return Line("name " + As<Name>(expr).name);
      case ExprKind::kVariable:
        return Line("variable " + As<Variable>(expr).name);
      case ExprKind::kMap:
        Line("map " + As<Map>(expr).name);
        return Add(As<Map>(expr).keys);
      case ExprKind::kPositional:
        return Line("positional " + std::to_string(As<Positional>(expr).index));
      case ExprKind::kPositionalCount:
        return Line("positional count");
      case ExprKind::kTuple:
        Line("tuple");
        return Add(As<Tuple>(expr).elements);
      case ExprKind::kRecord:
        Line("record");
        return Add(As<Record>(expr).elements);
      case ExprKind::kCall:
        Line("call " + As<Call>(expr).name);
        return Add(As<Call>(expr).arguments);
      case ExprKind::kOffsetof:
        return AddOffsetof(As<Offsetof>(expr));
      case ExprKind::kError:
        return Line("error");
      case ExprKind::kUnary:
      case ExprKind::kBinary:
      case ExprKind::kConditional:
      case ExprKind::kMember:
      case ExprKind::kIndex:
      case ExprKind::kCast:
      case ExprKind::kSizeof:
      case ExprKind::kIncrement:
      case ExprKind::kUnit:
      case ExprKind::kIn:
      case ExprKind::kHas:
        return AddOperation(expr);
    }
  }

  void AddOperation(const Expr* expr) {
    if (expr->kind == ExprKind::kUnary) {
      const auto& unary = As<Unary>(expr);
      Under("unary " + std::string(Spelling(unary.op)), unary.operand);
    } else if (expr->kind == ExprKind::kBinary) {
      const auto& binary = As<Binary>(expr);
      Under("binary " + std::string(Spelling(binary.op)), binary.left, binary.right);
    } else if (expr->kind == ExprKind::kConditional) {
      const auto& conditional = As<Conditional>(expr);
      Under(conditional.then == nullptr ? "conditional ?:" : "conditional", conditional.condition,
            conditional.then, conditional.otherwise);
    } else if (expr->kind == ExprKind::kMember) {
      const auto& member = As<Member>(expr);
      Under("member " + std::string(member.arrow ? "->" : ".") + member.name, member.object);
    } else if (expr->kind == ExprKind::kIndex) {
      Under("index", As<Index>(expr).object, As<Index>(expr).index);
    } else if (expr->kind == ExprKind::kCast) {
      Under("cast " + TypeText(As<Cast>(expr).type), As<Cast>(expr).operand);
    } else if (expr->kind == ExprKind::kSizeof) {
      const auto& size = As<Sizeof>(expr);
      Under(size.has_type ? "sizeof " + TypeText(size.type) : "sizeof", size.operand);
    } else if (expr->kind == ExprKind::kIncrement) {
      const auto& increment = As<Increment>(expr);
      Under(std::string(increment.is_prefix ? "prefix " : "postfix ") +
                (increment.is_increment ? "++" : "--"),
            increment.target);
    } else if (expr->kind == ExprKind::kUnit) {
      Under("as " + std::string(UnitWord(As<UnitCast>(expr).unit)), As<UnitCast>(expr).operand);
    } else if (expr->kind == ExprKind::kHas) {
      const auto& has = As<Has>(expr);
      if (has.probe != nullptr) return Add(*has.probe, "has");
      Under("has", static_cast<const Expr*>(has.field));
    } else {
      const auto& in = As<In>(expr);
      Under("in", in.value, in.begin, in.end);
    }
  }

  void AddInteger(const Integer& integer) {
    const std::string unit(UnitWord(integer.unit));
    Line("integer " + std::to_string(integer.value) + (unit.empty() ? "" : " " + unit));
  }

  void AddOffsetof(const Offsetof& offset) {
    std::string path;
    for (const std::string& name : offset.path) path += (path.empty() ? "" : ".") + name;
    Line("offsetof " + TypeText(offset.type) + ", " + path);
  }

  void AddBlock(std::string_view title, const Block* block) {
    Line(title);
    const Inside inside(*this);
    for (const Stmt* stmt : block->statements) AddStmt(stmt);
  }

  void AddStmt(const Stmt* stmt) {
    switch (stmt->kind) {
      case StmtKind::kExpression:
        return Under("expression", As<ExpressionStmt>(stmt).expr);
      case StmtKind::kAssign: {
        const auto& assign = As<Assign>(stmt);
        const std::string op = assign.compound ? std::string(Spelling(assign.op)) : "";
        return Under("assign " + op + "=", assign.target, assign.value);
      }
      case StmtKind::kLet: {
        const auto& let = As<Let>(stmt);
        return Under("let " + let.name + (let.has_type ? " : " + TypeText(let.type) : ""),
                     let.value);
      }
      case StmtKind::kBlock:
        return AddBlock("block", &As<Block>(stmt));
      case StmtKind::kIf:
        return AddIf(As<If>(stmt));
      case StmtKind::kWhile:
        Under("while", As<While>(stmt).condition);
        return AddBody(As<While>(stmt).body);
      case StmtKind::kForRange: {
        const auto& loop = As<ForRange>(stmt);
        Under("for " + loop.variable + " in range", loop.begin, loop.end);
        return AddBody(loop.body);
      }
      case StmtKind::kForMap:
        Line("for " + As<ForMap>(stmt).variable + " in map " + As<ForMap>(stmt).map);
        return AddBody(As<ForMap>(stmt).body);
      case StmtKind::kUnroll:
        Under("unroll", As<Unroll>(stmt).count);
        return AddBody(As<Unroll>(stmt).body);
      case StmtKind::kBreak:
        return Line("break");
      case StmtKind::kContinue:
        return Line("continue");
      case StmtKind::kReturn:
        return Under("return", As<Return>(stmt).value);
    }
  }

  void AddBody(const Block* body) {
    const Inside inside(*this);
    AddBlock("block", body);
  }

  void AddIf(const If& stmt) {
    Under("if", stmt.condition);
    const Inside inside(*this);
    AddBlock("then", stmt.then);
    if (stmt.otherwise == nullptr) return;
    if (stmt.otherwise->kind == StmtKind::kBlock) {
      return AddBlock("else", static_cast<const Block*>(stmt.otherwise));
    }
    Line("else");
    const Inside deeper(*this);
    AddStmt(stmt.otherwise);
  }

  std::string out_;
  int depth_ = 0;
};

}  // namespace

std::string_view Spelling(UnaryOp op) {
  switch (op) {
    case UnaryOp::kNot:
      return "!";
    case UnaryOp::kBitNot:
      return "~";
    case UnaryOp::kMinus:
      return "-";
    case UnaryOp::kPlus:
      return "+";
    case UnaryOp::kDereference:
      return "*";
    case UnaryOp::kAddressOf:
      return "&";
  }
  return "";
}

std::string_view Spelling(BinaryOp op) {
  switch (op) {
    case BinaryOp::kMul:
      return "*";
    case BinaryOp::kDiv:
      return "/";
    case BinaryOp::kMod:
      return "%";
    case BinaryOp::kAdd:
      return "+";
    case BinaryOp::kSub:
      return "-";
    case BinaryOp::kShl:
      return "<<";
    case BinaryOp::kShr:
      return ">>";
    case BinaryOp::kLt:
      return "<";
    case BinaryOp::kLe:
      return "<=";
    case BinaryOp::kGt:
      return ">";
    case BinaryOp::kGe:
      return ">=";
    case BinaryOp::kEq:
      return "==";
    case BinaryOp::kNe:
      return "!=";
    case BinaryOp::kBitAnd:
      return "&";
    case BinaryOp::kBitXor:
      return "^";
    case BinaryOp::kBitOr:
      return "|";
    case BinaryOp::kAnd:
      return "&&";
    case BinaryOp::kOr:
      return "||";
    case BinaryOp::kCoalesce:
      return "??";
  }
  return "";
}

std::string Dump(const Ast& ast) {
  Dumper dumper;
  for (const ConfigItem& item : ast.config) dumper.Add(item);
  for (const MapDecl& decl : ast.map_declarations) dumper.Add(decl);
  for (const Clause& clause : ast.clauses) dumper.Add(clause);
  return dumper.Take();
}

}  // namespace memtrace::syntax
