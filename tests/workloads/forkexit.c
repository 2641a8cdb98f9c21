// forkexit N [MICROSECONDS]
//
// Forks N children, one after the other; each calls getppid once, sleeps MICROSECONDS (0) and
// exits with the low 7 bits of its number: N × sched_process_fork and sched_process_exit (plus
// the exit of the program itself). Prints `total N`.

#include "workload.h"

#include <sys/syscall.h>
#include <sys/wait.h>

int main(int argc, char** argv) {
  if (argc < 2) Usage("forkexit N [MICROSECONDS]");
  uint64_t count = Number(argc, argv, 1, 0);
  uint64_t nanoseconds = Number(argc, argv, 2, 0) * 1000;
  for (uint64_t i = 0; i < count; i++) {
    pid_t child = fork();
    if (child < 0) Die("fork");
    if (child == 0) {
      syscall(SYS_getppid);
      if (nanoseconds > 0) SleepUntil(Now() + nanoseconds);
      _exit((int)(i & 127));
    }
    int status;
    if (waitpid(child, &status, 0) != child) Die("waitpid");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != (int)(i & 127)) return 1;
  }
  printf("total %lu\n", count);
  return 0;
}
