// Function: a builtin or function of the language after its name was looked up once.
#pragma once

#include <cstdint>
#include <string_view>

namespace memtrace::sema {

enum class Function : uint8_t {
#define MT_FUNCTION(enumerator, spelling) enumerator,
#include "compiler/sema/functions.def"
#undef MT_FUNCTION
};

inline constexpr std::string_view kFunctionSpellings[] = {
#define MT_FUNCTION(enumerator, spelling) spelling,
#include "compiler/sema/functions.def"
#undef MT_FUNCTION
};
inline constexpr size_t kFunctionCount = std::size(kFunctionSpellings);

// Which clock nsecs() reads: Call::number.
enum class Clock : uint8_t { kBoot, kMonotonic, kTai };

inline std::string_view Spelling(Function function) {
  return kFunctionSpellings[static_cast<size_t>(function)];
}

}  // namespace memtrace::sema
