// compat N
//
// Makes N 32-bit system calls with the number that getppid has among the 64-bit ones (110; there it
// is iopl, which fails), and N getppid: exactly N × syscalls:sys_enter_getppid. Whoever goes by the
// number alone counts 2 N. Prints `total N`, or `unsupported` where the machine or the kernel has
// no 32-bit calls.

#include "workload.h"

#include <signal.h>
#include <sys/syscall.h>

static void OnSegv(int number) {
  (void)number;
  static const char kText[] = "unsupported\n";
  if (write(STDOUT_FILENO, kText, sizeof kText - 1) < 0) _exit(1);
  _exit(0);
}

int main(int argc, char** argv) {
  if (argc < 2) Usage("compat N");
  uint64_t count = Number(argc, argv, 1, 0);
  signal(SIGSEGV, OnSegv);
  for (uint64_t i = 0; i < count; i++) {
#if defined(__x86_64__)
    long result;
    // Level -1 does not exist: nothing is granted.
    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "a"((long)SYS_getppid), "b"(-1L), "c"(0L), "d"(0L)
                     : "r8", "r9", "r10", "r11", "memory");
#else
    OnSegv(0);
#endif
    syscall(SYS_getppid);
  }
  printf("total %lu\n", count);
  return 0;
}
