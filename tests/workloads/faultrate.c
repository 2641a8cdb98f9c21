// faultrate N SECONDS [ADDRESS]
//
// N user page faults (write, not present) on N distinct pages from ADDRESS (0x100000000000) on,
// spread evenly over SECONDS in bursts of a millisecond. Prints `total N`.

#include "workload.h"

int main(int argc, char** argv) {
  if (argc < 3) Usage("faultrate N SECONDS [ADDRESS]");
  uint64_t pages = Number(argc, argv, 1, 0);
  uint64_t duration = Number(argc, argv, 2, 0) * 1000000000;
  size_t page = PageSize();
  volatile char* array = MapPages(Number(argc, argv, 3, ARRAY_ADDRESS), pages);

  uint64_t began = Now();
  uint64_t done = 0;
  for (uint64_t at = began; done < pages; at += 1000000) {
    SleepUntil(at);
    uint64_t elapsed = Now() - began;
    uint64_t due = elapsed >= duration
                       ? pages
                       : (uint64_t)((double)pages * (double)elapsed / (double)duration);
    for (; done < due; done++) array[done * page] = 1;
  }
  printf("total %lu\n", done);
  return 0;
}
