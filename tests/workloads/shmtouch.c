// shmtouch N
//
// Stores one byte in each of N fresh pages of shared memory without a file (MAP_SHARED |
// MAP_ANONYMOUS): exactly N faults, unless huge pages are on for it. Prints `pages N`.

#include "workload.h"

int main(int argc, char** argv) {
  size_t pages = Number(argc, argv, 1, 0);
  if (pages == 0 || pages > 65536) Usage("shmtouch N, N at most 65536");
  size_t size = pages * PageSize();
  volatile char* area =
      (volatile char*)mmap((void*)ARRAY_ADDRESS, size, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (area == MAP_FAILED) Die("mmap");
  for (size_t i = 0; i < pages; i++) area[i * PageSize()] = 1;
  printf("pages %zu\n", pages);
  return 0;
}
