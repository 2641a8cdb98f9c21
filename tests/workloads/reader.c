// reader N SIZE
//
// Reads N times SIZE bytes from /dev/zero, all of them in one read(2) each: vfs_read(file "zero",
// buf, count SIZE) = SIZE. Prints `reads N`.

#include "workload.h"

#include <fcntl.h>

int main(int argc, char** argv) {
  if (argc != 3) Usage("reader N SIZE");
  uint64_t reads = Number(argc, argv, 1, 0);
  size_t size = (size_t)Number(argc, argv, 2, 0);
  static char buffer[65536];
  if (size > sizeof buffer) Usage("reader N SIZE, at most 65536 bytes");
  int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  if (zero < 0) Die("open /dev/zero");
  for (uint64_t i = 0; i < reads; i++) {
    if (read(zero, buffer, size) != (ssize_t)size) Die("read %zu bytes", size);
  }
  printf("reads %lu\n", (unsigned long)reads);
  return 0;
}
