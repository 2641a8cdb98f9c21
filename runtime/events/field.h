// The parts of a value's bytes that decoding and sorting read alike: text, buffers and bitfields.
#pragma once

#include <cstdint>
#include <string_view>

#include "compiler/plan/plan.h"
#include "runtime/events/decode.h"

namespace memtrace::events {

// Up to the first NUL.
std::string_view TextOf(Bytes bytes);

// What a kBuffer holds: its u32 length counts at most the bytes of its place.
std::string_view BufferOf(const plan::Type& type, Bytes bytes);

// A bitfield of the compound at the start of `bytes`, widened to 64 bits.
uint64_t LoadBitfield(const plan::Field& field, bool is_signed, Bytes bytes);

}  // namespace memtrace::events
