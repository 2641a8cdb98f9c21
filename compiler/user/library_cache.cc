#include "compiler/user/library_cache.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace memtrace::user {
namespace {

// glibc, sysdeps/generic/dl-cache.h: struct cache_file_new and struct file_entry_new.
constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";
constexpr size_t kHeaderSize = 48;
constexpr size_t kEntrySize = 24;
constexpr size_t kCountOffset = 20;
constexpr size_t kKeyOffset = 4, kValueOffset = 8, kHwcapOffset = 16;

// The low byte says ELF for glibc 2, the next one for which ABI.
constexpr uint32_t kElfLibc6 = 0x0003;
struct Abi {
  std::string_view architecture;
  uint32_t flags;
};
constexpr Abi kAbis[] = {
    {"x86_64", 0x0300 | kElfLibc6},   // FLAG_X8664_LIB64
    {"aarch64", 0x0a00 | kElfLibc6},  // FLAG_AARCH64_LIB64
};

template <typename T>
T ReadAt(std::string_view bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// The text at `offset`, or empty when it does not end inside of the file.
std::string_view TextAt(std::string_view bytes, uint32_t offset) {
  if (offset >= bytes.size()) return {};
  size_t end = bytes.find('\0', offset);
  return end == std::string_view::npos ? std::string_view() : bytes.substr(offset, end - offset);
}

}  // namespace

Result<std::vector<CachedLibrary>> ParseLibraryCache(std::string_view bytes,
                                                     std::string_view architecture) {
  size_t start = bytes.find(kMagic);
  if (start == std::string_view::npos || bytes.size() - start < kHeaderSize) {
    return Error(ErrorKind::kInvalid, "the cache of the loader has an unknown format");
  }
  bytes.remove_prefix(start);  // offsets count from here
  const Abi* abi = std::find_if(std::begin(kAbis), std::end(kAbis),
                                [&](const Abi& each) { return each.architecture == architecture; });
  if (abi == std::end(kAbis)) {
    return Error(ErrorKind::kUnsupported,
                 "libraries of " + std::string(architecture) + " are not known");
  }
  uint32_t count = ReadAt<uint32_t>(bytes, kCountOffset);
  if (count > (bytes.size() - kHeaderSize) / kEntrySize) {
    return Error(ErrorKind::kInvalid, "the cache of the loader is cut off");
  }
  std::vector<CachedLibrary> plain, special;
  for (uint32_t i = 0; i < count; ++i) {
    size_t entry = kHeaderSize + i * kEntrySize;
    if (ReadAt<uint32_t>(bytes, entry) != abi->flags) continue;
    std::string_view name = TextAt(bytes, ReadAt<uint32_t>(bytes, entry + kKeyOffset));
    std::string_view path = TextAt(bytes, ReadAt<uint32_t>(bytes, entry + kValueOffset));
    if (name.empty() || path.empty()) continue;
    bool needs_special = ReadAt<uint64_t>(bytes, entry + kHwcapOffset) != 0;
    (needs_special ? special : plain)
        .push_back({.name = std::string(name), .path = std::string(path)});
  }
  plain.insert(plain.end(), special.begin(), special.end());
  return plain;
}

}  // namespace memtrace::user
