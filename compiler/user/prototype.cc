// Parameters of functions, from debug information and the machine's calling convention.
//
// Where the debug information says a parameter is does not help: at a function's first instruction
// it is where the calling convention puts it, and locations begin behind that. So types and order
// are read, and places counted.
#include <dwarf.h>

#include "compiler/user/binary_impl.h"

namespace memtrace::user {
namespace {

using types::Kind;
using types::Type;

// Integer registers for arguments: System V ABI for x86-64 (rdi … r9) and the procedure call
// standard of arm64 (x0 … x7). A result too large for registers is written where a hidden first
// argument points on x86-64; arm64 has a register of its own for that (x8).
#if defined(__x86_64__)
constexpr uint32_t kArgumentRegisters = 6;
constexpr bool kResultPointerIsArgument = true;
#else
constexpr uint32_t kArgumentRegisters = 8;
constexpr bool kResultPointerIsArgument = false;
#endif
constexpr uint32_t kRegisterResultSize = 16;

enum class Class { kInteger, kFloat, kOther };

Class ClassOf(Type type) {
  if (type.IsInteger() || type.IsPointer()) return Class::kInteger;
  // Only floating-point numbers are arrays here: C passes none by value.
  if (type.Is(Kind::kArray) && type->size <= 8) return Class::kFloat;
  return Class::kOther;
}

class Placing {
 public:
  explicit Placing(Type result) {
    bool in_memory = result.IsStruct() && result->size > kRegisterResultSize;
    if (in_memory && kResultPointerIsArgument) next_register_ = 1;
    // C++ passes what has a destructor by a hidden pointer, whatever its size; whether this one has
    // is not looked at.
    is_known_ = !result.IsStruct() || in_memory;
  }

  void Place(Parameter& parameter) {
    Class kind = ClassOf(parameter.type);
    if (kind == Class::kOther) is_known_ = false;  // a struct: registers of either kind, or memory
    if (!is_known_ || kind == Class::kFloat) return;
    if (next_register_ < kArgumentRegisters) {
      parameter.place = ParameterPlace::kRegister;
      parameter.number = next_register_++;
    } else {
      parameter.place = ParameterPlace::kStack;
      parameter.number = next_slot_++;
    }
  }

 private:
  uint32_t next_register_ = 0, next_slot_ = 0;
  bool is_known_ = true;
};

// A copy that the compiler made with other parameters: f.isra.0, f.constprop.0, f.part.0.
bool IsReshaped(const Symbol* symbol) {
  return symbol != nullptr && symbol->name.find('.') != std::string::npos;
}

struct Index {
  std::unordered_map<uint64_t, Dwarf_Die>& dies;
};

int AddToIndex(Dwarf_Die* function, void* argument) {
  Dwarf_Addr address = 0;
  if (dwarf_entrypc(function, &address) == 0) {
    static_cast<Index*>(argument)->dies.emplace(address, *function);
  }
  return DWARF_CB_OK;
}

}  // namespace

Dwarf_Die* Binary::Impl::UnitOf(uint64_t address) {
  Dwarf_Addr bias = 0;
  if (Dwarf_Die* unit = dwfl_module_addrdie(module, address, &bias)) return unit;
  // clang writes no table of address ranges.
  for (Dwarf_Die* unit = nullptr; (unit = dwfl_module_nextcu(module, unit, &bias)) != nullptr;) {
    if (dwarf_haspc(unit, address) > 0) return unit;
  }
  return nullptr;
}

Dwarf_Die* Binary::Impl::FunctionDie(uint64_t address) {
  auto found = function_dies.find(address);
  if (found == function_dies.end()) {
    Dwarf_Die* unit = UnitOf(address);
    if (unit == nullptr || !indexed_units.insert(unit->addr).second) return nullptr;
    Index index{function_dies};
    dwarf_getfuncs(unit, AddToIndex, &index, 0);
    found = function_dies.find(address);
  }
  return found == function_dies.end() ? nullptr : &found->second;
}

std::optional<Prototype> Binary::PrototypeAt(uint64_t address) {
  if (IsReshaped(FunctionAt(address))) return std::nullopt;
  Dwarf_Die* die = impl_->FunctionDie(address);
  if (die == nullptr) return std::nullopt;
  // What a function that was also inlined has in common stands in one place.
  Dwarf_Die function = *die;
  Dwarf_Attribute memory;
  Dwarf_Die origin;
  if (dwarf_formref_die(dwarf_attr(die, DW_AT_abstract_origin, &memory), &origin) != nullptr) {
    function = origin;
  }
  Prototype prototype{.parameters = {}, .result = impl_->types->TypeOf(function)};
  prototype.result_is_in_register = ClassOf(prototype.result) == Class::kInteger;
  Placing placing(prototype.result);
  Dwarf_Die child;
  bool has_child = dwarf_child(&function, &child) == 0;
  for (; has_child; has_child = dwarf_siblingof(&child, &child) == 0) {
    if (dwarf_tag(&child) != DW_TAG_formal_parameter) continue;
    const char* name = dwarf_diename(&child);
    Parameter parameter{.name = name != nullptr ? name : "", .type = impl_->types->TypeOf(child)};
    placing.Place(parameter);
    prototype.parameters.push_back(std::move(parameter));
  }
  return prototype;
}

bool Binary::IsInlined(std::string_view function) {
  struct Search {
    std::string_view name;
    bool found = false;
  } search{function};
  auto visit = [](Dwarf_Die* die, void* argument) -> int {
    auto* wanted = static_cast<Search*>(argument);
    const char* name = dwarf_diename(die);
    if (name == nullptr || wanted->name != name || dwarf_func_inline(die) == 0) return DWARF_CB_OK;
    wanted->found = true;
    return DWARF_CB_ABORT;
  };
  Dwarf_Addr bias = 0;
  for (Dwarf_Die* unit = nullptr;
       !search.found && (unit = dwfl_module_nextcu(impl_->module, unit, &bias)) != nullptr;) {
    dwarf_getfuncs(unit, visit, &search, 0);
  }
  return search.found;
}

bool Binary::IsLineStart(uint64_t address) {
  Dwfl_Line* line = dwfl_module_getsrc(impl_->module, address);
  Dwarf_Addr start = 0;
  return line != nullptr &&
         dwfl_lineinfo(line, &start, nullptr, nullptr, nullptr, nullptr) != nullptr &&
         start == address;
}

bool Binary::Complete(types::Type type) { return impl_->types->Complete(type); }

}  // namespace memtrace::user
