// How much slower than real hardware this machine is: 1, unless MT_TIME_FACTOR says otherwise, as
// it does in an emulator. Tests that bound a time multiply the bound by it.
#pragma once

#include <cstdlib>

namespace memtrace::test {

inline int TimeFactor() {
  const char* text = getenv("MT_TIME_FACTOR");
  int factor = text ? atoi(text) : 1;
  return factor > 0 ? factor : 1;
}

}  // namespace memtrace::test
