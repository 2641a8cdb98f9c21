// opener PATH N
//
// Calls openat(AT_FDCWD, PATH, O_RDONLY) N times, whether it succeeds or not, and closes what it
// got: N × sys_enter_openat with that filename. PATH may be as long as an argument can be; what is
// longer than PATH_MAX fails with ENAMETOOLONG. `@LENGTH` for PATH makes up one of LENGTH bytes:
// "/", then "abcdefghij" over and over. Prints `total N`.

#include "workload.h"

#include <fcntl.h>
#include <sys/syscall.h>

static char made[1 << 16];

int main(int argc, char** argv) {
  if (argc < 3) Usage("opener PATH|@LENGTH N");
  const char* path = argv[1];
  uint64_t count = Number(argc, argv, 2, 0);
  if (path[0] == '@') {
    uint64_t length = strtoull(path + 1, NULL, 10);
    if (length == 0 || length >= sizeof made) Usage("opener PATH|@LENGTH N");
    made[0] = '/';
    for (uint64_t i = 1; i < length; i++) made[i] = (char)('a' + (i - 1) % 10);
    path = made;
  }
  for (uint64_t i = 0; i < count; i++) {
    long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (fd >= 0) close((int)fd);
  }
  printf("total %lu\n", count);
  return 0;
}
