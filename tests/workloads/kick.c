// kick PID
//
// Sends SIGUSR1 to a process and waits until it has ended.

#include "workload.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>

int main(int argc, char** argv) {
  if (argc < 2) Usage("kick PID");
  pid_t pid = (pid_t)Number(argc, argv, 1, 0);
  struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
  if (end.fd < 0) Die("pidfd_open %d", pid);
  if (kill(pid, SIGUSR1) != 0) Die("kill %d", pid);
  while (poll(&end, 1, -1) != 1) {
  }
  return 0;
}
