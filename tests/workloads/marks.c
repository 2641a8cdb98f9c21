// marks N [PAUSE_MS]
//
// Passes the static probes lab:tick (two places, N times each, an index and a text) and lab:plain
// (no arguments, N times). lab:tick has a semaphore; prints how often it was found up. With
// PAUSE_MS says `ready` and waits so long first.

#include "workload.h"

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

unsigned short lab_tick_semaphore __attribute__((section(".probes")));
unsigned short lab_plain_semaphore __attribute__((section(".probes")));

struct item {
  char padding[24];
  short small;
  long numbers[4];
};

int main(int argc, char** argv) {
  if (argc < 2) Usage("marks N [PAUSE_MS]");
  uint64_t count = Number(argc, argv, 1, 0), pause = Number(argc, argv, 2, 0);
  if (pause > 0) {
    printf("ready\n");
    fflush(stdout);
    SleepUntil(Now() + pause * 1000000);
  }
  uint64_t up = 0;
  volatile struct item item = {.small = -3, .numbers = {10, 20, 30, 40}};
  for (uint64_t i = 0; i < count; i++) {
    up += *(volatile unsigned short*)&lab_tick_semaphore != 0;
    // Places of every kind: a register, a constant, memory, memory by an index.
    STAP_PROBE4(lab, tick, (int)i, "tick", item.small, item.numbers[i % 4]);
    STAP_PROBE4(lab, tick, (int)-1, "tock", item.small, 7L);
    STAP_PROBE(lab, plain);
  }
  printf("ticks %lu\nup %lu\n", 2 * count, up);
  return 0;
}
