// What Binary keeps open. Private to this folder.
#pragma once

#include <memory>
#include <set>
#include <unordered_map>

#include <elfutils/libdwfl.h>
#include <gelf.h>

#include "compiler/user/binary.h"
#include "compiler/user/dwarf_types.h"

namespace memtrace::user {

struct Binary::Impl {
  struct Close {
    void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
  };
  struct Segment {
    uint64_t address, size, offset;
    bool is_executable, is_writable;
  };

  void ReadSegments();
  void ReadSymbols();
  void AddSymbol(const char* name, const GElf_Sym& symbol, uint64_t address);
  // The section of that name in the file itself, or null.
  Elf_Scn* Section(std::string_view name, GElf_Shdr& header) const;
  const Segment* SegmentOf(uint64_t address) const;

  // prototype.cc
  Dwarf_Die* UnitOf(uint64_t address);
  Dwarf_Die* FunctionDie(uint64_t address);

  std::unique_ptr<Dwfl, Close> dwfl;
  Dwfl_Module* module = nullptr;
  Elf* elf = nullptr;  // of the module
  std::vector<Segment> segments;
  bool has_symbols = false;  // `symbols` was filled
  std::vector<Symbol> symbols;
  std::unordered_map<uint64_t, size_t> functions;  // by address: index of the symbol to name it by

  std::unique_ptr<DwarfTypes> types;
  std::set<void*> indexed_units;  // address of each unit's debug information
  std::unordered_map<uint64_t, Dwarf_Die> function_dies;  // by entry address
};

}  // namespace memtrace::user
