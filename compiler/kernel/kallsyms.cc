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

}  // namespace memtrace::kernel
