// brkgrow [libc]
//
// Grows the heap from two places: grow_a 5 times by 4 KiB, and grow_outer → grow_b 3 times by
// 8 KiB: 8 × sys_enter_brk whose result is above the one before, 20 KiB and 24 KiB, in two user
// stacks. Without an argument brk is called from those functions directly, so that unwinding by
// frame pointers sees them; with `libc` by way of sbrk, which keeps no frame pointer. (The C
// library asks for the break too, before; those calls do not grow it from here.) Prints `grown N`
// bytes.

#include "workload.h"

#include <sys/syscall.h>

static uint64_t current;

// A macro: the caller's frame is to be the innermost.
#define BRK(address)              \
  ({                              \
    long result_;                 \
    INLINE_BRK(result_, address); \
    result_;                      \
  })
#if defined(__x86_64__)
#define INLINE_BRK(result, address) \
  __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_brk), "D"(address) : "rcx", "r11", "memory")
#else
#define INLINE_BRK(result, address) ((result) = syscall(SYS_brk, address))
#endif

static void Check(uint64_t wanted, uint64_t got) {
  if (got != wanted) {
    errno = ENOMEM;
    Die("brk");
  }
}

NOINLINE void grow_a(int with_libc) {
  for (int i = 0; i < 5; i++) {
    if (with_libc) {
      if (sbrk(4096) == (void*)-1) Die("sbrk");
    } else {
      current += 4096;
      Check(current, (uint64_t)BRK(current));
    }
  }
}

NOINLINE void grow_b(int with_libc) {
  for (int i = 0; i < 3; i++) {
    if (with_libc) {
      if (sbrk(8192) == (void*)-1) Die("sbrk");
    } else {
      current += 8192;
      Check(current, (uint64_t)BRK(current));
    }
  }
}

NOINLINE void grow_outer(int with_libc) {
  grow_b(with_libc);
  __asm__ volatile("");  // not a tail call: its frame is to stay
}

int main(int argc, char** argv) {
  int with_libc = argc > 1 && strcmp(argv[1], "libc") == 0;
  if (argc > 1 && !with_libc) Usage("brkgrow [libc]");
  uint64_t before = (uint64_t)sbrk(0);
  current = before;
  grow_a(with_libc);
  grow_outer(with_libc);
  uint64_t after = with_libc ? (uint64_t)sbrk(0) : current;
  // The C library's own idea of the break is stale now; no malloc, hence no printf, from here on.
  char line[64];
  int size = snprintf(line, sizeof line, "grown %lu\n", after - before);
  if (write(STDOUT_FILENO, line, (size_t)size) != size) return 1;
  _exit(0);
}
