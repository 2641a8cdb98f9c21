// Expressions whose value is a number, and the dispatch of those whose value lies in memory.
#include "compiler/base/check.h"
#include "compiler/codegen/builtin.h"
#include "compiler/codegen/function_lowering.h"

namespace memtrace::codegen {

using sema::Expr;
using sema::ExprKind;
using syntax::BinaryOp;
using syntax::UnaryOp;

llvm::Value* FunctionLowering::Narrow(llvm::Value* value, sema::Type type) {
  if (type.Is(types::Kind::kBool)) return Bool(ir_.CreateICmpNE(value, Number(0)));
  if (!type.IsScalar() || type->size >= 8 || type->size == 0) return value;
  llvm::Type* narrow = ir_.getIntNTy(type->size * 8);
  value = ir_.CreateTrunc(value, narrow);
  return type->is_signed ? ir_.CreateSExt(value, ir_.getInt64Ty())
                         : ir_.CreateZExt(value, ir_.getInt64Ty());
}

void FunctionLowering::Evaluate(const Expr& expr) {
  Located located(*this, expr.span);
  if (expr.kind == ExprKind::kCall) {
    const auto& call = static_cast<const sema::Call&>(expr);
    const Lowering& lowering = LoweringOf(call.function);
    if (lowering.scalar != nullptr) {
      lowering.scalar(*this, call);
      return;
    }
  }
  if (expr.type.IsScalar()) {
    Scalar(expr);
  } else if (expr.type->size > 0) {
    InMemory(expr);
  }
}

llvm::Value* FunctionLowering::Scalar(const Expr& expr) {
  if (auto known = evaluated_.find(&expr); known != evaluated_.end()) return known->second;
  Located located(*this, expr.span);
  switch (expr.kind) {
    case ExprKind::kConstant:
      return Number(static_cast<const sema::Constant&>(expr).bits);
    case ExprKind::kVariable:
      return ir_.CreateLoad(ir_.getInt64Ty(),
                            LocalBytes(static_cast<const sema::Variable&>(expr).variable).pointer);
    case ExprKind::kMapRead:
      return MapScalar(static_cast<const sema::MapRead&>(expr).place, expr.type);
    case ExprKind::kContextField:
      return ContextScalar(static_cast<const sema::ContextField&>(expr));
    case ExprKind::kMember: {
      const auto& member = static_cast<const sema::Member&>(expr);
      return LoadScalar(PlaceOf(expr), expr.type, member.bit_offset, member.bit_size);
    }
    case ExprKind::kIndex:
      return IndexScalar(static_cast<const sema::Index&>(expr));
    case ExprKind::kDereference:
      return LoadScalar(PlaceOf(expr), expr.type, 0, 0);
    case ExprKind::kAddressOf: {
      Place place = PlaceOf(*static_cast<const sema::AddressOf&>(expr).place);
      if (place.memory == Memory::kContext) {
        return ir_.CreateAdd(ir_.CreatePtrToInt(Context(), ir_.getInt64Ty()), Number(place.offset));
      }
      if (place.memory == Memory::kBpf) {
        return ir_.CreatePtrToInt(place.address, ir_.getInt64Ty());
      }
      return place.address;
    }
    case ExprKind::kUnary:
      return UnaryScalar(static_cast<const sema::Unary&>(expr));
    case ExprKind::kBinary:
      return BinaryScalar(static_cast<const sema::Binary&>(expr));
    case ExprKind::kCompare:
    case ExprKind::kLogical:
    case ExprKind::kProbeIs:
      return Bool(Condition(expr));
    case ExprKind::kConditional:
      return ConditionalScalar(static_cast<const sema::Conditional&>(expr));
    case ExprKind::kCast:
      return CastScalar(static_cast<const sema::Cast&>(expr));
    case ExprKind::kTupleElement: {
      Bytes element = InMemory(expr);
      return LoadInt(element.pointer, expr.type->size, expr.type->is_signed, element.alignment);
    }
    case ExprKind::kIncrement:
      return IncrementScalar(static_cast<const sema::Increment&>(expr));
    case ExprKind::kCall: {
      const auto& call = static_cast<const sema::Call&>(expr);
      const Lowering& lowering = LoweringOf(call.function);
      MT_CHECK(lowering.scalar != nullptr, "a call whose value is a number is lowered to one");
      return lowering.scalar(*this, call);
    }
    case ExprKind::kString:
    case ExprKind::kTuple:
      break;
  }
  MT_UNREACHABLE("strings and tuples are no numbers");
}

llvm::Value* FunctionLowering::Condition(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::kBinary:
      if (llvm::Value* result = Comparison(static_cast<const sema::Binary&>(expr))) return result;
      break;
    case ExprKind::kUnary:
      if (const auto& unary = static_cast<const sema::Unary&>(expr); unary.op == UnaryOp::kNot) {
        return ir_.CreateNot(Condition(*unary.operand));
      }
      break;
    case ExprKind::kCompare:
      return Compare(static_cast<const sema::Compare&>(expr));
    case ExprKind::kLogical:
      return LogicalCondition(static_cast<const sema::Logical&>(expr));
    case ExprKind::kProbeIs:
      return ProbeIsCondition(static_cast<const sema::ProbeIs&>(expr));
    case ExprKind::kConstant:
    case ExprKind::kString:
    case ExprKind::kVariable:
    case ExprKind::kMapRead:
    case ExprKind::kContextField:
    case ExprKind::kMember:
    case ExprKind::kIndex:
    case ExprKind::kDereference:
    case ExprKind::kAddressOf:
    case ExprKind::kConditional:
    case ExprKind::kCast:
    case ExprKind::kTuple:
    case ExprKind::kTupleElement:
    case ExprKind::kIncrement:
    case ExprKind::kCall:
      break;
  }
  if (expr.type.Is(types::Kind::kString)) {
    Bytes string = InMemory(expr);
    return ir_.CreateICmpNE(LoadInt(string.pointer, 1, false, 1), Number(0));
  }
  return ir_.CreateICmpNE(Scalar(expr), Number(0));
}

llvm::Value* FunctionLowering::UnaryScalar(const sema::Unary& expr) {
  switch (expr.op) {
    case UnaryOp::kNot:
      return Bool(Condition(expr));
    case UnaryOp::kBitNot:
      return ir_.CreateNot(Scalar(*expr.operand));
    case UnaryOp::kMinus:
      return ir_.CreateNeg(Scalar(*expr.operand));
    case UnaryOp::kPlus:
      return Scalar(*expr.operand);
    case UnaryOp::kDereference:
    case UnaryOp::kAddressOf:
      break;
  }
  MT_UNREACHABLE("* and & are nodes of their own");
}

llvm::Value* FunctionLowering::Comparison(const sema::Binary& expr) {
  auto compare = [&](llvm::CmpInst::Predicate as_signed, llvm::CmpInst::Predicate as_unsigned) {
    llvm::Value* left = Scalar(*expr.left);
    llvm::Value* right = Scalar(*expr.right);
    return ir_.CreateICmp(expr.is_signed ? as_signed : as_unsigned, left, right);
  };
  using Cmp = llvm::CmpInst;
  switch (expr.op) {
    case BinaryOp::kEq:
      return compare(Cmp::ICMP_EQ, Cmp::ICMP_EQ);
    case BinaryOp::kNe:
      return compare(Cmp::ICMP_NE, Cmp::ICMP_NE);
    case BinaryOp::kLt:
      return compare(Cmp::ICMP_SLT, Cmp::ICMP_ULT);
    case BinaryOp::kLe:
      return compare(Cmp::ICMP_SLE, Cmp::ICMP_ULE);
    case BinaryOp::kGt:
      return compare(Cmp::ICMP_SGT, Cmp::ICMP_UGT);
    case BinaryOp::kGe:
      return compare(Cmp::ICMP_SGE, Cmp::ICMP_UGE);
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
      return nullptr;
  }
  MT_UNREACHABLE("every operator is a comparison or not");
}

llvm::Value* FunctionLowering::BinaryScalar(const sema::Binary& expr) {
  if (llvm::Value* comparison = Comparison(expr)) return Bool(comparison);
  llvm::Value* left = Scalar(*expr.left);
  llvm::Value* right = Scalar(*expr.right);
  auto count = [&] { return ir_.CreateAnd(right, Number(63)); };
  switch (expr.op) {
    case BinaryOp::kMul:
      return ir_.CreateMul(left, right);
    case BinaryOp::kDiv:
    case BinaryOp::kMod:
      return Divide(expr, left, right);
    case BinaryOp::kAdd:
      return ir_.CreateAdd(left, right);
    case BinaryOp::kSub:
      return ir_.CreateSub(left, right);
    case BinaryOp::kShl:
      return ir_.CreateShl(left, count());
    case BinaryOp::kShr:
      return expr.is_signed ? ir_.CreateAShr(left, count()) : ir_.CreateLShr(left, count());
    case BinaryOp::kBitAnd:
      return ir_.CreateAnd(left, right);
    case BinaryOp::kBitXor:
      return ir_.CreateXor(left, right);
    case BinaryOp::kBitOr:
      return ir_.CreateOr(left, right);
    case BinaryOp::kLt:
    case BinaryOp::kLe:
    case BinaryOp::kGt:
    case BinaryOp::kGe:
    case BinaryOp::kEq:
    case BinaryOp::kNe:
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
    case BinaryOp::kCoalesce:
      break;
  }
  MT_UNREACHABLE("comparisons were handled, the others are nodes of their own");
}

// BPF before v4 has no signed division, and LLVM's division by zero is undefined: both are spelled
// out. INT64_MIN / -1 comes out as INT64_MIN, because magnitudes are unsigned.
llvm::Value* FunctionLowering::Divide(const sema::Binary& expr, llvm::Value* left,
                                      llvm::Value* right) {
  bool is_division = expr.op == BinaryOp::kDiv;
  auto unsigned_result = [&](llvm::Value* dividend, llvm::Value* divisor) {
    llvm::Value* is_zero = ir_.CreateICmpEQ(divisor, Number(0));
    llvm::Value* safe = ir_.CreateSelect(is_zero, Number(1), divisor);
    llvm::Value* result =
        is_division ? ir_.CreateUDiv(dividend, safe) : ir_.CreateURem(dividend, safe);
    return ir_.CreateSelect(is_zero, Number(0), result);
  };
  if (!expr.is_signed) return unsigned_result(left, right);
  // `sign` is 0 or -1; (x ^ sign) - sign changes the sign when it is -1.
  auto apply = [&](llvm::Value* number, llvm::Value* sign) {
    return ir_.CreateSub(ir_.CreateXor(number, sign), sign);
  };
  llvm::Value* left_sign = ir_.CreateAShr(left, 63);
  llvm::Value* right_sign = ir_.CreateAShr(right, 63);
  llvm::Value* result = unsigned_result(apply(left, left_sign), apply(right, right_sign));
  return apply(result, is_division ? ir_.CreateXor(left_sign, right_sign) : left_sign);
}

llvm::Value* FunctionLowering::LogicalCondition(const sema::Logical& expr) {
  if (expr.shared != nullptr) evaluated_[expr.shared] = Scalar(*expr.shared);
  llvm::Value* left = Condition(*expr.left);
  auto right = [&] { return Condition(*expr.right); };
  llvm::Value* result = expr.is_and ? Choose(left, right, [&] { return ir_.getFalse(); })
                                    : Choose(left, [&] { return ir_.getTrue(); }, right);
  evaluated_.erase(expr.shared);  // a body that is unrolled is lowered again
  return result;
}

llvm::Value* FunctionLowering::ConditionalScalar(const sema::Conditional& expr) {
  if (expr.then == nullptr) {
    llvm::Value* value = Scalar(*expr.condition);
    return Choose(
        ir_.CreateICmpNE(value, Number(0)), [&] { return Narrow(value, expr.type); },
        [&] { return Scalar(*expr.otherwise); });
  }
  return Choose(
      Condition(*expr.condition), [&] { return Scalar(*expr.then); },
      [&] { return Scalar(*expr.otherwise); });
}

llvm::Value* FunctionLowering::CastScalar(const sema::Cast& expr) {
  if (expr.operand->type.IsScalar()) return Narrow(Scalar(*expr.operand), expr.type);
  // An array of bytes that decays to a pointer, or a place taken for its address.
  Place place = PlaceOf(*expr.operand);
  if (place.memory == Memory::kBpf) return ir_.CreatePtrToInt(place.address, ir_.getInt64Ty());
  if (place.memory == Memory::kContext) {
    return ir_.CreateAdd(ir_.CreatePtrToInt(Context(), ir_.getInt64Ty()), Number(place.offset));
  }
  return place.address;
}

llvm::Value* FunctionLowering::IncrementScalar(const sema::Increment& expr) {
  llvm::Value* delta = Number(static_cast<uint64_t>(expr.delta));
  if (expr.variable == sema::kNoId) {
    llvm::Value* before = AddMap(expr.place, delta, expr.span);
    return expr.is_prefix ? ir_.CreateAdd(before, delta) : before;
  }
  llvm::Value* slot = LocalBytes(expr.variable).pointer;
  llvm::Value* before = ir_.CreateLoad(ir_.getInt64Ty(), slot);
  llvm::Value* after = Narrow(ir_.CreateAdd(before, delta), program_.variables[expr.variable].type);
  ir_.CreateStore(after, slot);
  return expr.is_prefix ? after : before;
}

llvm::Value* FunctionLowering::ProbeIsCondition(const sema::ProbeIs& expr) {
  llvm::Value* probe = Scalar(*expr.name);
  llvm::Value* is_one = ir_.getFalse();
  for (uint64_t index : expr.indices) {
    is_one = ir_.CreateOr(is_one, ir_.CreateICmpEQ(probe, Number(index)));
  }
  return expr.negated ? ir_.CreateNot(is_one) : is_one;
}

// ---- Values in memory -------------------------------------------------------------------------

Bytes FunctionLowering::InMemory(const Expr& expr) {
  Located located(*this, expr.span);
  switch (expr.kind) {
    case ExprKind::kString: {
      const auto& string = static_cast<const sema::String&>(expr);
      return {module_.Text(string.value, expr.type->size), expr.type->size, 8};
    }
    case ExprKind::kVariable: {
      Bytes local = LocalBytes(static_cast<const sema::Variable&>(expr).variable);
      local.size = expr.type->size;
      return local;
    }
    case ExprKind::kTupleElement: {
      const auto& element = static_cast<const sema::TupleElement&>(expr);
      Bytes tuple = InMemory(*element.tuple);
      return Part(tuple, element.tuple->type->members[element.index].offset, expr.type->size);
    }
    case ExprKind::kMember:
    case ExprKind::kIndex:
    case ExprKind::kDereference: {
      Place place = PlaceOf(expr);
      if (place.memory == Memory::kBpf) return {place.address, expr.type->size, place.alignment};
      Bytes copy = Temporary(expr.type->size);
      ReadInto(copy, place, expr.type, Padding::kZero);
      return copy;
    }
    case ExprKind::kConstant:
    case ExprKind::kMapRead:
    case ExprKind::kContextField:
    case ExprKind::kAddressOf:
    case ExprKind::kUnary:
    case ExprKind::kBinary:
    case ExprKind::kCompare:
    case ExprKind::kLogical:
    case ExprKind::kConditional:
    case ExprKind::kCast:
    case ExprKind::kTuple:
    case ExprKind::kIncrement:
    case ExprKind::kCall:
    case ExprKind::kProbeIs:
      break;
  }
  Bytes copy = Temporary(expr.type->size);
  Store(expr, copy);
  return copy;
}

void FunctionLowering::Store(const Expr& expr, Bytes to, Padding padding) {
  if (expr.type.IsScalar()) {
    StoreInt(to.pointer, Scalar(expr), expr.type->size, to.alignment);
    return;
  }
  Located located(*this, expr.span);
  switch (expr.kind) {
    case ExprKind::kMapRead:
      return MapInto(static_cast<const sema::MapRead&>(expr).place, to);
    case ExprKind::kContextField: {
      const auto& field = static_cast<const sema::ContextField&>(expr);
      Place place = ContextPlace(field);
      // The only field whose string may be longer than its place.
      if (field.is_data_loc && expr.type.Is(types::Kind::kString)) {
        return ReadString(to, place.memory, place.address, Number(to.size), padding);
      }
      return ReadInto(to, place, expr.type, padding);
    }
    case ExprKind::kMember:
    case ExprKind::kIndex:
    case ExprKind::kDereference:
      return ReadInto(to, PlaceOf(expr), expr.type, padding);
    case ExprKind::kConditional:
      return StoreConditional(static_cast<const sema::Conditional&>(expr), to, padding);
    case ExprKind::kCast:
      return StoreCast(static_cast<const sema::Cast&>(expr), to, padding);
    case ExprKind::kTuple:
      return StoreTuple(static_cast<const sema::Tuple&>(expr), to);
    case ExprKind::kCall: {
      const auto& call = static_cast<const sema::Call&>(expr);
      const Lowering& lowering = LoweringOf(call.function);
      MT_CHECK(lowering.store != nullptr,
               "a call whose value lies in memory is lowered to a store");
      return lowering.store(*this, call, to, padding);
    }
    case ExprKind::kString:
    case ExprKind::kVariable:
    case ExprKind::kTupleElement:
      return Copy(to, InMemory(expr));
    case ExprKind::kConstant:
    case ExprKind::kAddressOf:
    case ExprKind::kUnary:
    case ExprKind::kBinary:
    case ExprKind::kCompare:
    case ExprKind::kLogical:
    case ExprKind::kIncrement:
    case ExprKind::kProbeIs:
      break;
  }
  MT_UNREACHABLE("what is computed is a number");
}

void FunctionLowering::StoreConditional(const sema::Conditional& expr, Bytes to, Padding padding) {
  llvm::Value* condition = nullptr;
  Bytes value{};
  if (expr.then == nullptr) {
    value = InMemory(*expr.condition);
    condition = ir_.CreateICmpNE(LoadInt(value.pointer, 1, false, 1), Number(0));
  } else {
    condition = Condition(*expr.condition);
  }
  Choose(
      condition,
      [&]() -> llvm::Value* {
        if (expr.then == nullptr) {
          Copy(to, value);
        } else {
          Store(*expr.then, to, padding);
        }
        return ir_.getFalse();
      },
      [&]() -> llvm::Value* {
        Store(*expr.otherwise, to, padding);
        return ir_.getFalse();
      });
}

// string[n] → string[m]: padded with NULs, or cut so that the last byte stays one.
void FunctionLowering::StoreCast(const sema::Cast& expr, Bytes to, Padding padding) {
  uint32_t from_size = expr.operand->type->size;
  if (from_size <= to.size) {
    Store(*expr.operand, Part(to, 0, from_size), padding);
    if (from_size < to.size) Zero(Part(to, from_size, to.size - from_size));
    return;
  }
  Bytes from = InMemory(*expr.operand);
  Copy(to, from.pointer, from.alignment, to.size);
  if (!expr.type.Is(types::Kind::kString)) return;
  StoreInt(Offset(to.pointer, to.size - 1), Number(0), 1, 1);
}

void FunctionLowering::StoreTuple(const sema::Tuple& expr, Bytes to) {
  uint32_t used = 0;
  for (const types::Member& member : expr.type->members) used += member.type->size;
  if (used < to.size) Zero(to);
  for (size_t i = 0; i < expr.elements.size(); ++i) {
    const types::Member& member = expr.type->members[i];
    Store(*expr.elements[i], Part(to, member.offset, member.type->size));
  }
}

}  // namespace memtrace::codegen
