#include "compiler/kernel/functions.h"

#include <algorithm>
#include <charconv>
#include <tuple>

namespace memtrace::kernel {
namespace {

bool IsCode(char type) { return type == 't' || type == 'T' || type == 'w' || type == 'W'; }

// What ftrace shows for a place whose symbol it cannot tell.
constexpr std::string_view kInvalid = "__ftrace_invalid_address__";

std::string_view NextLine(std::string_view& text) {
  std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

std::string_view WithoutBrackets(std::string_view module) {
  if (module.size() > 2 && module.front() == '[' && module.back() == ']') {
    return module.substr(1, module.size() - 2);
  }
  return module;
}

// "ffffffffc0a01000 t ext4_map_blocks\t[ext4]". Nothing when the line is no code.
std::optional<FunctionSymbol> ParseSymbol(std::string_view line) {
  uint64_t address = 0;
  auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), address, 16);
  size_t used = static_cast<size_t>(end - line.data());
  if (error != std::errc() || line.size() < used + 4 || !IsCode(line[used + 1])) {
    return std::nullopt;
  }
  std::string_view name = line.substr(used + 3), module;
  if (size_t tab = name.find('\t'); tab != name.npos) {
    module = WithoutBrackets(name.substr(tab + 1));
    name = name.substr(0, tab);
  }
  // Programs of BPF are listed as if they were functions of a module.
  if (module == "bpf" || module.starts_with("__builtin__")) return std::nullopt;
  return FunctionSymbol{.name = name, .module = module, .address = address};
}

bool Before(const FunctionSymbol& left, const FunctionSymbol& right) {
  return std::tie(left.name, left.module, left.address) <
         std::tie(right.name, right.module, right.address);
}

}  // namespace

Suffix SuffixOf(std::string_view name) {
  size_t dot = name.find('.', 1);
  if (dot == name.npos) return Suffix::kNone;
  std::string_view suffix = name.substr(dot);
  if (suffix.find(".cold") != suffix.npos) return Suffix::kCold;
  if (suffix.find(".part.") != suffix.npos) return Suffix::kPart;
  return Suffix::kCopy;
}

std::string_view BaseName(std::string_view name) { return name.substr(0, name.find('.', 1)); }

Functions::Functions(std::string kallsyms, std::optional<std::string> traceable)
    : kallsyms_(std::move(kallsyms)), traceable_(std::move(traceable)) {}

std::vector<FunctionSymbol> Functions::Named(std::string_view name) const {
  std::vector<FunctionSymbol> found;
  if (name.empty()) return found;
  std::string wanted = " " + std::string(name);
  std::string_view text = kallsyms_;
  for (size_t at = 0; (at = text.find(wanted, at)) != text.npos; at += wanted.size()) {
    size_t end = at + wanted.size();
    if (end < text.size() && text[end] != '\n' && text[end] != '\t' && text[end] != '.') continue;
    size_t begin = text.rfind('\n', at) + 1;  // npos + 1 is 0
    auto symbol = ParseSymbol(text.substr(begin, text.find('\n', at) - begin));
    if (!symbol || (symbol->name != name && BaseName(symbol->name) != name)) continue;
    found.push_back(*symbol);
  }
  return found;
}

bool Functions::IsTraceable(std::string_view name) const {
  if (!traceable_) return true;
  std::string_view text = *traceable_;
  for (size_t at = 0; (at = text.find(name, at)) != text.npos && !name.empty(); ++at) {
    size_t end = at + name.size();
    bool begins = at == 0 || text[at - 1] == '\n';
    if (begins && (end == text.size() || text[end] == '\n' || text[end] == ' ')) return true;
  }
  return false;
}

void Functions::IndexSymbols() {
  if (!symbols_.empty()) return;
  for (std::string_view rest = kallsyms_; !rest.empty();) {
    auto symbol = ParseSymbol(NextLine(rest));
    if (symbol && SuffixOf(symbol->name) != Suffix::kCold) symbols_.push_back(*symbol);
  }
  std::sort(symbols_.begin(), symbols_.end(), Before);
}

const std::vector<FunctionSymbol>& Functions::All() {
  if (all_) return *all_;
  IndexSymbols();
  if (!traceable_) return all_.emplace(symbols_);
  std::vector<FunctionSymbol>& all = all_.emplace();
  for (std::string_view rest = *traceable_; !rest.empty();) {
    // "ext4_map_blocks [ext4]"
    std::string_view name = NextLine(rest), module;
    if (size_t space = name.find(' '); space != name.npos) {
      module = WithoutBrackets(name.substr(space + 1));
      name = name.substr(0, space);
    }
    if (name.empty() || name.starts_with(kInvalid)) continue;
    all.push_back({.name = name, .module = module});
  }
  std::sort(all.begin(), all.end(), Before);
  auto same = [](const FunctionSymbol& left, const FunctionSymbol& right) {
    return left.name == right.name && left.module == right.module;
  };
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
  // One entry for each place of a name.
  std::vector<FunctionSymbol> placed;
  auto symbol = symbols_.begin();
  for (const FunctionSymbol& function : all) {
    while (symbol != symbols_.end() && Before(*symbol, function)) ++symbol;
    bool is_placed = false;
    for (; symbol != symbols_.end() && same(*symbol, function); ++symbol) {
      placed.push_back(*symbol);
      is_placed = true;
    }
    if (!is_placed) placed.push_back(function);
  }
  all = std::move(placed);
  return all;
}

}  // namespace memtrace::kernel
