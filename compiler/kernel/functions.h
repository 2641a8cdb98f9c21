// The functions of a kernel: which there are, where they are, and which ones ftrace can trace.
//
// Two texts are read: /proc/kallsyms (names and addresses of all code, copies that the compiler
// made under other names among them) and tracefs' available_filter_functions (what ftrace can
// trace; only root may read it, and some kernels refuse it). A single name is found by a search of
// the text; a sorted index is made when a wildcard needs all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace memtrace::kernel {

// One symbol that is code. The views live as long as the Functions they come from.
struct FunctionSymbol {
  std::string_view name;    // "vfs_read", "do_read.isra.0"
  std::string_view module;  // empty: vmlinux
  uint64_t address = 0;     // 0: hidden from us
};

// What a name ends in when the compiler made it: "foo.isra.0" is foo.
enum class Suffix : uint8_t {
  kNone,
  kCopy,  // .isra, .constprop, .llvm: foo under another name, perhaps with fewer arguments
  kPart,  // .part: the rest of a function whose beginning was inlined into its callers
  kCold,  // .cold: never entered from outside
};
Suffix SuffixOf(std::string_view name);
// The name without what the compiler put behind it.
std::string_view BaseName(std::string_view name);

class Functions {
 public:
  // `traceable` is the text of available_filter_functions, or nothing where it cannot be read.
  Functions(std::string kallsyms, std::optional<std::string> traceable);

  // False: nothing is known about symbols (no kallsyms), so that a missing name means nothing.
  bool has_symbols() const { return !kallsyms_.empty(); }
  bool knows_traceable() const { return traceable_.has_value(); }

  // The symbols that are `name`, or `name` with a suffix; of all modules and vmlinux, in the order
  // of the text.
  std::vector<FunctionSymbol> Named(std::string_view name) const;

  // Whether ftrace can trace it. Without a list everything may be.
  bool IsTraceable(std::string_view name) const;

  // What wildcards choose from, sorted by name and module: what ftrace can trace, with an entry for
  // each address of a name; without that list all code of kallsyms. Names with a suffix are among
  // them, but no cold parts.
  const std::vector<FunctionSymbol>& All();

 private:
  void IndexSymbols();

  std::string kallsyms_;
  std::optional<std::string> traceable_;
  std::vector<FunctionSymbol> symbols_;  // all code, by name; filled by IndexSymbols
  std::optional<std::vector<FunctionSymbol>> all_;
};

}  // namespace memtrace::kernel
