// keys N [PASSES [FIRST]]
//
// Calls getpgid(FIRST), getpgid(FIRST + 1), …, N of them, PASSES (1) times over: N distinct values
// of sys_enter_getpgid's args.pid, each PASSES times. FIRST (0x10000000) is above any process.
// Prints `total N×PASSES`.

#include "workload.h"

#include <sys/syscall.h>

int main(int argc, char** argv) {
  if (argc < 2) Usage("keys N [PASSES [FIRST]]");
  uint64_t count = Number(argc, argv, 1, 0);
  uint64_t passes = Number(argc, argv, 2, 1);
  uint64_t first = Number(argc, argv, 3, 0x10000000);
  for (uint64_t pass = 0; pass < passes; pass++) {
    for (uint64_t i = 0; i < count; i++) syscall(SYS_getpgid, first + i);
  }
  printf("total %lu\n", count * passes);
  return 0;
}
