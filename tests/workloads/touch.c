// touch N [ADDRESS [PASSES]]
//
// Stores one byte in each of N fresh pages that begin at ADDRESS (0x100000000000): exactly N user
// page faults (write, not present) in [ADDRESS, ADDRESS + N pages). More PASSES (1) give the pages
// back in between, and cost N faults each. Prints the growth of getrusage's minor faults, which is
// the faults plus at most one page of the program's own.

#include "workload.h"

int main(int argc, char** argv) {
  if (argc < 2) Usage("touch N [ADDRESS [PASSES]]");
  size_t pages = Number(argc, argv, 1, 0);
  uint64_t address = Number(argc, argv, 2, ARRAY_ADDRESS);
  uint64_t passes = Number(argc, argv, 3, 1);
  size_t page = PageSize();
  if (pages == 0) return 0;
  volatile char* array = MapPages(address, pages);

  long before = MinorFaults();
  for (uint64_t pass = 0; pass < passes; pass++) {
    if (pass > 0 && madvise((void*)array, pages * page, MADV_DONTNEED) != 0) Die("MADV_DONTNEED");
    for (size_t i = 0; i < pages; i++) array[i * page] = 1;
  }
  printf("minor %ld\n", MinorFaults() - before);
  return 0;
}
