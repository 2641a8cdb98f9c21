// Unary and binary operators: what they take, and what comes out.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/sema/checker.h"

namespace memtrace::sema {

using diag::Code;
using syntax::BinaryOp;
using syntax::UnaryOp;
using types::Kind;
using types::Unit;

namespace {

bool IsComparison(BinaryOp op) {
  switch (op) {
    case BinaryOp::kLt:
    case BinaryOp::kLe:
    case BinaryOp::kGt:
    case BinaryOp::kGe:
    case BinaryOp::kEq:
    case BinaryOp::kNe:
      return true;
    case BinaryOp::kMul:
    case BinaryOp::kDiv:
    case BinaryOp::kMod:
    case BinaryOp::kAdd:
    case BinaryOp::kSub:
    case BinaryOp::kShl:
    case BinaryOp::kShr:
    case BinaryOp::kBitAnd:
    case BinaryOp::kBitXor:
    case BinaryOp::kBitOr:
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
    case BinaryOp::kCoalesce:
      return false;
  }
  return false;
}

bool IsEquality(BinaryOp op) { return op == BinaryOp::kEq || op == BinaryOp::kNe; }

// Whether the sign of the operands decides what comes out. For the others only how it prints.
bool DependsOnSign(BinaryOp op) {
  return op == BinaryOp::kDiv || op == BinaryOp::kMod || op == BinaryOp::kLt ||
         op == BinaryOp::kLe || op == BinaryOp::kGt || op == BinaryOp::kGe;
}

bool IsShift(BinaryOp op) { return op == BinaryOp::kShl || op == BinaryOp::kShr; }

bool MayExceedInt64(const Expr& expr) {
  return !expr.type->is_signed && expr.type->size == 8 &&
         (expr.kind != ExprKind::kConstant ||
          static_cast<int64_t>(static_cast<const Constant&>(expr).bits) < 0);
}

// Of two constants, so that `4 * 1024` is as good as 4096 where a constant is needed. Signed and in
// 64 bits.
bool Fold(BinaryOp op, uint64_t a, uint64_t b, uint64_t& out) {
  int64_t x = static_cast<int64_t>(a), y = static_cast<int64_t>(b);
  switch (op) {
    case BinaryOp::kMul:
      out = a * b;
      return true;
    case BinaryOp::kAdd:
      out = a + b;
      return true;
    case BinaryOp::kSub:
      out = a - b;
      return true;
    case BinaryOp::kShl:
      out = a << (b & 63);
      return true;
    case BinaryOp::kBitAnd:
      out = a & b;
      return true;
    case BinaryOp::kBitOr:
      out = a | b;
      return true;
    case BinaryOp::kBitXor:
      out = a ^ b;
      return true;
    case BinaryOp::kDiv:
      if (y == 0 || (x == INT64_MIN && y == -1)) return false;
      out = static_cast<uint64_t>(x / y);
      return true;
    case BinaryOp::kMod:
      if (y == 0 || y == -1) return false;
      out = static_cast<uint64_t>(x % y);
      return true;
    case BinaryOp::kShr:
    case BinaryOp::kLt:
    case BinaryOp::kLe:
    case BinaryOp::kGt:
    case BinaryOp::kGe:
    case BinaryOp::kEq:
    case BinaryOp::kNe:
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
    case BinaryOp::kCoalesce:
      return false;
  }
  return false;
}

}  // namespace

Expr* Checker::CheckUnary(const syntax::Unary& unary) {
  if (unary.op == UnaryOp::kNot) {
    Expr* operand = CheckCondition(*unary.operand);
    if (operand->type.IsError()) return operand;
    auto* node = New<Unary>(ExprKind::kUnary, unary.span, types().Bool());
    node->op = unary.op;
    node->operand = operand;
    return node;
  }
  if (unary.op == UnaryOp::kDereference) {
    return CheckDereference(unary.span, CheckValue(*unary.operand));
  }
  if (unary.op == UnaryOp::kAddressOf) {
    Expr* place = CheckValue(*unary.operand);
    if (place->type.IsError()) return place;
    if (place->kind != ExprKind::kMember && place->kind != ExprKind::kIndex &&
        place->kind != ExprKind::kDereference) {
      Error(Code::kNoAddress, unary.span, "this has no address")
          .Note("a field, an array's element or what a pointer points to has one");
      return ErrorExpr(unary.span);
    }
    auto* node = New<AddressOf>(ExprKind::kAddressOf, unary.span,
                                types().Pointer(place->type, SpaceOf(*place)));
    node->place = place;
    return node;
  }
  Expr* operand =
      CheckInteger(*unary.operand, fmt::format("the operand of {}", Spelling(unary.op)));
  if (operand->type.IsError()) return operand;
  bool is_signed = unary.op != UnaryOp::kBitNot || operand->type->is_signed;
  if (unary.op == UnaryOp::kPlus) is_signed = operand->type->is_signed;
  Type type = types().Int(8, is_signed, operand->type->unit);
  if (unary.op == UnaryOp::kPlus) return Convert(operand, type);
  if (operand->kind == ExprKind::kConstant) {
    uint64_t bits = static_cast<Constant*>(operand)->bits;
    return ConstantOf(unary.span, type, unary.op == UnaryOp::kMinus ? -bits : ~bits);
  }
  auto* node = New<Unary>(ExprKind::kUnary, unary.span, type);
  node->op = unary.op;
  node->operand = Convert(operand, type);
  return node;
}

Expr* Checker::CheckBinary(const syntax::Binary& binary) {
  if (binary.op == BinaryOp::kAnd || binary.op == BinaryOp::kOr) {
    if (std::optional<bool> decided = Decide(binary)) {
      return ConstantOf(binary.span, types().Bool(), *decided);
    }
    Expr* left = CheckCondition(*binary.left);
    Expr* right = CheckCondition(*binary.right);
    if (left->type.IsError() || right->type.IsError()) return ErrorExpr(binary.span);
    auto* node = New<Logical>(ExprKind::kLogical, binary.span, types().Bool());
    node->is_and = binary.op == BinaryOp::kAnd;
    node->left = left;
    node->right = right;
    return node;
  }
  if (binary.op == BinaryOp::kCoalesce) {
    Error(Code::kUnsupportedFeature, binary.op_span,
          "`??` is not supported by this version of memtrace");
    return ErrorExpr(binary.span);
  }
  Expr* left = CheckValue(*binary.left);
  Expr* right = CheckValue(*binary.right);
  if (IsComparison(binary.op)) return CheckComparison(binary.span, binary.op, left, right);
  return CheckArithmetic(binary.span, binary.op, left, right);
}

Expr* Checker::OperandError(Span span, std::string_view what, const Expr& left, const Expr& right) {
  auto builder =
      Error(Code::kBadOperands, span,
            fmt::format("{} and {} can't be {}", left.type.Name(), right.type.Name(), what));
  const Expr* string = left.type.Is(Kind::kString) ? &left : &right;
  const Expr* other = string == &left ? &right : &left;
  if (string->type.Is(Kind::kString) && other->type.IsPointer()) {
    builder.Note("str(pointer) reads the string that it points to");
  } else if (string->type.Is(Kind::kString) && other->type.IsInteger()) {
    builder.Label(string->span, "this is a string").Label(other->span, "this is a number");
  }
  return ErrorExpr(span);
}

Expr* Checker::NewBinary(Span span, BinaryOp op, Expr* left, Expr* right, Type type,
                         bool is_signed) {
  if (left->kind == ExprKind::kConstant && right->kind == ExprKind::kConstant && is_signed) {
    uint64_t bits;
    if (Fold(op, static_cast<Constant*>(left)->bits, static_cast<Constant*>(right)->bits, bits)) {
      return ConstantOf(span, type, bits);
    }
  }
  auto* node = New<Binary>(ExprKind::kBinary, span, type);
  node->op = op;
  node->is_signed = is_signed;
  node->left = left;
  node->right = right;
  return node;
}

// Signed wins. What is narrower than 64 bits fits into int64, and so does a literal beside a signed
// value.
bool Checker::IsSigned(Span span, BinaryOp op, const Expr& left, const Expr& right) {
  if (IsShift(op)) return left.type->is_signed && !(IsLiteral(left) && MayExceedInt64(right));
  bool left_signed = left.type->is_signed, right_signed = right.type->is_signed;
  // A literal takes the other's side; two take the one they have.
  if (IsLiteral(left) && !IsLiteral(right)) left_signed = right_signed;
  if (IsLiteral(right) && !IsLiteral(left)) right_signed = left_signed;
  if (left_signed != right_signed && DependsOnSign(op)) {
    const Expr& unsigned_side = left_signed ? right : left;
    if (MayExceedInt64(unsigned_side)) {
      Warning(Code::kMixedSigns, span,
              fmt::format("{} and {} are taken as int64", left.type.Name(), right.type.Name()))
          .Label(unsigned_side.span, "a value above INT64_MAX would be negative")
          .Note("cast one side: (uint64)x or (int64)x");
    }
  }
  if (op == BinaryOp::kSub && !left_signed && !right_signed) {
    // The difference of small unsigned numbers may well be negative, and fits.
    return left.type->size < 8 && right.type->size < 8;
  }
  return left_signed || right_signed;
}

bool Checker::ResultUnit(Span span, BinaryOp op, const Expr& left, const Expr& right, Unit& unit) {
  Unit a = left.type->unit, b = right.type->unit;
  unit = a;
  if (op == BinaryOp::kMul) {
    unit = a == Unit::kNone ? b : b == Unit::kNone ? a : Unit::kNone;
    return true;
  }
  if (op == BinaryOp::kDiv) {
    if (b != Unit::kNone) unit = Unit::kNone;
    return true;
  }
  if (IsShift(op)) return true;
  if (a == Unit::kNone) unit = b;
  if (a == Unit::kNone || b == Unit::kNone || a == b) return true;
  auto builder = Error(Code::kUnitMismatch, span,
                       fmt::format("`{}` of {} and {}", Spelling(op), UnitText(a), UnitText(b)))
                     .Label(left.span, fmt::format("in {}", UnitText(a)))
                     .Label(right.span, fmt::format("in {}", UnitText(b)));
  if (a != Unit::kNanoseconds && b != Unit::kNanoseconds) {
    builder.Note("pages become bytes when asked: (x as pages) as bytes");
  } else {
    builder.Note(a == Unit::kNanoseconds ? "x / 1ns is a plain number"
                                         : "x / 1B is a plain number");
  }
  return false;
}

Expr* Checker::CheckArithmetic(Span span, BinaryOp op, Expr* left, Expr* right) {
  if (left->type.IsError() || right->type.IsError()) return ErrorExpr(span);
  if (left->type.IsPointer() || right->type.IsPointer()) {
    if (Expr* node = CheckPointerArithmetic(span, op, left, right)) return node;
  }
  Expr* a = AsInteger(left);
  Expr* b = AsInteger(right);
  if (a == nullptr || b == nullptr) {
    return OperandError(span, fmt::format("joined by `{}`", Spelling(op)), *left, *right);
  }
  Unit unit;
  if (!ResultUnit(span, op, *a, *b, unit)) return ErrorExpr(span);
  bool is_division = op == BinaryOp::kDiv || op == BinaryOp::kMod;
  if (is_division && b->kind == ExprKind::kConstant && static_cast<Constant*>(b)->bits == 0) {
    Error(Code::kDivisionByZero, span, "division by zero");
    return ErrorExpr(span);
  }
  bool is_signed = IsSigned(span, op, *a, *b);
  Type type = types().Int(8, is_signed, unit);
  return NewBinary(span, op, Convert(a, types().Int(8, is_signed, a->type->unit)),
                   Convert(b, types().Int(8, is_signed, b->type->unit)), type, is_signed);
}

// Null: not an operation on pointers.
Expr* Checker::CheckPointerArithmetic(Span span, BinaryOp op, Expr* left, Expr* right) {
  auto size_of = [this](const Expr& pointer) {
    Complete(pointer.type->target);
    return std::max<uint64_t>(1, pointer.type->target->size);
  };
  Type number = types().Int64();
  if (op == BinaryOp::kSub && left->type.IsPointer() && right->type.IsPointer()) {
    Expr* bytes = NewBinary(span, op, Convert(left, number), Convert(right, number), number, true);
    return NewBinary(span, BinaryOp::kDiv, bytes, ConstantOf(span, number, size_of(*left)), number,
                     true);
  }
  if (op != BinaryOp::kAdd && op != BinaryOp::kSub) {
    // Masks and shifts of addresses are numbers.
    if (left->type.IsPointer()) left = Convert(left, types().Uint64());
    if (right->type.IsPointer()) right = Convert(right, types().Uint64());
    return CheckArithmetic(span, op, left, right);
  }
  if (right->type.IsPointer() && op == BinaryOp::kAdd) std::swap(left, right);
  Expr* count = AsInteger(right);
  if (!left->type.IsPointer() || count == nullptr) return nullptr;
  Expr* scaled = NewBinary(span, BinaryOp::kMul, Convert(count, number),
                           ConstantOf(span, number, size_of(*left)), number, true);
  return NewBinary(span, op, left, scaled, left->type, false);
}

Expr* Checker::ProbeIsNamed(Span span, BinaryOp op, const Expr& which, const String& name) {
  auto* node = New<ProbeIs>(ExprKind::kProbeIs, span, types().Bool());
  node->negated = op == BinaryOp::kNe;
  node->name = &which;
  bool is_function =
      which.kind == ExprKind::kCall && static_cast<const Call&>(which).function == Function::kFunc;
  bool exists = unknown_probes_;
  for (const CheckedClause& clause : clauses_) {
    for (const probes::Group& group : clause.groups) {
      for (const probes::Target& target : group.targets)
        exists = exists || (is_function ? target.function : target.name) == name.value;
    }
  }
  for (size_t i = 0; i < product_.probe_names.size(); ++i) {
    if (product_.probe_names[i] == name.value) node->indices.push_back(i);
  }
  if (!exists) {
    Warning(Code::kNeverTrue, span,
            fmt::format("no {} of this script is called `{}`", is_function ? "function" : "probe",
                        name.value))
        .Note(is_function ? "functions stand without their module"
                          : "names are written out: tracepoint:kmem:mm_page_alloc");
  }
  return node;
}

// A literal that the other side has no room for.
void Checker::WarnOfLongLiteral(BinaryOp op, const Expr& literal, const Expr& other) {
  if (!IsEquality(op) || literal.kind != ExprKind::kString || other.kind == ExprKind::kString)
    return;
  size_t length = static_cast<const String&>(literal).value.size();
  if (length < other.type->size) return;
  Warning(Code::kNeverTrue, literal.span,
          fmt::format("{} characters never equal a {}", length, other.type.Name()))
      .Note(fmt::format("it holds {} characters and the end of the string", other.type->size - 1));
}

Expr* Checker::CompareMemory(Span span, BinaryOp op, Expr* left, Expr* right) {
  Type type = Unify(left->type, false, right->type, false, types());
  bool is_string = left->type.Is(Kind::kString) && right->type.Is(Kind::kString);
  bool is_comparable =
      type && (is_string || type.IsTuple() || type.IsStack()) && (is_string || IsEquality(op));
  if (!is_comparable)
    return OperandError(span, fmt::format("compared by `{}`", Spelling(op)), *left, *right);
  if (is_string) {
    WarnOfLongLiteral(op, *left, *right);
    WarnOfLongLiteral(op, *right, *left);
  }
  auto* node = New<Compare>(ExprKind::kCompare, span, types().Bool());
  node->op = op;
  node->left = is_string ? left : Convert(left, type);
  node->right = is_string ? right : Convert(right, type);
  return node;
}

Expr* Checker::CheckComparison(Span span, BinaryOp op, Expr* left, Expr* right) {
  if (left->type.IsError() || right->type.IsError()) return ErrorExpr(span);
  if (left->type.Is(Kind::kProbeName) || right->type.Is(Kind::kProbeName)) {
    Expr* other = left->type.Is(Kind::kProbeName) ? right : left;
    if (other->kind == ExprKind::kString && IsEquality(op)) {
      return ProbeIsNamed(span, op, other == right ? *left : *right, static_cast<String&>(*other));
    }
    return OperandError(span, fmt::format("compared by `{}`", Spelling(op)), *left, *right);
  }
  for (Expr** path : {&left, &right}) {
    Expr*& other = path == &left ? right : left;
    types::Kind kind = (*path)->type->kind;
    bool is_path = kind == Kind::kCgroupPath || kind == Kind::kMemcgPath;
    if (!is_path || other->kind != ExprKind::kString || !IsEquality(op)) continue;
    other = CgroupNamed(other->span, static_cast<String&>(*other).value, kind, (*path)->type);
    if (other->type.IsError()) return ErrorExpr(span);
  }
  Type boolean = types().Bool();
  auto is_address = [](const Expr& expr) {
    return expr.type.IsPointer() || expr.type.Is(Kind::kKernelSymbol);
  };
  Expr* a = is_address(*left) ? Convert(left, types().Uint64()) : AsInteger(left);
  Expr* b = is_address(*right) ? Convert(right, types().Uint64()) : AsInteger(right);
  if (a != nullptr && b != nullptr) {
    Unit unit;
    if (!ResultUnit(span, op, *a, *b, unit)) return ErrorExpr(span);
    bool is_signed = !is_address(*left) && !is_address(*right) && IsSigned(span, op, *a, *b);
    return NewBinary(span, op, Convert(a, types().Int(8, is_signed, a->type->unit)),
                     Convert(b, types().Int(8, is_signed, b->type->unit)), boolean, is_signed);
  }
  if (left->type == right->type && left->type.IsScalar()) {
    return NewBinary(span, op, left, right, boolean, false);
  }
  return CompareMemory(span, op, left, right);
}

}  // namespace memtrace::sema
