// timed RESULT COMMAND [ARGUMENT…]
//
// Runs COMMAND and writes to the file RESULT, as one line of JSON, what it cost: wall_ns, user_ns,
// system_ns, max_rss_kib, status, and when SIGINT or SIGTERM came, which is passed on, stop_ns, the
// time from there to COMMAND's end. Before that, the first line says `pid N`. A small program does
// this because the peak that wait4 reports begins with that of the program that forked.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t child;
static volatile uint64_t interrupted;

static uint64_t Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void PassOn(int number) {
  if (interrupted == 0) interrupted = Now();
  if (child > 0) kill(child, number);
}

static uint64_t Nanoseconds(struct timeval time) {
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_usec * 1000;
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: timed RESULT COMMAND [ARGUMENT…]\n");
    return 2;
  }
  int result = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (result < 0) {
    perror(argv[1]);
    return 1;
  }
  struct sigaction action = {.sa_handler = PassOn, .sa_flags = SA_RESTART};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);

  uint64_t began = Now();
  pid_t pid = vfork();
  if (pid < 0) {
    perror("vfork");
    return 1;
  }
  if (pid == 0) {
    execvp(argv[2], argv + 2);
    _exit(127);
  }
  child = pid;
  dprintf(result, "pid %d\n", pid);
  int status;
  struct rusage usage;
  while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  uint64_t ended = Now();
  dprintf(result,
          "{\"wall_ns\": %lu, \"user_ns\": %lu, \"system_ns\": %lu, \"max_rss_kib\": %ld, "
          "\"stop_ns\": %lu, \"status\": %d}\n",
          ended - began, Nanoseconds(usage.ru_utime), Nanoseconds(usage.ru_stime), usage.ru_maxrss,
          interrupted ? ended - interrupted : 0,
          WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  return 0;
}
