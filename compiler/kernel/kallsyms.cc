#include "compiler/kernel/kallsyms.h"

#include <algorithm>
#include <charconv>

namespace memtrace::kernel {
namespace {

bool IsCode(char type) {
  return type == 't' || type == 'T' || type == 'w' || type == 'W' || type == 'i';
}

}  // namespace

Kallsyms Kallsyms::Parse(std::string_view input) {
  Kallsyms result;
  result.text_ = input.substr(0, UINT32_MAX);
  std::string_view text = result.text_;
  auto position = [text](std::string_view part) {
    return static_cast<uint32_t>(part.data() - text.data());
  };
  // Lines are about 40 bytes; half of them are code.
  result.symbols_.reserve(text.size() / 64);
  for (std::string_view rest = text; !rest.empty();) {
    size_t length = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, length);
    rest.remove_prefix(std::min(length + 1, rest.size()));

    // "ffffffffc0a01000 t ext4_map_blocks\t[ext4]"
    uint64_t address = 0;
    const char* begin = line.data();
    auto [end, error] = std::from_chars(begin, begin + line.size(), address, 16);
    size_t used = static_cast<size_t>(end - begin);
    if (error != std::errc() || address == 0 || line.size() < used + 4) continue;
    char type = line[used + 1];
    if (!IsCode(type)) continue;
    std::string_view name = line.substr(used + 3), module;
    if (size_t tab = name.find('\t'); tab != name.npos) {
      module = name.substr(tab + 1);
      name = name.substr(0, tab);
      if (module.size() > 2 && module.front() == '[' && module.back() == ']') {
        module = module.substr(1, module.size() - 2);
      }
    }
    result.symbols_.push_back({.address = address,
                               .name = position(name),
                               .name_size = static_cast<uint32_t>(name.size()),
                               .module = module.empty() ? 0 : position(module),
                               .module_size = static_cast<uint32_t>(module.size()),
                               .is_global = type == 'T'});
  }
  auto& symbols = result.symbols_;
  std::stable_sort(symbols.begin(), symbols.end(), [](const Symbol& left, const Symbol& right) {
    if (left.address != right.address) return left.address < right.address;
    return left.is_global && !right.is_global;
  });
  symbols.erase(std::unique(symbols.begin(), symbols.end(),
                            [](const Symbol& left, const Symbol& right) {
                              return left.address == right.address;
                            }),
                symbols.end());
  return result;
}

std::optional<Kallsyms::Found> Kallsyms::Find(uint64_t address) const {
  auto next = std::upper_bound(
      symbols_.begin(), symbols_.end(), address,
      [](uint64_t wanted, const Symbol& symbol) { return wanted < symbol.address; });
  if (next == symbols_.begin()) return std::nullopt;
  const Symbol& symbol = next[-1];
  if (address - symbol.address >= kMaxReach) return std::nullopt;
  std::string_view text = text_;
  return Found{.name = text.substr(symbol.name, symbol.name_size),
               .offset = address - symbol.address,
               .module = text.substr(symbol.module, symbol.module_size)};
}

Result<uint64_t> AddressOfKernelSymbol(std::string_view text, std::string_view name) {
  for (size_t at = 0; (at = text.find(name, at)) != text.npos && !name.empty(); ++at) {
    // "ffffffff81001000 T do_mmap": the whole word, in the third column.
    size_t end = at + name.size();
    if (end < text.size() && text[end] != '\n' && text[end] != '\t') continue;
    size_t begin = text.rfind('\n', at) + 1;  // npos + 1 is 0
    uint64_t address = 0;
    const char* last = text.data() + at;
    auto [after, error] = std::from_chars(text.data() + begin, last, address, 16);
    if (error != std::errc() || last - after != 3) continue;
    if (address != 0) return address;
    if (!ShowsAddresses(text)) {
      return Error(ErrorKind::kPermission,
                   "/proc/kallsyms shows no addresses: that needs root or CAP_SYSLOG, and "
                   "kernel.kptr_restrict below 2");
    }
  }
  return Error(ErrorKind::kNotFound, "the kernel has no symbol " + std::string(name));
}

bool ShowsAddresses(std::string_view text) {
  while (!text.empty()) {
    if (text.find_first_not_of('0') != text.find(' ')) return true;
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  return false;
}

}  // namespace memtrace::kernel
