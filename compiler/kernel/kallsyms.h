// Names for addresses of the kernel: the text of /proc/kallsyms, sorted.
//
// A pure parser. Only code is kept (types t, T, w, W, and i for indirect functions); data has no
// place in a stack. Where several names begin at one address the first global one wins. Without
// CAP_SYSLOG all addresses read as zero: those lines are dropped, and nothing has a name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/result.h"

namespace memtrace::kernel {

class Kallsyms {
 public:
  // Owns what it needs of `text`; lines that are not understood are left out.
  static Kallsyms Parse(std::string_view text);

  struct Found {
    std::string_view name;    // valid as long as this object
    uint64_t offset;          // from the symbol's start
    std::string_view module;  // without brackets; empty: vmlinux
  };
  // The nearest symbol at or below `address`. The text has no sizes, so a symbol reaches to the
  // next one, but not farther than kMaxReach.
  std::optional<Found> Find(uint64_t address) const;

  size_t size() const { return symbols_.size(); }

 private:
  static constexpr uint64_t kMaxReach = 1 << 20;

  struct Symbol {
    uint64_t address;
    uint32_t name, name_size;  // in text_
    uint32_t module, module_size;
    bool is_global;
  };
  std::string text_;
  std::vector<Symbol> symbols_;  // by address, one for each
};

// The address of the first symbol of that name, data included, in the text of /proc/kallsyms: for
// kaddr(). One pass over the text, no table. kNotFound when there is none, kPermission when the
// text hides addresses.
Result<uint64_t> AddressOfKernelSymbol(std::string_view text, std::string_view name);

// False when every address reads as zero: no CAP_SYSLOG, or kernel.kptr_restrict is 2.
bool ShowsAddresses(std::string_view text);

}  // namespace memtrace::kernel
