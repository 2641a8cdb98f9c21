// pace RATE SECONDS [CPU]
//
// Calls getppid RATE times a second for SECONDS, in bursts of a millisecond; RATE 0 is as fast as
// it can. Pinned to CPU when one is given. Prints `total N`, the calls made, and `seconds S`, the
// time that they took: more than SECONDS when the machine could not keep up.

#include "workload.h"

#include <sys/syscall.h>

int main(int argc, char** argv) {
  if (argc < 3) Usage("pace RATE SECONDS [CPU]");
  uint64_t rate = Number(argc, argv, 1, 0);
  uint64_t duration = Number(argc, argv, 2, 0) * 1000000000;
  if (argc > 3) PinTo((int)Number(argc, argv, 3, 0));

  uint64_t total = 0;
  uint64_t began = Now();
  if (rate == 0) {
    while (Now() - began < duration) {
      for (int i = 0; i < 64; i++) syscall(SYS_getppid);
      total += 64;
    }
  } else {
    // By the clock, not by sleeping a millisecond at a time: what one burst was late, the next
    // makes up for.
    uint64_t wanted = rate * (duration / 1000000000);
    for (uint64_t at = began; total < wanted; at += 1000000) {
      SleepUntil(at);
      uint64_t due = (uint64_t)((double)(Now() - began) * 1e-9 * (double)rate);
      for (due = due < wanted ? due : wanted; total < due; total++) syscall(SYS_getppid);
    }
  }
  printf("total %lu\nseconds %.3f\n", total, (double)(Now() - began) * 1e-9);
  return 0;
}
