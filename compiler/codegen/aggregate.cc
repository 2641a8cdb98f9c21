// Aggregations: updating the value of a key (or of this CPU's slot), and folding the parts into a
// number.
//
// Every update is atomic, also on memory of one's own CPU: an interrupt can land between load and
// store.
#include <llvm/IR/MDBuilder.h>

#include "bpf-headers/memtrace/record.h"
#include "compiler/base/check.h"
#include "compiler/codegen/function_lowering.h"
#include "compiler/plan/histogram.h"

namespace memtrace::codegen {
namespace {

using plan::LossCause;
using plan::Storage;
using plan::ValueKind;

// Rounds of a compare-and-swap loop: on memory of one CPU only interrupts compete.
constexpr uint64_t kOwnRetries = 4;
constexpr uint64_t kSharedRetries = 32;

// Position of each power of two in the de Bruijn sequence 0x03f79d71b4cb0a89, shifted left by it.
constexpr uint64_t kDeBruijn = 0x03f79d71b4cb0a89;

std::string DeBruijnTable() {
  std::string table(64, '\0');
  for (uint32_t bit = 0; bit < 64; ++bit) {
    // Of a number whose bits up to `bit` are all set.
    uint64_t smeared = bit == 63 ? UINT64_MAX : (uint64_t{1} << (bit + 1)) - 1;
    table[(smeared * kDeBruijn) >> 58] = static_cast<char>(bit + 1);
  }
  return table;
}

}  // namespace

void FunctionLowering::Aggregate(const sema::Aggregate& stmt) {
  const plan::Map& map = PlanMap(stmt.place.map);
  llvm::Value* number = stmt.value != nullptr ? Scalar(*stmt.value) : nullptr;
  if (map.storage == Storage::kStatePerCpu || map.storage == Storage::kState) {
    llvm::Value* cpu = map.storage == Storage::kStatePerCpu ? Cpu() : nullptr;
    llvm::Value* slot = StateSlot(map, cpu, stmt.place.closed_window);
    AggregateAt(stmt, map, Offset(slot, 8), number);
    ir_.CreateAlignedStore(Number(1), slot, llvm::Align(8));
    return;
  }
  WithValue(stmt.place, [&](llvm::Value* value) { AggregateAt(stmt, map, value, number); });
}

void FunctionLowering::AggregateAt(const sema::Aggregate& stmt, const plan::Map& map,
                                   llvm::Value* value, llvm::Value* number) {
  bool is_signed = stmt.value != nullptr && stmt.value->type->is_signed;
  auto add = [&](llvm::Value* pointer, llvm::Value* delta) {
    ir_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, pointer, delta, llvm::MaybeAlign(8),
                        llvm::AtomicOrdering::Monotonic);
  };
  switch (map.value) {
    case ValueKind::kScalar:
      break;
    case ValueKind::kCount:
      return add(value, Number(1));
    case ValueKind::kSum:
      return add(value, number);
    case ValueKind::kMin:
      return RaiseTo(value, ir_.CreateNot(OrderedImage(number, is_signed)), map);
    case ValueKind::kMax:
      return RaiseTo(value, OrderedImage(number, is_signed), map);
    case ValueKind::kAvg:
    case ValueKind::kStats: {
      add(Offset(value, offsetof(mt_stats, count)), Number(1));
      add(Offset(value, offsetof(mt_stats, total)), number);
      if (map.value == ValueKind::kAvg) return;
      llvm::Value* image = OrderedImage(number, is_signed);
      RaiseTo(Offset(value, offsetof(mt_stats, inverted_min)), ir_.CreateNot(image), map);
      RaiseTo(Offset(value, offsetof(mt_stats, max)), image, map);
      return;
    }
    case ValueKind::kHist:
    case ValueKind::kLinearHist: {
      llvm::Value* bucket = map.value == ValueKind::kHist ? BucketOf(map, number, is_signed)
                                                          : LinearBucketOf(map, number, is_signed);
      // Always true; the verifier cannot know.
      bucket = Opaque(bucket);
      When(ir_.CreateICmpULT(bucket, Number(map.bucket_count)),
           [&] { add(Offset(value, ir_.CreateMul(bucket, Number(8))), Number(1)); });
      return;
    }
  }
  MT_UNREACHABLE("a scalar is assigned, not aggregated");
}

llvm::Value* FunctionLowering::OrderedImage(llvm::Value* number, bool is_signed) {
  return is_signed ? ir_.CreateXor(number, Number(uint64_t{1} << 63)) : number;
}

// *pointer = max(*pointer, number), by compare and swap: the back end has no atomic maximum.
void FunctionLowering::RaiseTo(llvm::Value* pointer, llvm::Value* number, const plan::Map& map) {
  uint64_t rounds = map.storage == Storage::kHash ? kSharedRetries : kOwnRetries;
  llvm::BasicBlock* done = NewBlock("raised");
  BoundedLoop(rounds, [&](llvm::Value*) -> llvm::Value* {
    llvm::BasicBlock* smaller = NewBlock("raise");
    auto* current =
        ir_.CreateAlignedLoad(ir_.getInt64Ty(), pointer, llvm::Align(8), /*isVolatile=*/true);
    ir_.CreateCondBr(ir_.CreateICmpULT(current, number), smaller, done);
    ir_.SetInsertPoint(smaller);
    auto* exchange = ir_.CreateAtomicCmpXchg(pointer, current, number, llvm::MaybeAlign(8),
                                             llvm::AtomicOrdering::SequentiallyConsistent,
                                             llvm::AtomicOrdering::SequentiallyConsistent);
    llvm::BasicBlock* again = NewBlock("again");
    llvm::Value* seen = ir_.CreateExtractValue(exchange, 0);
    ir_.CreateCondBr(ir_.CreateICmpEQ(seen, current), done, again);
    ir_.SetInsertPoint(again);
    return nullptr;
  });
  CountLoss(LossCause::kRetry, map.name);
  JumpTo(done);
}

// 0 for 0, else the position of the leading bit + 1; without a branch, so that the verifier has one
// path.
llvm::Value* FunctionLowering::BitWidth(llvm::Value* number) {
  llvm::Value* smeared = number;
  for (unsigned shift = 1; shift < 64; shift *= 2) {
    smeared = ir_.CreateOr(smeared, ir_.CreateLShr(smeared, shift));
  }
  llvm::Value* index = ir_.CreateLShr(ir_.CreateMul(smeared, Number(kDeBruijn)), 58);
  llvm::GlobalVariable* table = module_.Text(DeBruijnTable(), 64);
  llvm::Value* width = LoadInt(Offset(table, index), 1, false, 1);
  // 0 shares its entry with one other number; the top bit of -number | number tells it apart.
  llvm::Value* is_set = ir_.CreateAShr(ir_.CreateOr(ir_.CreateNeg(number), number), 63);
  return ir_.CreateAnd(width, is_set);
}

// plan::BucketIndex in IR: ((shift << bits) + (scaled >> shift) + 1) for shift = max(0, width - 1 -
// bits), and 0 for what is negative.
llvm::Value* FunctionLowering::BucketOf(const plan::Map& map, llvm::Value* number, bool is_signed) {
  int64_t scale =
      map.value_type == plan::kNoIndex ? 1 : plan::BucketScale(plan().types[map.value_type].unit);
  llvm::Value* not_negative = ir_.CreateNot(ir_.CreateAShr(number, 63));
  if (!is_signed) {
    // Above INT64_MAX: clamped to it.
    llvm::Value* too_large = ir_.CreateAShr(number, 63);
    number = ir_.CreateAnd(ir_.CreateOr(number, too_large), Number(INT64_MAX));
    not_negative = Number(UINT64_MAX);
  }
  llvm::Value* scaled =
      scale == 1 ? number : ir_.CreateUDiv(number, Number(static_cast<uint64_t>(scale)));
  if (map.hist_bits == 0) {
    return ir_.CreateAnd(ir_.CreateAdd(BitWidth(scaled), Number(1)), not_negative);
  }
  llvm::Value* shift = ir_.CreateSub(BitWidth(scaled), Number(1 + map.hist_bits));
  shift = ir_.CreateAnd(shift, ir_.CreateNot(ir_.CreateAShr(shift, 63)));
  llvm::Value* index = ir_.CreateAdd(ir_.CreateShl(shift, map.hist_bits),
                                     ir_.CreateLShr(scaled, ir_.CreateAnd(shift, Number(63))));
  return ir_.CreateAnd(ir_.CreateAdd(index, Number(1)), not_negative);
}

llvm::Value* FunctionLowering::LinearBucketOf(const plan::Map& map, llvm::Value* number,
                                              bool is_signed) {
  if (!is_signed) {
    llvm::Value* too_large = ir_.CreateAShr(number, 63);
    number = ir_.CreateAnd(ir_.CreateOr(number, too_large), Number(INT64_MAX));
  }
  auto constant = [this](int64_t value) { return Number(static_cast<uint64_t>(value)); };
  llvm::Value* below = ir_.CreateICmpSLT(number, constant(map.lhist_min));
  llvm::Value* above = ir_.CreateICmpSGE(number, constant(map.lhist_max));
  llvm::Value* distance = ir_.CreateSub(number, constant(map.lhist_min));
  llvm::Value* inside =
      ir_.CreateAdd(ir_.CreateUDiv(distance, constant(map.lhist_step)), Number(1));
  uint32_t last = plan::LinearBucketCount(map.lhist_min, map.lhist_max, map.lhist_step) - 1;
  llvm::Value* bucket = ir_.CreateSelect(above, Number(last), inside);
  return ir_.CreateSelect(below, Number(0), bucket);
}

// ---- Folding ----------------------------------------------------------------------------------

FunctionLowering::Folded FunctionLowering::FoldStep(const plan::Map& map, Folded so_far,
                                                    llvm::Value* value) {
  auto load = [&](uint64_t offset) {
    return ir_.CreateAlignedLoad(ir_.getInt64Ty(), Offset(value, offset), llvm::Align(8),
                                 /*isVolatile=*/true);
  };
  switch (map.value) {
    case ValueKind::kCount:
    case ValueKind::kSum:
      return {ir_.CreateAdd(so_far.first, load(0)), so_far.second};
    case ValueKind::kMin:
    case ValueKind::kMax: {
      llvm::Value* part = load(0);
      llvm::Value* is_larger = ir_.CreateICmpUGT(part, so_far.first);
      return {ir_.CreateSelect(is_larger, part, so_far.first), so_far.second};
    }
    case ValueKind::kAvg:
    case ValueKind::kStats:
      return {ir_.CreateAdd(so_far.first, load(offsetof(mt_stats, count))),
              ir_.CreateAdd(so_far.second, load(offsetof(mt_stats, total)))};
    case ValueKind::kHist:
    case ValueKind::kLinearHist:
      return so_far;
    case ValueKind::kScalar:
      break;
  }
  MT_UNREACHABLE("only aggregations are folded");
}

llvm::Value* FunctionLowering::FoldResult(const plan::Map& map, Folded folded, sema::Type type) {
  bool is_signed = type->is_signed;
  if (map.value == ValueKind::kAvg || map.value == ValueKind::kStats) {
    // Signed: the total is that of signed numbers; the count is never 0 after one.
    llvm::Value* none = ir_.CreateICmpEQ(folded.first, Number(0));
    llvm::Value* count = ir_.CreateSelect(none, Number(1), folded.first);
    if (!is_signed) return ir_.CreateUDiv(folded.second, count);
    llvm::Value* sign = ir_.CreateAShr(folded.second, 63);
    llvm::Value* magnitude = ir_.CreateSub(ir_.CreateXor(folded.second, sign), sign);
    llvm::Value* mean = ir_.CreateUDiv(magnitude, count);
    return ir_.CreateSub(ir_.CreateXor(mean, sign), sign);
  }
  if (map.value != ValueKind::kMin && map.value != ValueKind::kMax) return folded.first;
  llvm::Value* image = map.value == ValueKind::kMin ? ir_.CreateNot(folded.first) : folded.first;
  llvm::Value* none = ir_.CreateICmpEQ(folded.first, Number(0));
  return ir_.CreateSelect(none, Number(0), OrderedImage(image, is_signed));
}

llvm::Value* FunctionLowering::FoldedScalar(const sema::MapPlace& place, sema::Type type) {
  const plan::Map& map = PlanMap(place.map);
  if (map.storage == Storage::kState || map.storage == Storage::kStatePerCpu) {
    return FoldState(map, place.closed_window, type);
  }
  Bytes key = Key(place);
  return FoldHash(map, place.closed_window, key.pointer, type);
}

// Keeps the two running numbers of a fold in memory, which SROA turns into registers.
llvm::Value* FunctionLowering::FoldState(const plan::Map& map, bool closed, sema::Type type) {
  Bytes first = Temporary(8), second = Temporary(8);
  ir_.CreateStore(Number(0), first.pointer);
  ir_.CreateStore(Number(0), second.pointer);
  uint32_t slots = map.storage == Storage::kStatePerCpu ? plan().cpu_slots : 1;
  llvm::Value* base = StateSlot(map, nullptr, closed);
  BoundedLoop(slots, [&](llvm::Value* cpu) -> llvm::Value* {
    llvm::Value* slot = Offset(base, ir_.CreateMul(cpu, Number(map.slot_size)));
    Folded folded = FoldStep(map,
                             {ir_.CreateLoad(ir_.getInt64Ty(), first.pointer),
                              ir_.CreateLoad(ir_.getInt64Ty(), second.pointer)},
                             Offset(slot, 8));
    ir_.CreateStore(folded.first, first.pointer);
    ir_.CreateStore(folded.second, second.pointer);
    return nullptr;
  });
  return FoldResult(map,
                    {ir_.CreateLoad(ir_.getInt64Ty(), first.pointer),
                     ir_.CreateLoad(ir_.getInt64Ty(), second.pointer)},
                    type);
}

llvm::Value* FunctionLowering::FoldHash(const plan::Map& map, bool closed, llvm::Value* key,
                                        sema::Type type) {
  Bytes first = Temporary(8), second = Temporary(8);
  ir_.CreateStore(Number(0), first.pointer);
  ir_.CreateStore(Number(0), second.pointer);
  auto step = [&](llvm::Value* value) {
    When(ir_.CreateIsNotNull(value), [&] {
      Folded folded = FoldStep(map,
                               {ir_.CreateLoad(ir_.getInt64Ty(), first.pointer),
                                ir_.CreateLoad(ir_.getInt64Ty(), second.pointer)},
                               value);
      ir_.CreateStore(folded.first, first.pointer);
      ir_.CreateStore(folded.second, second.pointer);
    });
  };
  ForCopy(map, closed, [&](llvm::GlobalVariable* copy) -> llvm::Value* {
    if (map.storage == Storage::kHash) {
      step(Call(Helper::map_lookup_elem, {copy, key}));
      return ir_.getFalse();
    }
    BoundedLoop(module_.program().possible_cpus, [&](llvm::Value* cpu) -> llvm::Value* {
      step(Call(Helper::map_lookup_percpu_elem, {copy, key, cpu}));
      return nullptr;
    });
    return ir_.getFalse();
  });
  return FoldResult(map,
                    {ir_.CreateLoad(ir_.getInt64Ty(), first.pointer),
                     ir_.CreateLoad(ir_.getInt64Ty(), second.pointer)},
                    type);
}

llvm::Value* FunctionLowering::FoldAt(const sema::ForMap& stmt, llvm::Value* key,
                                      llvm::Value* value) {
  const plan::Map& map = PlanMap(stmt.map);
  sema::Type type = program_.variables[stmt.variable].type->members[1].type;
  if (map.storage == Storage::kHash) {
    return FoldResult(map, FoldStep(map, {Number(0), Number(0)}, value), type);
  }
  return FoldHash(map, stmt.closed_window, key, type);
}

}  // namespace memtrace::codegen
