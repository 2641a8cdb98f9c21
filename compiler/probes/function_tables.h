// What became of functions that people know: other names, and tracepoints at the same moment.
// Private to this folder.
#pragma once

#include <span>
#include <string_view>

namespace memtrace::probes {

// Names of one function on different kernels. Which exists is asked, not known.
struct RenamedFunction {
  std::string_view older, newer;
};
std::span<const RenamedFunction> RenamedFunctions();

// The tracepoint that fires where the function does its work.
struct NearestTracepoint {
  std::string_view function;
  std::string_view category, event;
};
std::span<const NearestTracepoint> NearestTracepoints();

}  // namespace memtrace::probes
