#include "compiler/sema/losses.h"

#include "compiler/sema/walk.h"

namespace memtrace::sema {
namespace {

using plan::LossCause;

class Collector {
 public:
  Collector(const diag::SourceMap& sources, plan::Plan& plan) : sources_(sources), plan_(plan) {}

  void Add(LossCause cause, std::string_view subject, uint32_t line) {
    if (plan::FindLossSite(plan_, cause, subject, line) != plan::kNoIndex) return;
    plan_.loss_sites.push_back({.cause = cause, .subject = std::string(subject), .line = line});
  }

  void AddAt(LossCause cause, Span span) { Add(cause, "", sources_.PositionOf(span.begin).line); }

  void VisitProgram(const Program& program) {
    TypedVisitor visitor{.expr = [this](const Expr& expr) { Visit(expr); },
                         .stmt = [this](const Stmt& stmt) { Visit(stmt); }};
    if (program.predicate != nullptr) Walk(*program.predicate, visitor);
    if (program.body != nullptr) Walk(*program.body, visitor);
  }

  bool uses_stacks = false, uses_retry = false;

 private:
  void Visit(const Stmt& stmt) {
    if (stmt.kind == StmtKind::kWhile || stmt.kind == StmtKind::kForRange) {
      AddAt(LossCause::kLoopLimit, stmt.span);
    }
    if (stmt.kind != StmtKind::kAggregate) return;
    const auto& aggregate = static_cast<const Aggregate&>(stmt);
    // Fields of one value that can only be replaced together with a look at what is there.
    uses_retry = uses_retry || aggregate.function == Function::kMin ||
                 aggregate.function == Function::kMax || aggregate.function == Function::kStats ||
                 aggregate.function == Function::kAvg;
  }

  void Visit(const Expr& expr) {
    switch (expr.kind) {
      case ExprKind::kMember:
      case ExprKind::kIndex:
      case ExprKind::kDereference:
        AddAt(LossCause::kReadFailed, expr.span);
        break;
      case ExprKind::kContextField:
        VisitField(static_cast<const ContextField&>(expr));
        break;
      case ExprKind::kCall:
        VisitCall(static_cast<const Call&>(expr));
        break;
      case ExprKind::kCast:
        if (expr.type.Is(types::Kind::kString)) AddAt(LossCause::kTruncated, expr.span);
        break;
      case ExprKind::kConstant:
      case ExprKind::kString:
      case ExprKind::kVariable:
      case ExprKind::kMapRead:
      case ExprKind::kAddressOf:
      case ExprKind::kUnary:
      case ExprKind::kBinary:
      case ExprKind::kCompare:
      case ExprKind::kLogical:
      case ExprKind::kConditional:
      case ExprKind::kTuple:
      case ExprKind::kTupleElement:
      case ExprKind::kIncrement:
      case ExprKind::kProbeIs:
        break;
    }
  }

  void VisitField(const ContextField& field) {
    bool reads = field.from == probes::From::kArgumentMember ||
                 field.from == probes::From::kSyscallArgument ||
                 field.from == probes::From::kStackArgument ||
                 field.from == probes::From::kUserStackArgument ||
                 field.from == probes::From::kUserMemory || field.is_data_loc;
    if (reads) AddAt(LossCause::kReadFailed, field.span);
    if (field.is_data_loc) AddAt(LossCause::kTruncated, field.span);
  }

  void VisitCall(const Call& call) {
    if (call.type.IsStack()) uses_stacks = true;
    switch (call.function) {
      case Function::kStr:
        AddAt(LossCause::kReadFailed, call.span);
        AddAt(LossCause::kTruncated, call.span);
        break;
      default:
        break;  // the others read nothing that can fail
    }
  }

  const diag::SourceMap& sources_;
  plan::Plan& plan_;
};

}  // namespace

void AddLossSites(const TypedProgram& program, const diag::SourceMap& sources, plan::Plan& plan) {
  Collector collector(sources, plan);
  for (const plan::Action& action : plan.actions) {
    collector.Add(LossCause::kRingFull, plan::Spelling(action.kind), action.line);
  }
  for (const plan::Map& map : plan.maps) {
    if (!map.symbols.empty()) collector.Add(LossCause::kMapFull, map.name, 0);
  }
  for (const Program& each : program.programs) collector.VisitProgram(each);
  if (!program.programs.empty()) collector.Add(LossCause::kScratchBusy, "", 0);
  if (collector.uses_retry) collector.Add(LossCause::kRetry, "", 0);
  if (collector.uses_stacks) {
    collector.Add(LossCause::kStackFailed, "", 0);
    collector.Add(LossCause::kStackTableFull, "", 0);
    collector.Add(LossCause::kStackCollision, "", 0);
  }
}

}  // namespace memtrace::sema
