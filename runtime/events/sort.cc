#include "runtime/events/sort.h"

#include <algorithm>
#include <numeric>

#include "bpf-headers/memtrace/record.h"
#include "runtime/events/bytes.h"
#include "runtime/events/field.h"
#include "runtime/events/fold.h"

namespace memtrace::events {
namespace {

template <typename T>
int ThreeWay(T left, T right) {
  return left < right ? -1 : left > right ? 1 : 0;
}

int CompareNumbers(uint64_t left, uint64_t right, bool is_signed) {
  return ThreeWay(OrderImage(left, is_signed), OrderImage(right, is_signed));
}

int CompareText(Bytes left, Bytes right) {
  return ThreeWay(TextOf(left).compare(TextOf(right)), 0);
}

int CompareBuffers(const plan::Type& type, Bytes left, Bytes right) {
  return ThreeWay(BufferOf(type, left).compare(BufferOf(type, right)), 0);
}

// One number per entry that sorts as its value does; 0 for scalars that are no numbers.
uint64_t RankOf(const plan::Plan& plan, const plan::Map& map, Bytes scalar,
                const std::vector<uint64_t>& words) {
  bool is_signed = map.value_type != plan::kNoIndex && plan.types[map.value_type].is_signed;
  switch (map.value) {
    case plan::ValueKind::kScalar: {
      const plan::Type& type = plan.types[map.value_type];
      if (type.kind != plan::TypeKind::kInt) return 0;
      return OrderImage(LoadInteger(scalar, type.size, is_signed), is_signed);
    }
    case plan::ValueKind::kCount:
    case plan::ValueKind::kStats:
      return words[0];
    case plan::ValueKind::kSum:
      return OrderImage(words[0], is_signed);
    case plan::ValueKind::kMin:
      return OrderImage(DecodeMin(words[0], is_signed), is_signed);
    case plan::ValueKind::kMax:
      return OrderImage(DecodeMax(words[0], is_signed), is_signed);
    case plan::ValueKind::kAvg:
      return OrderImage(DecodeStats(words, is_signed).average, is_signed);
    case plan::ValueKind::kHist:
    case plan::ValueKind::kLinearHist:
      return std::accumulate(words.begin(), words.end(), uint64_t{0});
  }
  MT_UNREACHABLE("a map's value is of a known kind");
}

}  // namespace

int CompareFields(const plan::Plan& plan, const std::vector<plan::Field>& fields, Bytes left,
                  Bytes right) {
  for (const plan::Field& field : fields) {
    int order = 0;
    if (field.bit_size != 0) {
      bool is_signed = plan.types[field.type].is_signed;
      order = CompareNumbers(LoadBitfield(field, is_signed, left),
                             LoadBitfield(field, is_signed, right), is_signed);
    } else {
      order = Compare(plan, field.type, From(left, field.offset), From(right, field.offset));
    }
    if (order != 0) return order;
  }
  return 0;
}

int Compare(const plan::Plan& plan, plan::Index index, Bytes left, Bytes right) {
  const plan::Type& type = plan.types[index];
  switch (type.kind) {
    case plan::TypeKind::kNone:
      return 0;
    case plan::TypeKind::kBool:
    case plan::TypeKind::kInt:
    case plan::TypeKind::kEnum:
      return CompareNumbers(LoadInteger(left, type.size, type.is_signed),
                            LoadInteger(right, type.size, type.is_signed), type.is_signed);
    case plan::TypeKind::kString:
      return CompareText(left.first(type.size), right.first(type.size));
    case plan::TypeKind::kBuffer:
      return CompareBuffers(type, left, right);
    case plan::TypeKind::kArray: {
      uint32_t size = plan.types[type.element].size;
      for (uint32_t i = 0; i < type.count; ++i) {
        size_t offset = size_t{i} * size;
        int order = Compare(plan, type.element, From(left, offset), From(right, offset));
        if (order != 0) return order;
      }
      return 0;
    }
    case plan::TypeKind::kStruct:
    case plan::TypeKind::kTuple:
    case plan::TypeKind::kRecord:
      return CompareFields(plan, type.fields, left, right);
    case plan::TypeKind::kUserName:
    case plan::TypeKind::kGroupName:
      return ThreeWay(LoadAs<uint32_t>(left), LoadAs<uint32_t>(right));
    case plan::TypeKind::kKernelStack:
    case plan::TypeKind::kUserStack:
    case plan::TypeKind::kUserSymbol: {
      // mt_stack_ref and mt_user_symbol: a u64, then the process.
      int order = ThreeWay(LoadAs<uint64_t>(left), LoadAs<uint64_t>(right));
      return order != 0 ? order : ThreeWay(LoadAs<uint32_t>(left, 8), LoadAs<uint32_t>(right, 8));
    }
    case plan::TypeKind::kPointer:
    case plan::TypeKind::kKernelSymbol:
    case plan::TypeKind::kTimestamp:
    case plan::TypeKind::kCgroupPath:
    case plan::TypeKind::kProbeName:
      return ThreeWay(LoadAs<uint64_t>(left), LoadAs<uint64_t>(right));
  }
  MT_UNREACHABLE("a type of the plan is of a known kind");
}

std::vector<uint32_t> PrintOrder(const plan::Plan& plan, const plan::Map& map,
                                 const std::vector<RawEntry>& entries, uint32_t value_stride,
                                 int64_t top) {
  bool is_scalar = map.value == plan::ValueKind::kScalar;
  bool ranks_suffice = !is_scalar || plan.types[map.value_type].kind == plan::TypeKind::kInt;
  std::vector<uint64_t> ranks(entries.size()), words;
  std::vector<uint32_t> order;
  order.reserve(entries.size());
  for (uint32_t i = 0; i < entries.size(); ++i) {
    Bytes value = AsBytes(entries[i].value), scalar;
    if (is_scalar) {
      scalar = ScalarBytes(map, value);
      if (scalar.empty()) continue;
    } else if (!Fold(map, value, value_stride, words)) {
      continue;
    }
    ranks[i] = RankOf(plan, map, scalar, words);
    order.push_back(i);
  }

  auto is_before = [&](uint32_t left, uint32_t right) {
    if (ranks[left] != ranks[right]) return ranks[left] < ranks[right];
    const RawEntry& a = entries[left];
    const RawEntry& b = entries[right];
    if (!ranks_suffice) {
      int result = Compare(plan, map.value_type, ScalarBytes(map, AsBytes(a.value)),
                           ScalarBytes(map, AsBytes(b.value)));
      if (result != 0) return result < 0;
    }
    return CompareFields(plan, map.key, AsBytes(a.key), AsBytes(b.key)) < 0;
  };
  if (top > 0 && static_cast<size_t>(top) < order.size()) {
    auto first_shown = order.end() - top;
    std::nth_element(order.begin(), first_shown, order.end(), is_before);
    order.erase(order.begin(), first_shown);
  }
  std::sort(order.begin(), order.end(), is_before);
  return order;
}

}  // namespace memtrace::events
