#include "compiler/user/binary.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "compiler/base/file.h"
#include "compiler/user/binary_impl.h"

namespace memtrace::user {
namespace {

#if defined(__x86_64__)
constexpr GElf_Half kMachine = EM_X86_64;
constexpr std::string_view kMachineName = "x86-64";
#elif defined(__aarch64__)
constexpr GElf_Half kMachine = EM_AARCH64;
constexpr std::string_view kMachineName = "arm64";
#else
#error "memtrace knows the calling conventions of x86-64 and arm64"
#endif

std::string MachineName(GElf_Half machine) {
  switch (machine) {
    case EM_386:
      return "32-bit x86";
    case EM_X86_64:
      return "x86-64";
    case EM_ARM:
      return "32-bit arm";
    case EM_AARCH64:
      return "arm64";
    case EM_RISCV:
      return "RISC-V";
    case EM_PPC64:
      return "POWER";
    case EM_S390:
      return "s390";
    default:
      return fmt::format("another machine (ELF number {})", machine);
  }
}

Error NotElf(const std::string& path, int fd) {
  char begin[2] = {};
  if (::pread(fd, begin, sizeof begin, 0) == 2 && begin[0] == '#' && begin[1] == '!') {
    return Error(ErrorKind::kInvalid,
                 path + " is a script, not an ELF file: probe its interpreter");
  }
  return Error(ErrorKind::kInvalid, path + " is not an ELF file");
}

// Checks what the file is before elfutils sees it. `fd` stays open.
Result<Done> CheckHeader(const std::string& path, int fd) {
  elf_version(EV_CURRENT);
  Elf* elf = elf_begin(fd, ELF_C_READ_MMAP, nullptr);
  GElf_Ehdr header;
  bool is_elf = elf != nullptr && gelf_getehdr(elf, &header) != nullptr;
  elf_end(elf);
  if (!is_elf) return NotElf(path, fd);
  if (header.e_machine != kMachine) {
    return Error(ErrorKind::kInvalid, fmt::format("{} is for {}, this machine is {}", path,
                                                  MachineName(header.e_machine), kMachineName));
  }
  if (header.e_type != ET_EXEC && header.e_type != ET_DYN) {
    return Error(ErrorKind::kInvalid,
                 path + " is neither a program nor a library (not linked, or a core dump)");
  }
  return Done{};
}

// elfutils would ask a server of debug files that the environment names; a tracer that waits for
// the network is no help.
int FindDebugFile(Dwfl_Module* module, void** userdata, const char* name, Dwarf_Addr base,
                  const char* file, const char* link, GElf_Word checksum, char** found) {
  ::unsetenv("DEBUGINFOD_URLS");
  return dwfl_standard_find_debuginfo(module, userdata, name, base, file, link, checksum, found);
}

const Dwfl_Callbacks kCallbacks = {.find_elf = nullptr,
                                   .find_debuginfo = FindDebugFile,
                                   .section_address = nullptr,
                                   .debuginfo_path = nullptr};

SymbolKind KindOf(const GElf_Sym& symbol) {
  if (symbol.st_shndx == SHN_UNDEF) return SymbolKind::kUndefined;
  switch (GELF_ST_TYPE(symbol.st_info)) {
    case STT_GNU_IFUNC:
      return SymbolKind::kIndirect;
    case STT_FUNC:
    case STT_NOTYPE:  // assembly without .type
      return SymbolKind::kFunction;
    default:
      return SymbolKind::kData;
  }
}

// Of several names for one function the one that people use comes first.
auto NameRank(const Symbol& symbol) {
  size_t underscores = symbol.name.find_first_not_of('_');
  return std::tuple(!symbol.is_global, underscores, symbol.name.size(),
                    std::string_view(symbol.name));
}

}  // namespace

Binary::Binary() : impl_(std::make_unique<Impl>()) {}
Binary::~Binary() = default;

Result<std::unique_ptr<Binary>> Binary::Open(const std::string& path, types::TypeTable& types) {
  MT_ASSIGN_OR_RETURN(UniqueFd fd, OpenForRead(path));
  MT_RETURN_IF_ERROR(CheckHeader(path, fd.get()));
  std::unique_ptr<Binary> binary(new Binary());
  binary->path_ = path;
  Impl& impl = *binary->impl_;
  impl.dwfl.reset(dwfl_begin(&kCallbacks));
  dwfl_report_begin(impl.dwfl.get());
  // At its own addresses: what elfutils says needs no correction then.
  impl.module = dwfl_report_elf(impl.dwfl.get(), path.c_str(), path.c_str(), fd.get(), /*base=*/0,
                                /*add_p_vaddr=*/true);
  if (impl.module == nullptr) {
    return Error(ErrorKind::kInvalid, fmt::format("{}: {}", path, dwfl_errmsg(-1)));
  }
  static_cast<void>(fd.Release());  // elfutils closes it
  dwfl_report_end(impl.dwfl.get(), nullptr, nullptr);
  GElf_Addr bias = 0;
  impl.elf = dwfl_module_getelf(impl.module, &bias);
  if (impl.elf == nullptr) {
    return Error(ErrorKind::kInvalid, fmt::format("{}: {}", path, dwfl_errmsg(-1)));
  }
  impl.types = std::make_unique<DwarfTypes>(types);
  impl.ReadSegments();
  return binary;
}

void Binary::Impl::ReadSegments() {
  size_t count = 0;
  elf_getphdrnum(elf, &count);
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr) continue;
    if (header.p_type != PT_LOAD) continue;
    segments.push_back({.address = header.p_vaddr,
                        .size = header.p_filesz,
                        .offset = header.p_offset,
                        .is_executable = (header.p_flags & PF_X) != 0,
                        .is_writable = (header.p_flags & PF_W) != 0});
  }
}

const Binary::Impl::Segment* Binary::Impl::SegmentOf(uint64_t address) const {
  for (const Segment& segment : segments) {
    if (address >= segment.address && address - segment.address < segment.size) return &segment;
  }
  return nullptr;
}

Elf_Scn* Binary::Impl::Section(std::string_view name, GElf_Shdr& header) const {
  size_t strings = 0;
  if (elf_getshdrstrndx(elf, &strings) != 0) return nullptr;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    if (gelf_getshdr(section, &header) == nullptr) continue;
    const char* text = elf_strptr(elf, strings, header.sh_name);
    if (text != nullptr && name == text) return section;
  }
  return nullptr;
}

// ---- Symbols ----------------------------------------------------------------------------------

void Binary::Impl::AddSymbol(const char* name, const GElf_Sym& symbol, uint64_t address) {
  switch (GELF_ST_TYPE(symbol.st_info)) {
    case STT_SECTION:
    case STT_FILE:
      return;
    default:
      break;
  }
  // "memcpy@@GLIBC_2.14" in tables of the static linker.
  std::string_view plain(name);
  plain = plain.substr(0, plain.find('@'));
  // $x and $d mark code and data on arm64.
  if (plain.empty() || plain[0] == '$') return;
  SymbolKind kind = KindOf(symbol);
  if (kind != SymbolKind::kUndefined && kind != SymbolKind::kData) {
    const Segment* segment = SegmentOf(address);
    if (segment == nullptr || !segment->is_executable) kind = SymbolKind::kData;
  }
  symbols.push_back({.name = std::string(plain),
                     .address = address,
                     .size = symbol.st_size,
                     .kind = kind,
                     .is_global = GELF_ST_BIND(symbol.st_info) != STB_LOCAL});
}

void Binary::Impl::ReadSymbols() {
  int count = dwfl_module_getsymtab(module);
  for (int i = 1; i < count; ++i) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    const char* name =
        dwfl_module_getsym_info(module, i, &symbol, &address, nullptr, nullptr, nullptr);
    if (name != nullptr) AddSymbol(name, symbol, address);
  }
  std::sort(symbols.begin(), symbols.end(), [](const Symbol& a, const Symbol& b) {
    return std::tie(a.name, a.address) < std::tie(b.name, b.address);
  });
  auto same = [](const Symbol& a, const Symbol& b) {
    return a.name == b.name && a.address == b.address;
  };
  symbols.erase(std::unique(symbols.begin(), symbols.end(), same), symbols.end());
  for (size_t i = 0; i < symbols.size(); ++i) {
    if (symbols[i].kind != SymbolKind::kFunction) continue;
    auto [known, is_new] = functions.emplace(symbols[i].address, i);
    if (!is_new && NameRank(symbols[i]) < NameRank(symbols[known->second])) known->second = i;
  }
}

const std::vector<Symbol>& Binary::symbols() {
  if (!impl_->has_symbols) impl_->ReadSymbols();
  impl_->has_symbols = true;
  return impl_->symbols;
}

bool Binary::is_stripped() {
  symbols();
  const char* debug_file = nullptr;
  dwfl_module_info(impl_->module, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                   &debug_file);
  GElf_Shdr header;
  return debug_file == nullptr && impl_->Section(".symtab", header) == nullptr &&
         impl_->Section(".gnu_debugdata", header) == nullptr;
}

const Symbol* Binary::FunctionAt(uint64_t address) {
  symbols();
  auto found = impl_->functions.find(address);
  return found == impl_->functions.end() ? nullptr : &impl_->symbols[found->second];
}

// ---- Places in the file -------------------------------------------------------------------------

std::optional<uint64_t> Binary::FileOffset(uint64_t address) const {
  const Impl::Segment* segment = impl_->SegmentOf(address);
  if (segment == nullptr || !segment->is_executable) return std::nullopt;
  return address - segment->address + segment->offset;
}

std::optional<uint64_t> Binary::DataOffset(uint64_t address) const {
  const Impl::Segment* segment = impl_->SegmentOf(address);
  if (segment == nullptr || !segment->is_writable) return std::nullopt;
  return address - segment->address + segment->offset;
}

bool Binary::Read(uint64_t offset, std::span<unsigned char> bytes) const {
  size_t size = 0;
  const char* content = elf_rawfile(impl_->elf, &size);
  if (content == nullptr || offset > size || bytes.size() > size - offset) return false;
  std::memcpy(bytes.data(), content + offset, bytes.size());
  return true;
}

std::vector<std::string> Binary::Needed() const {
  std::vector<std::string> names;
  GElf_Shdr header;
  Elf_Scn* section = impl_->Section(".dynamic", header);
  Elf_Data* data = section != nullptr ? elf_getdata(section, nullptr) : nullptr;
  if (data == nullptr || header.sh_entsize == 0) return names;
  for (size_t i = 0; i < header.sh_size / header.sh_entsize; ++i) {
    GElf_Dyn entry;
    if (gelf_getdyn(data, static_cast<int>(i), &entry) == nullptr) break;
    if (entry.d_tag != DT_NEEDED) continue;
    const char* name = elf_strptr(impl_->elf, header.sh_link, entry.d_un.d_val);
    if (name != nullptr) names.emplace_back(name);
  }
  return names;
}

Result<std::vector<UsdtNote>> Binary::UsdtNotes() const {
  GElf_Shdr header;
  uint64_t base = impl_->Section(".stapsdt.base", header) != nullptr ? header.sh_addr : 0;
  Elf_Scn* section = impl_->Section(".note.stapsdt", header);
  if (section == nullptr) return std::vector<UsdtNote>();
  Elf_Data* data = elf_rawdata(section, nullptr);
  if (data == nullptr) return Error(ErrorKind::kInvalid, path_ + ": " + elf_errmsg(-1));
  auto notes = ParseUsdtNotes({static_cast<const char*>(data->d_buf), data->d_size}, base);
  return std::move(notes).WithContext(path_);
}

}  // namespace memtrace::user
