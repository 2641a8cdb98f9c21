// ElfSymbols: the function names of one ELF image, by address.
//
// Reads .symtab and .dynsym of a file (or of an image in memory, the vDSO). Keeps names in one
// block and demangles when asked; nothing stays open. Debug information is not read: it costs a
// hundred times more and knows lines, which nobody asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace memtrace::symbols {

class ElfSymbols {
 public:
  // A file that is no ELF yields an object without symbols and segments.
  static ElfSymbols FromFile(int fd);
  // `image` is only read during the call.
  static ElfSymbols FromMemory(std::span<char> image);

  // The address that the file gives to its byte at `file_offset`; nullopt when no loaded segment
  // holds it.
  std::optional<uint64_t> AddressOf(uint64_t file_offset) const;

  struct Found {
    std::string_view name;  // demangled; valid as long as this object
    uint64_t offset;        // from the symbol's start
  };
  // The function that covers `address` (as the file numbers addresses).
  std::optional<Found> Find(uint64_t address);

  size_t size() const { return symbols_.size(); }

 private:
  struct Segment {
    uint64_t file_offset, file_size, address;
  };
  struct Entry {
    uint64_t address, size;
    uint32_t name;  // offset in names_
  };
  void Read(void* elf);
  void ReadTable(void* elf, void* section);
  void SortEntries();
  std::string_view RawName(const Entry& entry) const { return names_.c_str() + entry.name; }

  std::vector<Segment> segments_;
  std::vector<Entry> symbols_;                           // by address, one for each
  std::string names_;                                    // each with its NUL
  std::unordered_map<uint32_t, std::string> demangled_;  // by Entry::name
};

}  // namespace memtrace::symbols
