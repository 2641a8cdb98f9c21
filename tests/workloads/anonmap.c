// anonmap N
//
// Maps and unmaps N anonymous areas of 37 pages, one after the other: N × sys_enter_mmap with
// fd −1 and len 37 pages, and N × sys_enter_munmap with that length. (The loader makes mappings of
// its own; the length tells ours apart.) Prints `total N`.

#include "workload.h"

int main(int argc, char** argv) {
  if (argc < 2) Usage("anonmap N");
  uint64_t count = Number(argc, argv, 1, 0);
  size_t size = 37 * PageSize();
  for (uint64_t i = 0; i < count; i++) {
    void* area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED) Die("mmap");
    if (munmap(area, size) != 0) Die("munmap");
  }
  printf("total %lu\n", count);
  return 0;
}
