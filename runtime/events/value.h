// Value: a decoded datum, ready to be shown.
//
// It knows what it is (a number and its unit, a stack of addresses and whose they are) and nothing
// of widths or colours: those are a Sink's. It is made from bytes of a record, key or map value by
// Decode (decode.h) and owns everything it holds.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/plan/plan.h"

namespace memtrace::events {

struct Integer {
  uint64_t bits = 0;  // two's complement when signed
  bool is_signed = false;
  plan::Unit unit = plan::Unit::kNone;
  uint8_t size = 8;  // bytes of its type: how far %x of a negative number reaches
  std::string name;  // of an enumerator; empty: print the number
};
struct Pointer {
  uint64_t address = 0;
};
// Frames from the innermost out. Names are found when it is shown, by the Symbolizer.
struct Stack {
  std::vector<uint64_t> frames;
  uint32_t process = 0;  // tgid of a user stack; 0: kernel
  bool truncated = false;
  bool failed = false;
  bool is_user = false;
};
struct Symbol {
  uint64_t address = 0;
  uint32_t process = 0;
  bool is_user = false;
};

struct Histogram {
  // Only up to the last bucket that is not empty, from the first one that is not.
  struct Bucket {
    int64_t low, high;  // [low, high); INT64_MIN: (…, high), INT64_MAX: [low, …)
    uint64_t count;
  };
  std::vector<Bucket> buckets;
  plan::Unit unit = plan::Unit::kNone;
  bool is_linear = false;  // of lhist()
};
// The numbers but `count` are bits of one type. Not five Integers: they would quadruple the size of
// every Value, and a million rows of a map are held at once.
struct Stats {
  uint64_t count = 0;
  uint64_t total = 0, average = 0, min = 0, max = 0;
  bool is_signed = false;
  plan::Unit unit = plan::Unit::kNone;
};

struct Value;
struct Member {
  std::string name;          // empty in a tuple or array
  std::vector<Value> value;  // exactly one; a vector because Value is incomplete here
};
// Tuples, records, structs, arrays.
struct Aggregate {
  enum class Shape : uint8_t { kTuple, kRecord, kStruct, kArray } shape = Shape::kTuple;
  std::vector<Member> members;
};

struct Value {
  // std::string holds strings and all that is text once decoded: times, user names, cgroup paths,
  // probe names.
  std::variant<std::monostate, bool, Integer, std::string, Pointer, Stack, Symbol, Aggregate,
               Histogram, Stats>
      data;
};

// One line of a map's print-out: keys in order, then what it holds.
struct MapRow {
  std::vector<Value> key;
  Value value;
};
struct MapTable {
  std::string name;  // "@reads"
  bool has_keys = false;
  std::vector<MapRow> rows;  // in the order of printing
};

}  // namespace memtrace::events
