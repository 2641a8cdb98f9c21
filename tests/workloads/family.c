// family N PAGES [held]
//
// Forks N children at once. Taken in turn, a child stores one byte in each of PAGES fresh pages at
// 0x100000000000; becomes `touch PAGES`, which does; or forks a child that does, and ends before
// it. Exactly N × PAGES user page faults there. With `held` it first forks a child that forks a
// child, prints `ready`, and waits for SIGUSR1; then both it and that grandchild do as above: 2 × N
// × PAGES. Prints `pages NUMBER` when all have ended.

#include "workload.h"

#include <libgen.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static void Touch(size_t pages) {
  volatile char* array = MapPages(ARRAY_ADDRESS, pages);
  for (size_t i = 0; i < pages; i++) array[i * PageSize()] = 1;
}

// Becomes the program `touch` that lies beside this one.
static void ExecTouch(const char* pages) {
  char path[4096] = "";
  if (readlink("/proc/self/exe", path, sizeof path - 8) < 0) Die("readlink");
  char* directory = dirname(path);
  char program[4200];
  snprintf(program, sizeof program, "%s/touch", directory);
  execl(program, "touch", pages, NULL);
  Die("exec %s", program);
}

static void Child(uint64_t number, const char* pages, size_t page_count) {
  if (number % 3 == 1) ExecTouch(pages);
  if (number % 3 == 2) {
    pid_t child = fork();
    if (child < 0) Die("fork");
    if (child > 0) _exit(0);
  }
  Touch(page_count);
  _exit(0);
}

static void Storm(uint64_t count, const char* pages, size_t page_count) {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) Die("PR_SET_CHILD_SUBREAPER");
  for (uint64_t i = 0; i < count; i++) {
    pid_t child = fork();
    if (child < 0) Die("fork");
    if (child == 0) Child(i, pages, page_count);
  }
}

static void WaitForAll(void) {
  int status;
  while (wait(&status) > 0) {
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) Die("a child failed");
  }
}

int main(int argc, char** argv) {
  if (argc < 3) Usage("family N PAGES [held]");
  uint64_t count = Number(argc, argv, 1, 0);
  size_t page_count = Number(argc, argv, 2, 0);
  uint64_t storms = 1;
  if (argc > 3) {
    int go[2];
    if (pipe(go) != 0) Die("pipe");
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    pid_t child = fork();
    if (child == 0) {
      if (fork() == 0) {
        char byte;
        if (read(go[0], &byte, 1) != 1) _exit(1);
        Storm(count, argv[2], page_count);
      }
      WaitForAll();
      _exit(0);
    }
    printf("ready\n");
    fflush(stdout);
    int number;
    sigwait(&signals, &number);
    if (write(go[1], "", 1) != 1) Die("write");
    storms = 2;
  }
  Storm(count, argv[2], page_count);
  WaitForAll();
  printf("pages %lu\n", storms * count * page_count);
  return 0;
}
