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

// The begin of a key as bytes that compare like the key, so that sorting a million rows seldom has
// to look at the keys themselves. 24 bytes hold a comm and a pid.
struct KeyImage {
  uint64_t words[3] = {};  // the first byte is the highest of the first word
  uint32_t used = 0;

  bool Append(uint8_t byte) {
    if (used == sizeof words) return false;
    words[used / 8] |= uint64_t{byte} << (56 - used % 8 * 8);
    ++used;
    return true;
  }
  bool AppendNumber(uint64_t image, uint32_t size) {
    for (uint32_t i = size; i-- > 0;) {
      if (!Append(static_cast<uint8_t>(image >> (8 * i)))) return false;
    }
    return true;
  }
  bool AppendText(Bytes place) {
    std::string_view text = TextOf(place);
    for (size_t i = 0; i < place.size(); ++i) {
      if (!Append(i < text.size() ? static_cast<uint8_t>(text[i]) : 0)) return false;
    }
    return true;
  }
};

// Extends the image by one field; false when nothing may follow it.
bool AppendField(const plan::Plan& plan, const plan::Field& field, Bytes key, KeyImage& image) {
  const plan::Type& type = plan.types[field.type];
  Bytes bytes = From(key, field.offset);
  if (field.bit_size != 0) return false;
  switch (type.kind) {
    case plan::TypeKind::kBool:
    case plan::TypeKind::kInt:
    case plan::TypeKind::kEnum: {
      uint64_t bits = LoadInteger(bytes, type.size, type.is_signed);
      uint64_t sign = type.is_signed ? uint64_t{1} << (8 * type.size - 1) : 0;
      return image.AppendNumber(bits ^ sign, type.size);
    }
    case plan::TypeKind::kString:
      return image.AppendText(bytes.first(type.size));
    case plan::TypeKind::kPointer:
    case plan::TypeKind::kKernelSymbol:
    case plan::TypeKind::kTimestamp:
    case plan::TypeKind::kCgroupPath:
    case plan::TypeKind::kMemcgPath:
    case plan::TypeKind::kLoadAverage:
    case plan::TypeKind::kProbeName:
      return image.AppendNumber(LoadAs<uint64_t>(bytes), 8);
    case plan::TypeKind::kUserName:
    case plan::TypeKind::kGroupName:
      return image.AppendNumber(LoadAs<uint32_t>(bytes), 4);
    case plan::TypeKind::kNone:
    case plan::TypeKind::kBuffer:
    case plan::TypeKind::kArray:
    case plan::TypeKind::kStruct:
    case plan::TypeKind::kTuple:
    case plan::TypeKind::kRecord:
    case plan::TypeKind::kKernelStack:
    case plan::TypeKind::kUserStack:
    case plan::TypeKind::kUserSymbol:
      return false;
  }
  return false;
}

KeyImage ImageOf(const plan::Plan& plan, const plan::Map& map, Bytes key) {
  KeyImage image;
  for (const plan::Field& field : map.key) {
    if (!AppendField(plan, field, key, image)) break;
  }
  return image;
}

struct Row {
  uint64_t rank;
  KeyImage key;
  uint32_t index;
};

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
    case plan::TypeKind::kMemcgPath:
    case plan::TypeKind::kLoadAverage:
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
  std::vector<uint64_t> words;
  std::vector<Row> rows;
  rows.reserve(entries.size());
  for (uint32_t i = 0; i < entries.size(); ++i) {
    Bytes value = AsBytes(entries[i].value), scalar;
    if (is_scalar) {
      scalar = ScalarBytes(map, value);
      if (scalar.empty()) continue;
    } else if (!Fold(map, value, value_stride, words)) {
      continue;
    }
    rows.push_back({.rank = RankOf(plan, map, scalar, words),
                    .key = ImageOf(plan, map, AsBytes(entries[i].key)),
                    .index = i});
  }

  auto is_before = [&](const Row& left, const Row& right) {
    if (left.rank != right.rank) return left.rank < right.rank;
    const RawEntry& a = entries[left.index];
    const RawEntry& b = entries[right.index];
    if (!ranks_suffice) {
      int result = Compare(plan, map.value_type, ScalarBytes(map, AsBytes(a.value)),
                           ScalarBytes(map, AsBytes(b.value)));
      if (result != 0) return result < 0;
    }
    for (size_t i = 0; i < std::size(left.key.words); ++i) {
      if (left.key.words[i] != right.key.words[i]) return left.key.words[i] < right.key.words[i];
    }
    return CompareFields(plan, map.key, AsBytes(a.key), AsBytes(b.key)) < 0;
  };
  if (top > 0 && static_cast<size_t>(top) < rows.size()) {
    auto first_shown = rows.end() - top;
    std::nth_element(rows.begin(), first_shown, rows.end(), is_before);
    rows.erase(rows.begin(), first_shown);
  }
  std::sort(rows.begin(), rows.end(), is_before);

  std::vector<uint32_t> order;
  order.reserve(rows.size());
  for (const Row& row : rows) order.push_back(row.index);
  return order;
}

}  // namespace memtrace::events
