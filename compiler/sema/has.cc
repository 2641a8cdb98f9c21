// has(): what is decided when the script is compiled, and what it prunes.
//
// A condition that has() decides is not lowered; the branch that is not taken is not even checked,
// so that it may name what this kernel lacks. A clause whose predicate is decided to be false does
// not exist: its probes are not looked for.
#include "compiler/probes/provider.h"
#include "compiler/sema/checker.h"

namespace memtrace::sema {

using syntax::BinaryOp;

namespace {

template <typename T>
const T& As(const syntax::Expr& expr) {
  return static_cast<const T&>(expr);
}

}  // namespace

// Whether a member exists; nothing while the clause and so the type of its args are not known.
std::optional<bool> Checker::HasField(const syntax::Member& field) {
  if (group_ == nullptr || unknown_probes_) return std::nullopt;
  bool is_args = field.object->kind == syntax::ExprKind::kName &&
                 As<syntax::Name>(*field.object).name == kArgs;
  // What is wrong with the object is a mistake; that it lacks the member is the answer.
  Expr* object = is_args ? nullptr : CheckValue(*field.object);
  if (object != nullptr && object->type.IsError()) return std::nullopt;
  bool was_quiet = std::exchange(is_quiet_, true);
  Expr* found =
      is_args ? CheckArgument(field) : MemberOf(field.span, field.name_span, object, field.name);
  is_quiet_ = was_quiet;
  return !found->type.IsError();
}

// Looked for once: conditions are decided in each walk over each program.
bool Checker::HasProbe(const syntax::ProbeSpec& written) {
  auto [known, is_new] = has_probe_.try_emplace(&written);
  if (is_new) {
    syntax::ProbeSpec probe = written;
    probe.optional = true;
    known->second = !probes::Expand(probe, kernel_, programs_, diagnostics_).empty();
  }
  return known->second;
}

// The value of a condition that depends on nothing but has(); nothing for any other.
std::optional<bool> Checker::Decide(const syntax::Expr& expr) {
  switch (expr.kind) {
    case syntax::ExprKind::kHas: {
      const auto& has = As<syntax::Has>(expr);
      return has.probe != nullptr ? HasProbe(*has.probe) : HasField(*has.field);
    }
    case syntax::ExprKind::kUnary: {
      const auto& unary = As<syntax::Unary>(expr);
      if (unary.op != syntax::UnaryOp::kNot) return std::nullopt;
      std::optional<bool> operand = Decide(*unary.operand);
      return operand ? std::optional(!*operand) : std::nullopt;
    }
    case syntax::ExprKind::kBinary: {
      const auto& binary = As<syntax::Binary>(expr);
      if (binary.op != BinaryOp::kAnd && binary.op != BinaryOp::kOr) return std::nullopt;
      // The value that decides alone.
      bool decisive = binary.op == BinaryOp::kOr;
      std::optional<bool> left = Decide(*binary.left);
      if (left == decisive) return decisive;
      std::optional<bool> right = Decide(*binary.right);
      if (right == decisive) return decisive;
      return left && right ? std::optional(!decisive) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace memtrace::sema
