#include "compiler/probes/user_symbols.h"

#include <algorithm>
#include <map>

#include "compiler/kernel/functions.h"
#include "compiler/probes/expand.h"

namespace memtrace::probes {
namespace {

using kernel::Suffix;
using user::Symbol;
using user::SymbolKind;

// Blanks in signatures are a matter of taste.
std::string WithoutBlanks(std::string_view text) {
  std::string result(text);
  std::erase(result, ' ');
  return result;
}

// The word in `name` that a mangled symbol has in it, too: "f" of "ns::f(int)". Empty: there may be
// none.
std::string_view LastWord(std::string_view name) {
  name = user::WithoutParameters(name);
  name = name.substr(0, name.find('<'));
  size_t end = name.find_last_of(":~ ");
  if (end != name.npos) name.remove_prefix(end + 1);
  return name.starts_with("operator") ? std::string_view() : name;
}

// Code that a call of the function runs: the function, or a copy of it.
bool IsWhole(const Symbol& symbol) {
  if (symbol.kind != SymbolKind::kFunction) return false;
  Suffix suffix = kernel::SuffixOf(symbol.name);
  return suffix == Suffix::kNone || suffix == Suffix::kCopy;
}

// The signature without "[clone .isra.0]".
std::string Signature(const Symbol& symbol) {
  std::string text = user::Demangled(symbol.name);
  return text.substr(0, text.find(" [clone"));
}

class Places {
 public:
  explicit Places(user::Binary& binary) : binary_(binary) {}

  // Several names of one place are one function, called by the one that people use if that fits.
  void Add(const Symbol& symbol) {
    auto [found, is_new] = by_address_.emplace(symbol.address, &symbol);
    if (!is_new && binary_.FunctionAt(symbol.address) == &symbol) found->second = &symbol;
  }

  std::vector<const Symbol*> Take() {
    std::vector<const Symbol*> places;
    for (const auto& [address, symbol] : by_address_) places.push_back(symbol);
    std::sort(places.begin(), places.end(), [](const Symbol* left, const Symbol* right) {
      return std::tie(left->name, left->address) < std::tie(right->name, right->address);
    });
    return places;
  }

 private:
  user::Binary& binary_;
  std::map<uint64_t, const Symbol*> by_address_;
};

}  // namespace

std::string DisplayName(const Symbol& symbol) {
  std::string signature = Signature(symbol);
  return signature.empty() ? symbol.name : signature;
}

std::vector<const Symbol*> FunctionsNamed(user::Binary& binary, const std::string& name) {
  Places exact(binary), by_signature(binary);
  std::string_view word = LastWord(name);
  std::string wanted = WithoutBlanks(name);
  bool has_parameters = name.find('(') != name.npos;
  for (const Symbol& symbol : binary.symbols()) {
    if (symbol.kind != SymbolKind::kFunction) continue;
    bool is_copy = symbol.name.size() > name.size() && symbol.name.starts_with(name) &&
                   symbol.name[name.size()] == '.' &&
                   kernel::SuffixOf(symbol.name) == Suffix::kCopy;
    if (symbol.name == name || is_copy) exact.Add(symbol);
    if (!symbol.name.starts_with("_Z") || symbol.name.find(word) == symbol.name.npos) continue;
    if (!IsWhole(symbol)) continue;
    std::string signature = Signature(symbol);
    std::string_view compared = signature;
    if (!has_parameters) compared = user::WithoutParameters(signature);
    if (!compared.empty() && WithoutBlanks(compared) == wanted) by_signature.Add(symbol);
  }
  std::vector<const Symbol*> found = exact.Take();
  return found.empty() ? by_signature.Take() : found;
}

std::vector<const Symbol*> FunctionsMatching(user::Binary& binary, const std::string& pattern) {
  Places places(binary);
  bool by_signature = pattern.find("::") != pattern.npos || pattern.find('(') != pattern.npos;
  std::string wanted = WithoutBlanks(pattern);
  for (const Symbol& symbol : binary.symbols()) {
    if (!IsWhole(symbol)) continue;
    bool fits = by_signature ? GlobMatches(wanted, WithoutBlanks(DisplayName(symbol)))
                             : GlobMatches(pattern, symbol.name);
    if (fits) places.Add(symbol);
  }
  return places.Take();
}

bool IsMisread([[maybe_unused]] const user::Binary& binary, [[maybe_unused]] uint64_t place) {
#if defined(__x86_64__)
  unsigned char bytes[5];
  if (!binary.Read(place, bytes)) return false;
  unsigned char opcode = 0;
  switch (bytes[0]) {
    case 0xc5:  // VEX of two bytes, of three bytes, EVEX
      opcode = bytes[2];
      break;
    case 0xc4:
      opcode = bytes[3];
      break;
    case 0x62:
      opcode = bytes[4];
      break;
    default:
      return false;
  }
  bool is_push = opcode >= 0x50 && opcode <= 0x57;
  bool is_jump = opcode >= 0x70 && opcode <= 0x7f;
  return is_push || is_jump || opcode == 0x90 || opcode == 0xe8 || opcode == 0xe9 || opcode == 0xeb;
#else
  return false;
#endif
}

}  // namespace memtrace::probes
