// Binary: one ELF program or library, what a probe on it has to know.
//
// Symbols come from wherever elfutils finds them: .symtab, .dynsym, the compressed table of
// .gnu_debugdata, or a separate debug file named by build id or debug link (/usr/lib/debug). Debug
// information is opened only when types are asked for. Nothing is fetched over the network.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/types/type.h"
#include "compiler/user/usdt_note.h"

namespace memtrace::user {

enum class SymbolKind : uint8_t {
  kFunction,
  kIndirect,  // the program chooses one of several functions when it starts (IFUNC)
  kData,
  kUndefined,  // of another library
};

struct Symbol {
  std::string name;      // as the linker knows it, without version
  uint64_t address = 0;  // as the file numbers addresses
  uint64_t size = 0;
  SymbolKind kind = SymbolKind::kFunction;
  bool is_global = false;
};

// Where a function finds a parameter, by the calling convention of the machine.
enum class ParameterPlace : uint8_t {
  kRegister,  // `number`: of the integer registers, from 0
  kStack,     // `number`: of the 8-byte slots that the caller filled, from 0
  kUnknown,   // in a register of the floating-point unit, or spread over several
};
struct Parameter {
  std::string name;
  types::Type type;
  ParameterPlace place = ParameterPlace::kUnknown;
  uint32_t number = 0;
};
struct Prototype {
  std::vector<Parameter> parameters;
  types::Type result;  // kVoid when there is none
  bool result_is_in_register = true;
};

class Binary {
 public:
  // kInvalid: no ELF file, or one for another machine. `types` must outlive the result.
  static Result<std::unique_ptr<Binary>> Open(const std::string& path, types::TypeTable& types);
  ~Binary();

  const std::string& path() const { return path_; }
  // By name, then address. A name may stand for several functions (static ones of several files).
  const std::vector<Symbol>& symbols();
  // True when there was no more to read than what the loader needs.
  bool is_stripped();
  // The function that begins at `address`, or null.
  const Symbol* FunctionAt(uint64_t address);

  // The byte of the file that is mapped at `address`; nullopt when no executable segment holds it.
  std::optional<uint64_t> FileOffset(uint64_t address) const;
  // The same for data that is mapped writable: semaphores.
  std::optional<uint64_t> DataOffset(uint64_t address) const;
  // Fills `bytes` from the file, from byte `offset` on; false when it ends before.
  bool Read(uint64_t offset, std::span<unsigned char> bytes) const;
  // Names of the libraries that the loader brings along ("libc.so.6").
  std::vector<std::string> Needed() const;
  // The static probes of its note section; empty when it has none.
  Result<std::vector<UsdtNote>> UsdtNotes() const;

  // What the debug information says of the function at `address`; nullopt when there is none.
  std::optional<Prototype> PrototypeAt(uint64_t address);
  // Whether the debug information knows a function of this name that was put into its callers.
  // Reads all of it.
  bool IsInlined(std::string_view function);
  // Whether a line of the source begins at `address`: a place where a probe surely does no harm.
  bool IsLineStart(uint64_t address);
  // Fills in a struct that came from PrototypeAt(); false when it is not ours.
  bool Complete(types::Type type);

 private:
  struct Impl;
  Binary();
  std::string path_;
  std::unique_ptr<Impl> impl_;
};

// "ns::f(int)" of "_ZN2ns1fEi"; empty when it is no C++ name.
std::string Demangled(const std::string& name);
// "ns::f" of "ns::f(int)", templates included: what stands before the parameters.
std::string_view WithoutParameters(std::string_view signature);

}  // namespace memtrace::user
