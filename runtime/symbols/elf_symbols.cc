#include "runtime/symbols/elf_symbols.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include <cxxabi.h>
#include <gelf.h>
#include <libelf.h>

namespace memtrace::symbols {
namespace {

struct EndElf {
  void operator()(Elf* elf) const { elf_end(elf); }
};
using UniqueElf = std::unique_ptr<Elf, EndElf>;

// Several names may begin at one address: malloc and __libc_malloc. The one that people know has
// fewer underscores in front, then is shorter.
bool IsBetterName(std::string_view left, std::string_view right) {
  size_t left_underscores = std::min(left.find_first_not_of('_'), left.size());
  size_t right_underscores = std::min(right.find_first_not_of('_'), right.size());
  if (left_underscores != right_underscores) return left_underscores < right_underscores;
  if (left.size() != right.size()) return left.size() < right.size();
  return left < right;
}

std::string Demangle(const char* name) {
  if (std::string_view(name).substr(0, 2) != "_Z") return name;
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                              std::free);
  return status == 0 && text != nullptr ? std::string(text.get()) : std::string(name);
}

}  // namespace

ElfSymbols ElfSymbols::FromFile(int fd) {
  elf_version(EV_CURRENT);
  ElfSymbols symbols;
  UniqueElf elf(elf_begin(fd, ELF_C_READ_MMAP, nullptr));
  if (elf != nullptr) symbols.Read(elf.get());
  return symbols;
}

ElfSymbols ElfSymbols::FromMemory(std::span<char> image) {
  elf_version(EV_CURRENT);
  ElfSymbols symbols;
  UniqueElf elf(elf_memory(image.data(), image.size()));
  if (elf != nullptr) symbols.Read(elf.get());
  return symbols;
}

void ElfSymbols::Read(void* handle) {
  Elf* elf = static_cast<Elf*>(handle);
  if (elf_kind(elf) != ELF_K_ELF) return;
  size_t count = 0;
  if (elf_getphdrnum(elf, &count) == 0) {
    for (size_t i = 0; i < count; ++i) {
      GElf_Phdr header;
      if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr) continue;
      if (header.p_type != PT_LOAD) continue;
      segments_.push_back({.file_offset = header.p_offset,
                           .file_size = header.p_filesz,
                           .address = header.p_vaddr});
    }
  }
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
       section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM) ReadTable(elf, section);
  }
  SortEntries();
}

void ElfSymbols::ReadTable(void* handle, void* section_handle) {
  Elf* elf = static_cast<Elf*>(handle);
  Elf_Scn* section = static_cast<Elf_Scn*>(section_handle);
  GElf_Shdr header;
  Elf_Data* data = elf_getdata(section, nullptr);
  if (gelf_getshdr(section, &header) == nullptr || data == nullptr || header.sh_entsize == 0)
    return;
  size_t count = header.sh_size / header.sh_entsize;
  for (size_t i = 0; i < count; ++i) {
    GElf_Sym symbol;
    if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
    int type = GELF_ST_TYPE(symbol.st_info);
    // The vDSO of some kernels leaves the type out.
    bool is_code = type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
    if (!is_code || symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0) continue;
    if (type == STT_NOTYPE && symbol.st_size == 0) continue;
    const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
    if (name == nullptr || *name == '\0') continue;
    if (names_.size() + std::char_traits<char>::length(name) >= UINT32_MAX) return;
    symbols_.push_back({.address = symbol.st_value,
                        .size = symbol.st_size,
                        .name = static_cast<uint32_t>(names_.size())});
    names_.append(name).push_back('\0');
  }
}

void ElfSymbols::SortEntries() {
  std::sort(symbols_.begin(), symbols_.end(), [this](const Entry& left, const Entry& right) {
    if (left.address != right.address) return left.address < right.address;
    // A size says more than none.
    if ((left.size == 0) != (right.size == 0)) return left.size != 0;
    return IsBetterName(RawName(left), RawName(right));
  });
  auto last = std::unique(
      symbols_.begin(), symbols_.end(),
      [](const Entry& left, const Entry& right) { return left.address == right.address; });
  symbols_.erase(last, symbols_.end());
  symbols_.shrink_to_fit();
}

std::optional<uint64_t> ElfSymbols::AddressOf(uint64_t file_offset) const {
  for (const Segment& segment : segments_) {
    if (file_offset >= segment.file_offset &&
        file_offset - segment.file_offset < segment.file_size) {
      return segment.address + (file_offset - segment.file_offset);
    }
  }
  return std::nullopt;
}

std::optional<ElfSymbols::Found> ElfSymbols::Find(uint64_t address) {
  auto next =
      std::upper_bound(symbols_.begin(), symbols_.end(), address,
                       [](uint64_t wanted, const Entry& entry) { return wanted < entry.address; });
  // A symbol may lie inside another one, so the nearest is not always the one that covers.
  constexpr int kMaxNested = 8;
  for (int i = 0; i < kMaxNested && next != symbols_.begin(); ++i) {
    --next;
    uint64_t offset = address - next->address;
    // Hand-written assembly has no size: it reaches to the next symbol.
    if (next->size == 0 ? i > 0 : offset >= next->size) continue;
    auto [name, is_new] = demangled_.try_emplace(next->name);
    if (is_new) name->second = Demangle(names_.c_str() + next->name);
    return Found{.name = name->second, .offset = offset};
  }
  return std::nullopt;
}

}  // namespace memtrace::symbols
