// What every workload needs: numbers from the command line, errors, time and pages.
//
// A workload does one kind of thing a number of times that is known beforehand, prints what it did
// as lines `NAME VALUE`, and ends by itself. Nothing here allocates.
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

// Where arrays are mapped when a trace has to recognise them by their addresses.
#define ARRAY_ADDRESS 0x100000000000UL

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

__attribute__((format(printf, 1, 2), noreturn)) static inline void Die(const char* format, ...) {
  int error = errno;
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fprintf(stderr, ": %s\n", strerror(error));
  exit(1);
}

__attribute__((noreturn)) static inline void Usage(const char* text) {
  fprintf(stderr, "usage: %s\n", text);
  exit(2);
}

// argv[index] as a number, in C's notation; `otherwise` when there is no such argument.
static inline uint64_t Number(int argc, char** argv, int index, uint64_t otherwise) {
  if (index >= argc) return otherwise;
  char* end;
  errno = 0;
  uint64_t value = strtoull(argv[index], &end, 0);
  if (*argv[index] == '\0' || *end != '\0' || errno != 0) {
    fprintf(stderr, "not a number: %s\n", argv[index]);
    exit(2);
  }
  return value;
}

static inline uint64_t Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

// Sleeps until Now() is `deadline`; returns at once when that has passed.
static inline void SleepUntil(uint64_t deadline) {
  struct timespec at = {.tv_sec = (time_t)(deadline / 1000000000),
                        .tv_nsec = (long)(deadline % 1000000000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {
  }
}

static inline size_t PageSize(void) { return (size_t)sysconf(_SC_PAGESIZE); }

static inline long MinorFaults(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

// `pages` fresh anonymous pages at `address`, each of which costs one fault when it is first
// touched: no huge pages. Nothing that is mapped there already is replaced.
static inline volatile char* MapPages(uint64_t address, size_t pages) {
  size_t size = pages * PageSize();
  void* array = mmap((void*)address, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (array == MAP_FAILED) Die("mmap %zu pages at 0x%lx", pages, address);
  // EINVAL: a kernel without huge pages.
  if (madvise(array, size, MADV_NOHUGEPAGE) != 0 && errno != EINVAL) Die("MADV_NOHUGEPAGE");
  return (volatile char*)array;
}

static inline void PinTo(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET((size_t)cpu, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) Die("pin to CPU %d", cpu);
}
