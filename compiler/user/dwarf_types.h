// Types of debug information as types of the language. Private to this folder.
//
// Pointers point to user space. A struct comes back incomplete and is filled in when somebody asks
// for its fields, because what it leads to may be half of the program. C++ classes are structs
// whose bases are members without a name.
#pragma once

#include <unordered_map>

#include <elfutils/libdw.h>

#include "compiler/types/type.h"

namespace memtrace::user {

class DwarfTypes {
 public:
  // `types` must outlive it.
  explicit DwarfTypes(types::TypeTable& types) : types_(types) {}

  // The type that `die` has (its DW_AT_type); kVoid when it has none, or one without values.
  types::Type TypeOf(Dwarf_Die& die);
  bool Complete(types::Type type);

 private:
  types::Type Convert(Dwarf_Die& type);
  types::Type ConvertBase(Dwarf_Die& type);
  types::Type ConvertArray(Dwarf_Die& type);
  types::Type ConvertStruct(Dwarf_Die& type, types::Kind kind);
  types::Type ConvertEnum(Dwarf_Die& type);
  void AddMember(types::TypeInfo& info, Dwarf_Die& member);

  struct Nominal {
    types::TypeInfo* info;
    Dwarf_Die die;
  };
  types::TypeTable& types_;
  std::unordered_map<void*, Nominal> by_die_;
  std::unordered_map<const types::TypeInfo*, void*> incomplete_;
};

}  // namespace memtrace::user
