// threads T M [SECONDS [MODE]]
//
// T threads, each of which does M times one cheap thing and nothing else of that kind; the threads
// start together. With SECONDS (0: as fast as they can) each spreads its M evenly over that time.
//   getppid   (the default) M × syscalls:sys_enter_getppid and as many exits
//   getpgid   M × sys_enter_getpgid, with args.pid = the thread's number, from 0
//   sequence  M × sys_enter_getpgid, with args.pid = number × 1,000,000 + 0, 1, 2, …
//   fault     M user page faults (write, not present) in the page ARRAY_ADDRESS + number × page
// Prints `total T×M`. The threads' comm is the program's.

#include "workload.h"

#include <pthread.h>
#include <sys/syscall.h>

enum Mode { kGetppid, kGetpgid, kSequence, kFault };

struct Worker {
  pthread_t thread;
  uint64_t number;
  uint64_t calls;
  uint64_t nanoseconds;
  enum Mode mode;
  volatile char* page;
};

static pthread_barrier_t start;

static void DoOne(const struct Worker* worker, uint64_t index) {
  switch (worker->mode) {
    case kGetppid:
      syscall(SYS_getppid);
      break;
    case kGetpgid:
      syscall(SYS_getpgid, worker->number);
      break;
    case kSequence:
      syscall(SYS_getpgid, worker->number * 1000000 + index);
      break;
    case kFault:
      *worker->page = 1;
      if (madvise((void*)worker->page, PageSize(), MADV_DONTNEED) != 0) Die("MADV_DONTNEED");
      break;
  }
}

static void* Work(void* argument) {
  const struct Worker* worker = argument;
  pthread_barrier_wait(&start);
  uint64_t began = Now();
  for (uint64_t i = 0; i < worker->calls; i++) {
    if (worker->nanoseconds > 0) {
      // In bursts of a millisecond's worth, so that high rates are kept too.
      uint64_t due = began + worker->nanoseconds / worker->calls * i;
      if (due > Now() + 1000000) SleepUntil(due);
    }
    DoOne(worker, i);
  }
  return NULL;
}

int main(int argc, char** argv) {
  static const char usage[] = "threads T M [SECONDS [getppid|getpgid|sequence|fault]]";
  if (argc < 3) Usage(usage);
  uint64_t count = Number(argc, argv, 1, 0);
  uint64_t calls = Number(argc, argv, 2, 0);
  uint64_t seconds = Number(argc, argv, 3, 0);
  const char* name = argc > 4 ? argv[4] : "getppid";
  enum Mode mode = kGetppid;
  if (strcmp(name, "getpgid") == 0) {
    mode = kGetpgid;
  } else if (strcmp(name, "sequence") == 0) {
    mode = kSequence;
  } else if (strcmp(name, "fault") == 0) {
    mode = kFault;
  } else if (strcmp(name, "getppid") != 0) {
    Usage(usage);
  }

  static struct Worker workers[256];
  if (count == 0 || count > 256 || calls == 0) Usage(usage);
  volatile char* array = mode == kFault ? MapPages(ARRAY_ADDRESS, count) : NULL;
  pthread_barrier_init(&start, NULL, (unsigned)count);
  for (uint64_t i = 0; i < count; i++) {
    workers[i] = (struct Worker){.number = i,
                                 .calls = calls,
                                 .nanoseconds = seconds * 1000000000,
                                 .mode = mode,
                                 .page = array ? array + i * PageSize() : NULL};
    errno = pthread_create(&workers[i].thread, NULL, Work, &workers[i]);
    if (errno != 0) Die("pthread_create");
  }
  for (uint64_t i = 0; i < count; i++) pthread_join(workers[i].thread, NULL);
  printf("total %lu\n", count * calls);
  return 0;
}
