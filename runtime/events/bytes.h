// Loads of little-endian numbers from bytes that need not be aligned.
//
// Running past the end of the bytes is a bug of ours: sizes come from the plan.
#pragma once

#include <cstring>

#include "compiler/base/check.h"
#include "runtime/events/decode.h"

namespace memtrace::events {

template <typename T>
T LoadAs(Bytes bytes, size_t offset = 0) {
  MT_CHECK(offset + sizeof(T) <= bytes.size(), "data is as long as the plan says");
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

// An integer of `size` bytes (1 to 8), widened to 64 bits.
inline uint64_t LoadInteger(Bytes bytes, uint32_t size, bool is_signed) {
  MT_CHECK(size >= 1 && size <= 8 && size <= bytes.size(), "data is as long as the plan says");
  uint64_t value = 0;
  std::memcpy(&value, bytes.data(), size);
  uint32_t unused = 64 - 8 * size;
  if (is_signed) return static_cast<uint64_t>(static_cast<int64_t>(value << unused) >> unused);
  return value;
}

inline Bytes AsBytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// The bytes from `offset` on.
inline Bytes From(Bytes bytes, size_t offset) {
  MT_CHECK(offset <= bytes.size(), "data is as long as the plan says");
  return bytes.subspan(offset);
}

}  // namespace memtrace::events
