// Places: fields of the context, and what pointers lead to.
#include "compiler/base/check.h"
#include "compiler/codegen/function_lowering.h"
#include "compiler/kernel/registers.h"

namespace memtrace::codegen {

using From = sema::ContextField::From;
using sema::Expr;
using sema::ExprKind;

Place FunctionLowering::Pointee(const Expr& pointer, uint64_t offset) {
  Memory memory = Memory::kKernel;
  if (pointer.type.IsPointer() && pointer.type->space == types::Space::kUser) {
    memory = Memory::kUser;
  }
  return {.memory = memory, .address = ir_.CreateAdd(Scalar(pointer), Number(offset))};
}

Place FunctionLowering::PlaceOf(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::kMember:
      return MemberPlace(static_cast<const sema::Member&>(expr));
    case ExprKind::kIndex:
      return IndexPlace(static_cast<const sema::Index&>(expr));
    case ExprKind::kDereference:
      return Pointee(*static_cast<const sema::Dereference&>(expr).pointer, 0);
    case ExprKind::kContextField:
      return ContextPlace(static_cast<const sema::ContextField&>(expr));
    case ExprKind::kCast:
      // A struct seen as another one of the same place.
      if (const auto& cast = static_cast<const sema::Cast&>(expr); cast.operand->type.IsStruct()) {
        return PlaceOf(*cast.operand);
      }
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
    case ExprKind::kCall:
    case ExprKind::kProbeIs:
      break;
  }
  Bytes bytes = InMemory(expr);
  return {.memory = Memory::kBpf, .address = bytes.pointer, .alignment = bytes.alignment};
}

// The largest power of two that divides both.
static uint32_t CommonAlignment(uint32_t alignment, uint64_t offset) {
  while (alignment > 1 && offset % alignment != 0) alignment /= 2;
  return alignment;
}

Place FunctionLowering::MemberPlace(const sema::Member& expr) {
  if (expr.object->type.IsPointer()) return Pointee(*expr.object, expr.offset);
  Place place = PlaceOf(*expr.object);
  place.alignment = CommonAlignment(place.alignment, expr.offset);
  switch (place.memory) {
    case Memory::kBpf:
      place.address = Offset(place.address, expr.offset);
      break;
    case Memory::kContext:
      place.offset += expr.offset;
      break;
    case Memory::kKernel:
    case Memory::kUser:
      place.address = ir_.CreateAdd(place.address, Number(expr.offset));
      break;
  }
  return place;
}

// `address` as a number, where the verifier knows it as a pointer: in tracing programs those of
// arguments have types, and nothing unknown may be added to them. Through the scratch slot it
// forgets that.
static llvm::Value* Addable(FunctionLowering& lowering, llvm::Value* address,
                            llvm::Value* distance) {
  bool is_known = lowering.program().type == plan::ProgramType::kTracing;
  if (!is_known || llvm::isa<llvm::ConstantInt>(distance)) return address;
  llvm::IRBuilder<>& ir = lowering.ir();
  Bytes number = lowering.ScratchTemporary(8);
  ir.CreateStore(address, number.pointer);
  return ir.CreateAlignedLoad(ir.getInt64Ty(), number.pointer, llvm::Align(8), true);
}

Place FunctionLowering::IndexPlace(const sema::Index& expr) {
  if (expr.object->type.IsPointer()) {
    Place place = Pointee(*expr.object, 0);
    llvm::Value* distance = ir_.CreateMul(Scalar(*expr.index), Number(expr.element_size));
    if (place.memory != Memory::kBpf) place.address = Addable(*this, place.address, distance);
    place.address = ir_.CreateAdd(place.address, distance);
    return place;
  }
  Place place = PlaceOf(*expr.object);
  llvm::Value* index = Scalar(*expr.index);
  if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(index);
      constant != nullptr && place.memory == Memory::kContext) {
    place.offset += static_cast<uint32_t>(constant->getZExtValue() * expr.element_size);
    return place;
  }
  if (place.memory == Memory::kContext) {
    // The verifier wants constant offsets into the context; as kernel memory it may be read
    // anywhere.
    llvm::Value* base = ir_.CreatePtrToInt(Context(), ir_.getInt64Ty());
    place = {.memory = Memory::kKernel, .address = ir_.CreateAdd(base, Number(place.offset))};
  }
  if (place.memory == Memory::kBpf) {
    uint32_t count = std::max(1u, expr.object->type->size / std::max(1u, expr.element_size));
    llvm::Value* is_inside = ir_.CreateICmpULT(index, Number(count));
    index = ir_.CreateSelect(is_inside, index, Number(0));
    llvm::Value* distance = ir_.CreateMul(index, Number(expr.element_size));
    place.address = Offset(place.address, distance);
    place.alignment = CommonAlignment(place.alignment, expr.element_size);
    return place;
  }
  llvm::Value* distance = ir_.CreateMul(index, Number(expr.element_size));
  place.address = ir_.CreateAdd(Addable(*this, place.address, distance), distance);
  return place;
}

// An element outside of an array in our own memory reads as zero.
llvm::Value* FunctionLowering::IndexScalar(const sema::Index& expr) {
  Place place = PlaceOf(expr);
  if (place.memory != Memory::kBpf) return LoadScalar(place, expr.type, 0, 0);
  uint32_t count = std::max(1u, expr.object->type->size / std::max(1u, expr.element_size));
  llvm::Value* value = LoadScalar(place, expr.type, 0, 0);
  if (HasEffects(*expr.index)) return value;
  llvm::Value* is_inside = ir_.CreateICmpULT(Scalar(*expr.index), Number(count));
  return ir_.CreateSelect(is_inside, value, Number(0));
}

// ---- The context ------------------------------------------------------------------------------

// The registers or slots that hold a struct which was passed by value, copied.
Place FunctionLowering::StructInRegisters(const sema::ContextField& field) {
  uint32_t slots = (std::max(1u, field.type->size) + 7) / 8;
  Bytes copy = Temporary(slots * 8);
  for (uint32_t slot = 0; slot < slots; ++slot) {
    ir_.CreateStore(RegisterOrSlot(field, slot), Offset(copy.pointer, uint64_t{slot} * 8));
  }
  return {.memory = Memory::kBpf, .address = copy.pointer, .alignment = 8};
}

// 64 bits of the context: of an argument, the `slot`-th 64 of it.
llvm::Value* FunctionLowering::RegisterOrSlot(const sema::ContextField& field, uint32_t slot) {
  switch (field.from) {
    case From::kRegister: {
      MT_CHECK(field.index + slot < kernel::kArgumentRegisterCount, "arguments lie in registers");
      return ContextArgument(kernel::kArgumentRegisters[field.index + slot] / 8);
    }
    case From::kResult:
      return slot == 0 ? ContextArgument(kernel::kResultRegister / 8) : Number(0);
    case From::kArgument:
    case From::kRecord:
    case From::kArgumentMember:
    case From::kSyscallArgument:
    case From::kStackArgument:
    case From::kUserStackArgument:
    case From::kUserMemory:
      break;
    case From::kUserRegister:
      return ir_.CreateLShr(ContextArgument(field.operand.base / 8), field.operand.shift);
  }
  return ContextArgument(field.index + slot);
}

Place FunctionLowering::ContextPlace(const sema::ContextField& field) {
  switch (field.from) {
    case From::kRecord: {
      if (!field.is_data_loc) return {.memory = Memory::kContext, .offset = field.offset};
      // {u16 length, u16 offset} of the bytes, which lie behind the fixed part of the record.
      llvm::Value* location = ir_.CreateAlignedLoad(
          ir_.getInt32Ty(), Offset(Context(), field.offset), llvm::Align(4), /*isVolatile=*/true);
      llvm::Value* offset =
          ir_.CreateAnd(ir_.CreateZExt(location, ir_.getInt64Ty()), Number(0xffff));
      if (field.is_relative_loc) offset = ir_.CreateAdd(offset, Number(field.offset + 4));
      llvm::Value* base = ir_.CreatePtrToInt(Context(), ir_.getInt64Ty());
      return {.memory = Memory::kKernel, .address = ir_.CreateAdd(base, offset)};
    }
    case From::kRegister:
    case From::kResult:
    case From::kUserRegister:
      return StructInRegisters(field);
    case From::kUserMemory: {
      const probes::Operand& operand = field.operand;
      llvm::Value* address = ir_.CreateAdd(ContextArgument(operand.base / 8),
                                           Number(static_cast<uint64_t>(operand.constant)));
      if (operand.scale != 0) {
        llvm::Value* index = ContextArgument(operand.index / 8);
        address = ir_.CreateAdd(address, ir_.CreateMul(index, Number(operand.scale)));
      }
      return {.memory = Memory::kUser, .address = address};
    }
    case From::kStackArgument:
    case From::kUserStackArgument: {
      llvm::Value* stack = ContextArgument(kernel::kStackPointer / 8);
      Memory memory = field.from == From::kStackArgument ? Memory::kKernel : Memory::kUser;
      return {.memory = memory, .address = ir_.CreateAdd(stack, Number(field.offset))};
    }
    case From::kArgument:
      if (field.type.IsStruct()) return StructInRegisters(field);
      // A string that the argument points to.
      return {.memory = Memory::kKernel, .address = ContextArgument(field.index)};
    case From::kArgumentMember:
      return {.memory = Memory::kKernel,
              .address = ir_.CreateAdd(ContextArgument(field.index), Number(field.offset))};
    case From::kSyscallArgument:
      return {.memory = Memory::kKernel,
              .address = ir_.CreateAdd(ContextArgument(0), Number(field.offset))};
  }
  MT_UNREACHABLE("every field lies somewhere");
}

llvm::Value* FunctionLowering::ContextScalar(const sema::ContextField& field) {
  if (field.from == From::kArgument || field.from == From::kRegister ||
      field.from == From::kResult || field.from == From::kUserRegister) {
    return Narrow(RegisterOrSlot(field, 0), field.type);
  }
  // A number at a __data_loc field is the array's address.
  if (field.is_data_loc) return ContextPlace(field).address;
  return LoadScalar(ContextPlace(field), field.type, field.bit_offset, field.bit_size);
}

// ---- Reading ----------------------------------------------------------------------------------

llvm::Value* FunctionLowering::LoadScalar(const Place& place, sema::Type type, uint32_t bit_offset,
                                          uint32_t bit_size) {
  uint32_t size = std::max(1u, type->size);
  if (bit_size != 0) {
    // As many bytes as the bits span, so that nothing behind the struct is read.
    uint32_t first = bit_offset / 8;
    uint32_t bytes = (bit_offset + bit_size + 7) / 8 - first;
    MT_CHECK(bytes <= 8, "a bitfield spans eight bytes at most");
    Bytes word = Temporary(8);
    ir_.CreateStore(Number(0), word.pointer);
    Place start = place;
    if (place.memory == Memory::kContext) {
      start.offset += first;
    } else if (place.memory == Memory::kBpf) {
      start.address = Offset(place.address, first);
      start.alignment = 1;
    } else {
      start.address = ir_.CreateAdd(place.address, Number(first));
    }
    if (place.memory == Memory::kContext) {
      llvm::Value* base = ir_.CreatePtrToInt(Context(), ir_.getInt64Ty());
      ProbeRead(Part(word, 0, bytes), Memory::kKernel, ir_.CreateAdd(base, Number(start.offset)));
    } else if (place.memory == Memory::kBpf) {
      Copy(Part(word, 0, bytes), start.address, 1, bytes);
    } else {
      ProbeRead(Part(word, 0, bytes), place.memory, start.address);
    }
    llvm::Value* bits = ir_.CreateLoad(ir_.getInt64Ty(), word.pointer);
    bits = ir_.CreateShl(bits, 64 - bit_size - (bit_offset - first * 8));
    return type->is_signed ? ir_.CreateAShr(bits, 64 - bit_size)
                           : ir_.CreateLShr(bits, 64 - bit_size);
  }
  switch (place.memory) {
    case Memory::kBpf:
      return LoadInt(place.address, size, type->is_signed, place.alignment);
    case Memory::kContext: {
      // Volatile: LLVM must neither widen nor narrow what the verifier checks field by field.
      auto* load = ir_.CreateAlignedLoad(ir_.getIntNTy(size * 8), Offset(Context(), place.offset),
                                         llvm::Align(CommonAlignment(8, place.offset)),
                                         /*isVolatile=*/true);
      return type->is_signed ? ir_.CreateSExt(load, ir_.getInt64Ty())
                             : ir_.CreateZExt(load, ir_.getInt64Ty());
    }
    case Memory::kKernel:
    case Memory::kUser: {
      Bytes word = Temporary(8);
      ProbeRead(Part(word, 0, size), place.memory, place.address);
      return LoadInt(word.pointer, size, type->is_signed, 8);
    }
  }
  MT_UNREACHABLE("every memory is read somehow");
}

void FunctionLowering::ReadInto(Bytes to, const Place& place, sema::Type type, Padding padding) {
  Memory memory = place.memory;
  llvm::Value* address = place.address;
  if (memory == Memory::kBpf) return Copy(to, address, place.alignment, to.size);
  if (memory == Memory::kContext) {
    llvm::Value* base = ir_.CreatePtrToInt(Context(), ir_.getInt64Ty());
    address = ir_.CreateAdd(base, Number(place.offset));
    memory = Memory::kKernel;
  }
  if (type.Is(types::Kind::kString)) {
    ProbeReadString(to, memory, address, Number(to.size), padding);
  } else {
    ProbeRead(to, memory, address);
  }
}

}  // namespace memtrace::codegen
