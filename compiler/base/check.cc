#include "compiler/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace memtrace {

void CheckFailed(const char* sentence, const char* file, int line) {
  std::fprintf(stderr, "memtrace: internal error: %s (%s:%d)\n", sentence, file, line);
  std::abort();
}

}  // namespace memtrace
