// Maps: keyless ones in mt_state, keyed ones in hash maps of the kernel.
#include <linux/bpf.h>

#include "compiler/base/check.h"
#include "compiler/codegen/function_lowering.h"

namespace memtrace::codegen {

using plan::LossCause;
using plan::Storage;
using plan::ValueKind;

static bool IsState(const plan::Map& map) {
  return map.storage == Storage::kState || map.storage == Storage::kStatePerCpu;
}

// The copy of a swapped map that is meant: what events write to, or what the interval just closed.
llvm::Value* FunctionLowering::Window(const plan::Map& map, bool closed) {
  uint32_t offset = map.window_offset == plan::kNoIndex ? plan().window_offset : map.window_offset;
  auto* window = ir_.CreateAlignedLoad(ir_.getInt32Ty(), Offset(module_.state(), offset),
                                       llvm::Align(4), /*isVolatile=*/true);
  llvm::Value* index = ir_.CreateAnd(ir_.CreateZExt(window, ir_.getInt64Ty()), Number(1));
  return closed ? ir_.CreateXor(index, Number(1)) : index;
}

// u64 presence, then the value. `cpu` is null for the one slot of a scalar.
llvm::Value* FunctionLowering::StateSlot(const plan::Map& map, llvm::Value* cpu, bool closed) {
  llvm::Value* slot = Offset(module_.state(), map.offset);
  if (cpu != nullptr) slot = Offset(slot, ir_.CreateMul(cpu, Number(map.slot_size)));
  if (map.is_swapped) {
    slot = Offset(slot, ir_.CreateMul(Window(map, closed), Number(map.copy_size)));
  }
  return slot;
}

// Keys as the plan lays them out. A single one that lies in memory already is taken as it is.
Bytes FunctionLowering::Key(const sema::MapPlace& place) {
  const plan::Map& map = PlanMap(place.map);
  MT_CHECK(map.key.size() == place.keys.size(), "every part of a key has its field");
  if (place.keys.size() == 1 && !place.keys[0]->type.IsScalar() &&
      place.keys[0]->type->size == map.key_size) {
    return InMemory(*place.keys[0]);
  }
  Bytes key = Temporary(map.key_size);
  uint32_t used = 0;
  for (const sema::Expr* part : place.keys) used += part->type->size;
  if (used < map.key_size) Zero(key);
  for (size_t i = 0; i < place.keys.size(); ++i) {
    Store(*place.keys[i], Part(key, map.key[i].offset, place.keys[i]->type->size));
  }
  return key;
}

llvm::Value* FunctionLowering::ForCopy(
    const plan::Map& map, bool closed,
    const std::function<llvm::Value*(llvm::GlobalVariable*)>& body) {
  if (!map.is_swapped) return body(module_.HashMap(map, 0));
  // One call for each copy, not one call of a chosen map: the verifier then still replaces a
  // look-up by code of its own, and that of Linux 6.1 refuses a loop over a chosen map.
  auto of_copy = [&](uint32_t copy) {
    llvm::Value* result = body(module_.HashMap(map, copy));
    KeepApart(copy);
    return result;
  };
  return Choose(
      ir_.CreateICmpEQ(Window(map, closed), Number(0)), [&] { return of_copy(0); },
      [&] { return of_copy(1); });
}

llvm::Value* FunctionLowering::Lookup(const plan::Map& map, bool closed, llvm::Value* key) {
  return ForCopy(map, closed, [&](llvm::GlobalVariable* copy) {
    return Call(Helper::map_lookup_elem, {copy, key});
  });
}

void FunctionLowering::WithValue(const sema::MapPlace& place, const ValueFunction& found) {
  const plan::Map& map = PlanMap(place.map);
  Bytes key = Key(place);
  llvm::Value* value = ForCopy(map, place.closed_window, [&](llvm::GlobalVariable* copy) {
    llvm::Value* first = Call(Helper::map_lookup_elem, {copy, key.pointer});
    return Choose(
        ir_.CreateIsNotNull(first), [&] { return first; },
        [&] {
          // Another CPU may be first: that is as good.
          Call(Helper::map_update_elem,
               {copy, key.pointer, module_.Zeros(map.value_size), Number(BPF_NOEXIST)});
          return Call(Helper::map_lookup_elem, {copy, key.pointer});
        });
  });
  Choose(
      ir_.CreateIsNotNull(value),
      [&]() -> llvm::Value* {
        found(value);
        return ir_.getFalse();
      },
      [&]() -> llvm::Value* {
        CountLoss(LossCause::kMapFull, map.name);
        return ir_.getFalse();
      });
}

// ---- Scalars ----------------------------------------------------------------------------------

llvm::Value* FunctionLowering::MapScalar(const sema::MapPlace& place, sema::Type type) {
  const plan::Map& map = PlanMap(place.map);
  if (map.value != ValueKind::kScalar) return FoldedScalar(place, type);
  if (IsState(map)) {
    llvm::Value* slot = StateSlot(map, nullptr, place.closed_window);
    // Volatile: other CPUs write it, and a loop may wait for that.
    return ir_.CreateAlignedLoad(ir_.getInt64Ty(), Offset(slot, 8), llvm::Align(8),
                                 /*isVolatile=*/true);
  }
  Bytes key = Key(place);
  llvm::Value* value = Lookup(map, place.closed_window, key.pointer);
  return Choose(
      ir_.CreateIsNotNull(value), [&] { return LoadInt(value, 8, false, 8); },
      [&] { return Number(0); });
}

void FunctionLowering::MapInto(const sema::MapPlace& place, Bytes to) {
  const plan::Map& map = PlanMap(place.map);
  if (IsState(map)) {
    Copy(to, Offset(StateSlot(map, nullptr, place.closed_window), 8), 8, to.size);
    return;
  }
  Bytes key = Key(place);
  llvm::Value* value = Lookup(map, place.closed_window, key.pointer);
  Choose(
      ir_.CreateIsNotNull(value),
      [&]() -> llvm::Value* {
        Copy(to, value, 8, to.size);
        return ir_.getFalse();
      },
      [&]() -> llvm::Value* {
        Zero(to);
        return ir_.getFalse();
      });
}

void FunctionLowering::AssignMap(const sema::MapPlace& place, const sema::Expr& value) {
  const plan::Map& map = PlanMap(place.map);
  bool is_scalar = value.type.IsScalar();
  if (IsState(map)) {
    llvm::Value* number = is_scalar ? Scalar(value) : nullptr;
    Bytes bytes = is_scalar ? Bytes{} : InMemory(value);
    llvm::Value* slot = StateSlot(map, nullptr, place.closed_window);
    if (is_scalar) {
      ir_.CreateAlignedStore(number, Offset(slot, 8), llvm::Align(8), /*isVolatile=*/true);
    } else {
      Copy({Offset(slot, 8), value.type->size, 8}, bytes);
    }
    ir_.CreateAlignedStore(Number(1), slot, llvm::Align(8));
    return;
  }
  // The value first: reading the map in it must see what was there before.
  Bytes bytes{};
  if (is_scalar) {
    llvm::Value* number = Scalar(value);
    bytes = Temporary(8);
    ir_.CreateStore(number, bytes.pointer);
  } else {
    bytes = InMemory(value);
  }
  Bytes key = Key(place);
  llvm::Value* status = ForCopy(map, place.closed_window, [&](llvm::GlobalVariable* copy) {
    return Call(Helper::map_update_elem, {copy, key.pointer, bytes.pointer, Number(BPF_ANY)});
  });
  if (!LossSite(LossCause::kMapFull, map.name)) return;
  When(
      ir_.CreateICmpSLT(status, Number(0)), [&] { CountLoss(LossCause::kMapFull, map.name); },
      /*likely=*/false);
}

llvm::Value* FunctionLowering::AddMap(const sema::MapPlace& place, llvm::Value* delta,
                                      diag::Span span) {
  const plan::Map& map = PlanMap(place.map);
  auto add = [&](llvm::Value* pointer) {
    return ir_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, pointer, delta, llvm::MaybeAlign(8),
                               llvm::AtomicOrdering::Monotonic);
  };
  SetLocation(span);
  if (IsState(map)) {
    llvm::Value* slot = StateSlot(map, nullptr, place.closed_window);
    llvm::Value* before = add(Offset(slot, 8));
    ir_.CreateAlignedStore(Number(1), slot, llvm::Align(8));
    return before;
  }
  Bytes result = Temporary(8);
  ir_.CreateStore(Number(0), result.pointer);
  WithValue(place, [&](llvm::Value* value) { ir_.CreateStore(add(value), result.pointer); });
  return ir_.CreateLoad(ir_.getInt64Ty(), result.pointer);
}

// ---- Keys -------------------------------------------------------------------------------------

// A keyless map has its one key once it was written to.
llvm::Value* FunctionLowering::HasKey(const sema::MapPlace& place) {
  const plan::Map& map = PlanMap(place.map);
  if (map.storage == Storage::kState) {
    llvm::Value* slot = StateSlot(map, nullptr, place.closed_window);
    return ir_.CreateICmpNE(LoadInt(slot, 8, false, 8), Number(0));
  }
  if (map.storage == Storage::kStatePerCpu) {
    Bytes any = Temporary(8);
    ir_.CreateStore(Number(0), any.pointer);
    BoundedLoop(plan().cpu_slots, [&](llvm::Value* cpu) {
      llvm::Value* presence = LoadInt(StateSlot(map, cpu, place.closed_window), 8, false, 8);
      ir_.CreateStore(ir_.CreateOr(ir_.CreateLoad(ir_.getInt64Ty(), any.pointer), presence),
                      any.pointer);
      return static_cast<llvm::Value*>(nullptr);
    });
    return ir_.CreateICmpNE(ir_.CreateLoad(ir_.getInt64Ty(), any.pointer), Number(0));
  }
  Bytes key = Key(place);
  return ir_.CreateIsNotNull(Lookup(map, place.closed_window, key.pointer));
}

llvm::Value* FunctionLowering::Delete(const sema::MapPlace& place) {
  const plan::Map& map = PlanMap(place.map);
  if (map.storage == Storage::kState) {
    llvm::Value* had = HasKey(place);
    Zero({StateSlot(map, nullptr, place.closed_window), map.slot_size, 8});
    return had;
  }
  if (map.storage == Storage::kStatePerCpu) {
    llvm::Value* had = HasKey(place);
    BoundedLoop(plan().cpu_slots, [&](llvm::Value* cpu) {
      Zero({StateSlot(map, cpu, place.closed_window), map.slot_size, 8});
      return static_cast<llvm::Value*>(nullptr);
    });
    return had;
  }
  Bytes key = Key(place);
  llvm::Value* status = ForCopy(map, place.closed_window, [&](llvm::GlobalVariable* copy) {
    return Call(Helper::map_delete_elem, {copy, key.pointer});
  });
  return ir_.CreateICmpEQ(status, Number(0));
}

// The kernel keeps no count of a hash map's elements: they are counted one by one.
llvm::Value* FunctionLowering::Length(const sema::MapPlace& place, diag::Span span) {
  const plan::Map& map = PlanMap(place.map);
  if (IsState(map)) return Bool(HasKey(place));
  llvm::Function* callback =
      Callback("count", "pppp", 3, span, [](llvm::Function&) { /* one more element */ });
  llvm::Value* count = ForCopy(map, place.closed_window, [&](llvm::GlobalVariable* copy) {
    return Call(Helper::for_each_map_elem, {copy, callback, here_.frame, Number(0)});
  });
  // A negative number is an error; none is possible here.
  return count;
}

// find(@m, key, $value): sets $value when the key is there.
llvm::Value* FunctionLowering::Find(const sema::Call& call) {
  sema::Id variable = static_cast<const sema::Variable&>(*call.arguments[0]).variable;
  sema::Type type = program_.variables[variable].type;
  if (IsState(PlanMap(call.place.map)) || PlanMap(call.place.map).value != ValueKind::kScalar) {
    llvm::Value* found = HasKey(call.place);
    When(found, [&] { StoreVariable(variable, MapScalar(call.place, type)); });
    return found;
  }
  Bytes key = Key(call.place);
  llvm::Value* value = Lookup(PlanMap(call.place.map), call.place.closed_window, key.pointer);
  llvm::Value* found = ir_.CreateIsNotNull(value);
  When(found, [&] {
    if (type.IsScalar()) {
      StoreVariable(variable, LoadInt(value, 8, false, 8));
    } else {
      Copy(LocalBytes(variable), value, 8, type->size);
    }
  });
  return found;
}

}  // namespace memtrace::codegen
