// stores N [PAUSE_MS]
//
// Maps a page at 0x100000000000 and stores to its first word N times; reads it N times, too, and
// stores N times to the word behind. With PAUSE_MS it says `ready` and waits so long in between.

#include "workload.h"

int main(int argc, char** argv) {
  if (argc < 2) Usage("stores N [PAUSE_MS]");
  uint64_t count = Number(argc, argv, 1, 0), pause = Number(argc, argv, 2, 0);
  volatile uint64_t* words = (volatile uint64_t*)MapPages(ARRAY_ADDRESS, 1);
  if (pause > 0) {
    printf("ready\n");
    fflush(stdout);
    SleepUntil(Now() + pause * 1000000);
  }
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; i++) {
    words[0] = i;
    sum += words[0];
    words[1] = i;
  }
  printf("stores %lu\nsum %lu\n", count, sum);
  return 0;
}
