// Numbers as people read them: plain, scaled by their unit, and as edges of a histogram's buckets.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/plan/plan.h"
#include "runtime/events/value.h"

namespace memtrace::output {

void AppendUnsigned(std::string& out, uint64_t value);
// `bits` as a signed or unsigned number.
void AppendDecimal(std::string& out, uint64_t bits, bool is_signed);
// "0x1f"
void AppendHex(std::string& out, uint64_t value);

// "12.4 MiB", "8.97 ms", "12 pages": three digits at most, without zeros at the end; exact below
// the first factor. Plain without a unit or with `raw`.
void AppendNumber(std::string& out, uint64_t bits, bool is_signed, plan::Unit unit, bool raw);

// An edge: "4KiB", "1.02ms", "16K", "3". Rounded to three digits where it has a unit that scales
// and is not `exact`; otherwise in the largest unit that it is a whole multiple of. `kilo`: a
// number without a unit may be written with K, M, ….
void AppendEdge(std::string& out, int64_t value, plan::Unit unit, bool exact, bool kilo);

}  // namespace memtrace::output
