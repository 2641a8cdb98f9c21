// slowcall N MICROSECONDS
//
// Sleeps N times for MICROSECONDS: N × sys_enter_clock_nanosleep with exits no sooner than that.
// Prints `total N` and `nanoseconds T`, the sum of what the calls took as seen from here.

#include "workload.h"

#include <sys/syscall.h>

int main(int argc, char** argv) {
  if (argc < 3) Usage("slowcall N MICROSECONDS");
  uint64_t count = Number(argc, argv, 1, 0);
  uint64_t nanoseconds = Number(argc, argv, 2, 0) * 1000;
  struct timespec time = {.tv_sec = (time_t)(nanoseconds / 1000000000),
                          .tv_nsec = (long)(nanoseconds % 1000000000)};
  uint64_t took = 0;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t began = Now();
    if (syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, NULL) != 0) Die("clock_nanosleep");
    took += Now() - began;
  }
  printf("total %lu\nnanoseconds %lu\n", count, took);
  return 0;
}
