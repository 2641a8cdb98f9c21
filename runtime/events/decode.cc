#include "runtime/events/decode.h"

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "bpf-headers/memtrace/record.h"
#include "compiler/plan/histogram.h"
#include "runtime/events/bytes.h"
#include "runtime/events/field.h"
#include "runtime/events/fold.h"
#include "runtime/events/sort.h"

namespace memtrace::events {
namespace {

Integer MakeInteger(const plan::Type& type, uint64_t bits) {
  Integer integer{.bits = bits,
                  .is_signed = type.is_signed,
                  .unit = type.unit,
                  .size = static_cast<uint8_t>(type.size),
                  .name = {}};
  if (type.kind == plan::TypeKind::kEnum) {
    auto found = std::find_if(type.names.begin(), type.names.end(), [bits](const plan::Name& name) {
      return static_cast<uint64_t>(name.value) == bits;
    });
    if (found != type.names.end()) integer.name = found->name;
  }
  return integer;
}

Stack DecodeStack(const plan::Type& type, Bytes bytes, Resolver& resolver) {
  auto ref = LoadAs<mt_stack_ref>(bytes);
  Stack stack;
  stack.is_user = type.kind == plan::TypeKind::kUserStack;
  stack.process = ref.process;
  if (ref.hash != 0) stack.frames = resolver.StackFrames(ref.hash);
  stack.failed = (ref.flags & MT_STACK_FAILED) != 0 || (ref.hash != 0 && stack.frames.empty());
  stack.truncated = (ref.flags & MT_STACK_TRUNCATED) != 0;
  if (type.depth != 0 && stack.frames.size() > type.depth) {
    stack.frames.resize(type.depth);
    stack.truncated = false;  // as many as were asked for
  }
  return stack;
}

// strftime with one conversion more: %f, microseconds in six digits.
std::string FormatTime(const std::string& format, uint64_t wall_ns) {
  std::string expanded;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] == '%' && i + 1 < format.size()) {
      ++i;
      if (format[i] == 'f') {
        char digits[16];
        snprintf(digits, sizeof digits, "%06u",
                 static_cast<unsigned>(wall_ns % 1'000'000'000 / 1000));
        expanded += digits;
      } else {
        expanded += '%';
        expanded += format[i];
      }
    } else {
      expanded += format[i];
    }
  }
  if (expanded.empty()) return expanded;
  time_t seconds = static_cast<time_t>(wall_ns / 1'000'000'000);
  struct tm parts{};
  localtime_r(&seconds, &parts);
  char text[512];
  return std::string(text, strftime(text, sizeof text, expanded.c_str(), &parts));
}

Aggregate DecodeFields(const plan::Plan& plan, const plan::Type& type, Bytes bytes,
                       Resolver& resolver) {
  Aggregate aggregate;
  aggregate.shape = type.kind == plan::TypeKind::kTuple    ? Aggregate::Shape::kTuple
                    : type.kind == plan::TypeKind::kRecord ? Aggregate::Shape::kRecord
                                                           : Aggregate::Shape::kStruct;
  aggregate.members.reserve(type.fields.size());
  for (const plan::Field& field : type.fields) {
    Member member{.name = field.name, .value = {}};
    if (field.bit_size != 0) {
      const plan::Type& number = plan.types[field.type];
      uint64_t bits = LoadBitfield(field, number.is_signed, bytes);
      if (number.kind == plan::TypeKind::kBool) {
        member.value.push_back(Value{bits != 0});
      } else {
        member.value.push_back(Value{MakeInteger(number, bits)});
      }
    } else {
      member.value.push_back(Decode(plan, field.type, From(bytes, field.offset), resolver));
    }
    aggregate.members.push_back(std::move(member));
  }
  return aggregate;
}

Aggregate DecodeArray(const plan::Plan& plan, const plan::Type& type, Bytes bytes,
                      Resolver& resolver) {
  Aggregate aggregate;
  aggregate.shape = Aggregate::Shape::kArray;
  aggregate.members.reserve(type.count);
  uint32_t size = plan.types[type.element].size;
  for (uint32_t i = 0; i < type.count; ++i) {
    Member member;
    member.value.push_back(Decode(plan, type.element, From(bytes, size_t{i} * size), resolver));
    aggregate.members.push_back(std::move(member));
  }
  return aggregate;
}

uint64_t Divide(uint64_t bits, bool is_signed, int64_t div) {
  if (div == 0) return bits;
  // -1 apart: INT64_MIN / -1 traps.
  if (is_signed) {
    return div == -1 ? -bits : static_cast<uint64_t>(static_cast<int64_t>(bits) / div);
  }
  return bits / static_cast<uint64_t>(div);
}

// From the first bucket that holds something to the last.
Histogram DecodeHistogram(const plan::Map& map, plan::Unit unit, int64_t div,
                          const std::vector<uint64_t>& words) {
  Histogram histogram{
      .buckets = {}, .unit = unit, .is_linear = map.value == plan::ValueKind::kLinearHist};
  auto is_used = [](uint64_t count) { return count != 0; };
  auto first = std::find_if(words.begin(), words.end(), is_used);
  auto last = std::find_if(words.rbegin(), words.rend(), is_used).base();
  for (auto word = first; word < last; ++word) {
    uint32_t index = static_cast<uint32_t>(word - words.begin());
    plan::BucketRange range =
        histogram.is_linear
            ? plan::LinearBucketBounds(index, map.lhist_min, map.lhist_max, map.lhist_step)
            : plan::BucketBounds(index, map.hist_bits, unit);
    histogram.buckets.push_back(
        {.low = range.low, .high = range.high, .count = Divide(*word, false, div)});
  }
  return histogram;
}

Value DecodeAggregation(const plan::Plan& plan, const plan::Map& map, int64_t div,
                        const std::vector<uint64_t>& words) {
  bool is_signed = false;
  plan::Unit unit = plan::Unit::kNone;
  if (map.value_type != plan::kNoIndex) {
    is_signed = plan.types[map.value_type].is_signed;
    unit = plan.types[map.value_type].unit;
  }
  auto number = [&](uint64_t bits) {
    return Value{Integer{
        .bits = Divide(bits, is_signed, div), .is_signed = is_signed, .unit = unit, .name = {}}};
  };
  switch (map.value) {
    case plan::ValueKind::kScalar:
      break;
    case plan::ValueKind::kCount:
      return Value{Integer{.bits = Divide(words[0], false, div), .name = {}}};
    case plan::ValueKind::kSum:
      return number(words[0]);
    case plan::ValueKind::kMin:
      return number(DecodeMin(words[0], is_signed));
    case plan::ValueKind::kMax:
      return number(DecodeMax(words[0], is_signed));
    case plan::ValueKind::kAvg:
      return number(DecodeStats(words, is_signed).average);
    case plan::ValueKind::kStats: {
      FoldedStats folded = DecodeStats(words, is_signed);
      return Value{Stats{.count = folded.count,
                         .total = Divide(folded.total, is_signed, div),
                         .average = Divide(folded.average, is_signed, div),
                         .min = Divide(folded.min, is_signed, div),
                         .max = Divide(folded.max, is_signed, div),
                         .is_signed = is_signed,
                         .unit = unit}};
    }
    case plan::ValueKind::kHist:
    case plan::ValueKind::kLinearHist:
      return Value{DecodeHistogram(map, unit, div, words)};
  }
  MT_UNREACHABLE("a map's value is of a known kind");
}

}  // namespace

Value Decode(const plan::Plan& plan, plan::Index index, Bytes bytes, Resolver& resolver) {
  const plan::Type& type = plan.types[index];
  switch (type.kind) {
    case plan::TypeKind::kNone:
      return {};
    case plan::TypeKind::kBool:
      return Value{LoadInteger(bytes, std::max(type.size, 1u), false) != 0};
    case plan::TypeKind::kInt:
    case plan::TypeKind::kEnum:
      return Value{MakeInteger(type, LoadInteger(bytes, type.size, type.is_signed))};
    case plan::TypeKind::kString:
      MT_CHECK(type.size <= bytes.size(), "data is as long as the plan says");
      return Value{std::string(TextOf(bytes.first(type.size)))};
    case plan::TypeKind::kBuffer:
      return Value{std::string(BufferOf(type, bytes))};
    case plan::TypeKind::kPointer:
      return Value{Pointer{.address = LoadAs<uint64_t>(bytes)}};
    case plan::TypeKind::kArray:
      return Value{DecodeArray(plan, type, bytes, resolver)};
    case plan::TypeKind::kStruct:
    case plan::TypeKind::kTuple:
    case plan::TypeKind::kRecord:
      return Value{DecodeFields(plan, type, bytes, resolver)};
    case plan::TypeKind::kKernelStack:
    case plan::TypeKind::kUserStack:
      return Value{DecodeStack(type, bytes, resolver)};
    case plan::TypeKind::kKernelSymbol:
      return Value{Symbol{.address = LoadAs<uint64_t>(bytes), .process = 0, .is_user = false}};
    case plan::TypeKind::kUserSymbol: {
      auto symbol = LoadAs<mt_user_symbol>(bytes);
      return Value{Symbol{.address = symbol.address, .process = symbol.process, .is_user = true}};
    }
    case plan::TypeKind::kTimestamp:
      return Value{FormatTime(type.name, resolver.WallClock(LoadAs<uint64_t>(bytes)))};
    case plan::TypeKind::kUserName:
      return Value{resolver.UserName(LoadAs<uint32_t>(bytes))};
    case plan::TypeKind::kGroupName:
      return Value{resolver.GroupName(LoadAs<uint32_t>(bytes))};
    case plan::TypeKind::kCgroupPath:
      return Value{resolver.CgroupPath(LoadAs<uint64_t>(bytes))};
    case plan::TypeKind::kMemcgPath:
      return Value{resolver.MemcgPath(LoadAs<uint64_t>(bytes))};
    case plan::TypeKind::kLoadAverage:
      return Value{resolver.LoadAverage()};
    case plan::TypeKind::kProbeName: {
      uint64_t name = LoadAs<uint64_t>(bytes);
      // From a program, which may have read it from memory that was never set.
      if (name >= plan.probe_names.size()) return Value{std::string()};
      return Value{plan.probe_names[name]};
    }
  }
  MT_UNREACHABLE("a type of the plan is of a known kind");
}

MapTable DecodeMap(const plan::Plan& plan, const plan::Map& map,
                   const std::vector<RawEntry>& entries, uint32_t value_stride, int64_t top,
                   int64_t div, Resolver& resolver) {
  MapTable table{.name = map.name, .has_keys = !map.key.empty(), .rows = {}};
  std::vector<uint64_t> words;
  std::vector<uint32_t> order = PrintOrder(plan, map, entries, value_stride, top);
  table.rows.reserve(order.size());
  // The order jumps about in memory: without asking ahead, waiting for it takes most of the time.
  constexpr size_t kEntryAhead = 16, kBytesAhead = 8;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i + kEntryAhead < order.size()) __builtin_prefetch(&entries[order[i + kEntryAhead]]);
    if (i + kBytesAhead < order.size()) {
      __builtin_prefetch(entries[order[i + kBytesAhead]].key.data());
    }
    const RawEntry& entry = entries[order[i]];
    MapRow row;
    row.key.reserve(map.key.size());
    for (const plan::Field& field : map.key) {
      row.key.push_back(Decode(plan, field.type, From(AsBytes(entry.key), field.offset), resolver));
    }
    if (map.value == plan::ValueKind::kScalar) {
      Bytes bytes = ScalarBytes(map, AsBytes(entry.value));
      row.value = Decode(plan, map.value_type, bytes, resolver);
      if (auto* integer = std::get_if<Integer>(&row.value.data); integer && integer->name.empty()) {
        integer->bits = Divide(integer->bits, integer->is_signed, div);
      }
    } else {
      Fold(map, AsBytes(entry.value), value_stride, words);
      row.value = DecodeAggregation(plan, map, div, words);
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace memtrace::events
