// Programs that are too large, or too odd, to be kept in a `.test` file.
//
// The same kind and size give the same bytes on every machine.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace memtrace::test {

// Kinds:
//   live-variables N  N variables of one clause that are all needed at its end
//   nested-parens N   begin { print(((…1…))); } with N pairs
//   nested-blocks N   begin { if (1) { … } } with N blocks
//   long-line N       one line of N bytes, a sum of ones
//   many-probes N     N clauses
//   binary N          N bytes that are no text at all
// nullopt for any other kind.
std::optional<std::string> GenerateProgram(std::string_view kind, size_t size);

}  // namespace memtrace::test
