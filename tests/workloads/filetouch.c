// filetouch N [random]
//
// Makes a file of N pages, `filetouch.PID` in /var/tmp, which must not be a tmpfs; maps it for
// reading at 0x100000000000, and reads a byte of each page in order. With `random` no page of it is
// in the page cache and the mapping is MADV_RANDOM: neither reads the kernel ahead nor does it map
// pages around a fault, so that there are exactly N faults. Without it all pages are cached, and
// there are less faults, for the pages around one are mapped with it. Prints `pages N`, `minor N`
// and `major N`, what getrusage counted. The file is removed.

#include "memcg.h"

int main(int argc, char** argv) {
  size_t pages = Number(argc, argv, 1, 0);
  if (pages == 0 || pages > 65536) Usage("filetouch N [random], N at most 65536");
  int is_random = argc > 2 && strcmp(argv[2], "random") == 0;
  size_t size = pages * PageSize();
  char path[256];
  int fd = MakeFile("filetouch", 0, path, sizeof path);
  unlink(path);
  // Page by page, so that file systems with large folios take small ones: a large one may be mapped
  // whole by one fault.
  char page[65536];
  memset(page, 'x', sizeof page);
  for (size_t i = 0; i < pages; i++) {
    if (write(fd, page, PageSize()) != (ssize_t)PageSize()) Die("write %s", path);
  }
  if (fdatasync(fd) != 0) Die("fdatasync");
  if (is_random && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0) Die("FADV_DONTNEED");
  volatile char* area = (volatile char*)mmap((void*)ARRAY_ADDRESS, size, PROT_READ,
                                             MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
  if (area == MAP_FAILED) Die("mmap");
  if (is_random && madvise((void*)area, size, MADV_RANDOM) != 0) Die("MADV_RANDOM");
  struct rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  for (size_t i = 0; i < pages; i++) {
    if (area[i * PageSize()] != 'x') return 1;
  }
  getrusage(RUSAGE_SELF, &after);
  printf("pages %zu\nminor %ld\nmajor %ld\n", pages, after.ru_minflt - before.ru_minflt,
         after.ru_majflt - before.ru_majflt);
  return 0;
}
