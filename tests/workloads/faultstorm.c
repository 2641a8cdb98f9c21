// faultstorm SECONDS [CPU [PAGES]]
//
// A steady load of user page faults: touches PAGES (512) pages at 0x100000000000, gives them back,
// and again, for SECONDS. Pinned to CPU when one is given. Prints `total N`, the faults in that
// range, and `nanoseconds T` per fault, madvise included.

#include "workload.h"

int main(int argc, char** argv) {
  if (argc < 2) Usage("faultstorm SECONDS [CPU [PAGES]]");
  uint64_t duration = Number(argc, argv, 1, 0) * 1000000000;
  if (argc > 2) PinTo((int)Number(argc, argv, 2, 0));
  size_t pages = Number(argc, argv, 3, 512);
  if (pages == 0) return 2;
  size_t page = PageSize();
  volatile char* array = MapPages(ARRAY_ADDRESS, pages);

  uint64_t total = 0;
  uint64_t began = Now();
  while (Now() - began < duration) {
    for (size_t i = 0; i < pages; i++) array[i * page] = 1;
    if (madvise((void*)array, pages * page, MADV_DONTNEED) != 0) Die("MADV_DONTNEED");
    total += pages;
  }
  printf("total %lu\nnanoseconds %lu\n", total, total ? (Now() - began) / total : 0);
  return 0;
}
