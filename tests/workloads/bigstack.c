// bigstack DEPTH [DISTINCT]
//
// Calls getppid from the bottom of DEPTH nested calls, DISTINCT (1) times, each time through
// another chain of the functions `zero` and `one` (the digits of its number, lowest first):
// DISTINCT different user stacks, as long as 2^DEPTH is no less. Prints `total DISTINCT`.

#include "workload.h"

#include <sys/syscall.h>

// A frame on every path, the one that calls no further too.
#ifdef __clang__
#define FRAMED NOINLINE
#else
#define FRAMED NOINLINE __attribute__((optimize("no-shrink-wrap")))
#endif

FRAMED long zero(uint64_t digits, uint64_t depth);
FRAMED long one(uint64_t digits, uint64_t depth);

// The system call is made here, not in the C library: its frame would hide ours from an unwinder
// that goes by frame pointers.
static inline long Bottom(void) {
#if defined(__x86_64__)
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_getppid) : "rcx", "r11", "memory");
  return result;
#else
  return syscall(SYS_getppid);
#endif
}

static inline long Deeper(uint64_t digits, uint64_t depth) {
  if (depth == 0) return Bottom();
  return (digits & 1) ? one(digits >> 1, depth - 1) : zero(digits >> 1, depth - 1);
}

// The empty statements keep the calls from becoming jumps or loops; the additions the two functions
// from becoming one.
long zero(uint64_t digits, uint64_t depth) {
  long result = Deeper(digits, depth);
  __asm__ volatile("" : "+r"(result));
  return result + 1;
}

long one(uint64_t digits, uint64_t depth) {
  long result = Deeper(digits, depth);
  __asm__ volatile("" : "+r"(result));
  return result + 2;
}

int main(int argc, char** argv) {
  if (argc < 2) Usage("bigstack DEPTH [DISTINCT]");
  uint64_t depth = Number(argc, argv, 1, 0);
  uint64_t distinct = Number(argc, argv, 2, 1);
  long sum = 0;
  for (uint64_t i = 0; i < distinct; i++) sum += zero(i, depth);
  if (sum == 0) return 1;
  printf("total %lu\n", distinct);
  return 0;
}
