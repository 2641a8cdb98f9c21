#include "runtime/events/field.h"

#include <algorithm>
#include <cstring>

#include "runtime/events/bytes.h"

namespace memtrace::events {

std::string_view TextOf(Bytes bytes) {
  const char* text = reinterpret_cast<const char*>(bytes.data());
  return {text, strnlen(text, bytes.size())};
}

std::string_view BufferOf(const plan::Type& type, Bytes bytes) {
  MT_CHECK(type.size >= 4 && type.size <= bytes.size(), "data is as long as the plan says");
  uint32_t length = std::min(LoadAs<uint32_t>(bytes), type.size - 4);
  return {reinterpret_cast<const char*>(bytes.data()) + 4, length};
}

uint64_t LoadBitfield(const plan::Field& field, bool is_signed, Bytes bytes) {
  // Bits may begin anywhere in the first byte and end in the ninth.
  Bytes place = From(bytes, field.offset + field.bit_offset / 8);
  uint32_t shift = field.bit_offset % 8;
  uint32_t size = (shift + field.bit_size + 7) / 8;
  MT_CHECK(field.bit_size <= 64 && size <= place.size(), "data is as long as the plan says");
  unsigned __int128 wide = 0;
  std::memcpy(&wide, place.data(), size);
  uint64_t value = static_cast<uint64_t>(wide >> shift);
  uint32_t unused = 64 - field.bit_size;
  value <<= unused;
  if (is_signed) return static_cast<uint64_t>(static_cast<int64_t>(value) >> unused);
  return value >> unused;
}

}  // namespace memtrace::events
