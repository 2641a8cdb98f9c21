// Fold: one value out of the parts that every CPU kept of it.
//
// Works on 64-bit words and knows nothing of types: what a word means is decode.h's. Scalars are
// not folded, there is one copy of them.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/plan/plan.h"
#include "runtime/events/decode.h"

namespace memtrace::events {

// The 64-bit words that the value of an aggregation consists of: buckets, the four of mt_stats, or
// one.
uint32_t WordCount(const plan::Map& map);

// The bytes of the only copy of a scalar; empty when it is keyless and was never written.
Bytes ScalarBytes(const plan::Map& map, Bytes value);

// Combines the parts of an aggregation into `words`, in the encoding of one part. False when the
// map is keyless and no CPU has written to it. `stride`: bytes from one part to the next
// (decode.h).
bool Fold(const plan::Map& map, Bytes value, uint32_t stride, std::vector<uint64_t>& words);

// mt_stats, min() and max() decoded. Numbers are bits of the type that is aggregated.
struct FoldedStats {
  uint64_t count, total, average, min, max;
};
FoldedStats DecodeStats(const std::vector<uint64_t>& words, bool is_signed);
// From what min() or max() keeps; 0 when there was no value.
uint64_t DecodeMin(uint64_t word, bool is_signed);
uint64_t DecodeMax(uint64_t word, bool is_signed);

// The unsigned number that sorts as `bits` of a signed or unsigned number do, and back.
constexpr uint64_t OrderImage(uint64_t bits, bool is_signed) {
  return is_signed ? bits ^ (uint64_t{1} << 63) : bits;
}

}  // namespace memtrace::events
