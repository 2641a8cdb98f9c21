// Helper: a BPF helper function as generated code names it.
#pragma once

#include <cstdint>
#include <string_view>

namespace memtrace::codegen {

enum class Helper : uint8_t {
#define MT_HELPER(name, number, result, parameters) name,
#include "compiler/codegen/helpers.def"
#undef MT_HELPER
};

struct HelperInfo {
  std::string_view symbol;      // "mt_helper_map_lookup_elem"
  uint32_t number;              // of the BPF helper
  char result;                  // 'p' or 'i'
  std::string_view parameters;  // one of those each
};

inline constexpr HelperInfo kHelpers[] = {
#define MT_HELPER(name, number, result, parameters) \
  {"mt_helper_" #name, number, result, parameters},
#include "compiler/codegen/helpers.def"
#undef MT_HELPER
};

inline const HelperInfo& Info(Helper helper) { return kHelpers[static_cast<size_t>(helper)]; }

}  // namespace memtrace::codegen
