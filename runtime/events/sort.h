// The order in which the rows of a map are printed.
//
// Ascending by value: a scalar by itself; sum, min, max and avg by the number shown; count, stats
// and histograms by how much was counted. Rows with equal values are in the order of their keys.
// Works on bytes, so that with print(@m, top) only the rows shown are decoded.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/plan/plan.h"
#include "runtime/events/decode.h"

namespace memtrace::events {

// Below, equal or above 0. Numbers by value, strings by bytes, compounds by their members in order,
// stacks by their hash (an order that means nothing and is always the same).
int Compare(const plan::Plan& plan, plan::Index type, Bytes left, Bytes right);
int CompareFields(const plan::Plan& plan, const std::vector<plan::Field>& fields, Bytes left,
                  Bytes right);

// Indices of `entries` in the order of printing; with `top` > 0 only the last `top` of them.
// Entries of a keyless map that were never written are left out.
std::vector<uint32_t> PrintOrder(const plan::Plan& plan, const plan::Map& map,
                                 const std::vector<RawEntry>& entries, uint32_t value_stride,
                                 int64_t top);

}  // namespace memtrace::events
