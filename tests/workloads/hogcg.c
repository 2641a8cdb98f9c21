// hogcg [LIMIT_MIB [FILE_MIB [PASSES]]]
//
// Makes the kernel reclaim page cache in a memory cgroup: creates a cgroup with a limit of
// LIMIT_MIB (64), and lets a child in it read a file of FILE_MIB (256) PASSES (2) times. Needs
// root, and FILE_MIB in /var/tmp, which must not be a tmpfs. File and cgroup are removed at the
// end, and when it is interrupted. A run that takes longer than a minute gives up.
//
// Prints, one a line:
//   pages N                of the file
//   version 1|2            of the cgroup hierarchy
//   id N                   the cgroup's id: the inode of its directory, `id` in memcg:* tracepoints
//   failcnt N              v1: how often the limit was hit
//   workingset_refault_file N, pgfault N, pgmajfault N, and with v2 pgscan N, pgsteal N,
//   pgscan_direct N, pgsteal_direct N: what its memory.stat says at the end
//
// What is exact: the second pass refaults every page of a file at least twice as large as the
// limit; on v2 pgsteal_direct is the sum of nr_reclaimed over mm_vmscan_memcg_reclaim_end of the
// child.

#include "memcg.h"

static char file[256];
static int file_fd;
static uint64_t passes;

static void RemoveFile(void) {
  if (file[0] != '\0') unlink(file);
}

static void ReadFile(void) {
  static char block[1 << 20];
  for (uint64_t pass = 0; pass < passes; pass++) {
    if (lseek(file_fd, 0, SEEK_SET) != 0) Die("lseek");
    ssize_t size;
    while ((size = read(file_fd, block, sizeof block)) > 0) {
    }
    if (size < 0) Die("read");
  }
}

int main(int argc, char** argv) {
  uint64_t limit = Number(argc, argv, 1, 64) << 20;
  uint64_t size = Number(argc, argv, 2, 256) << 20;
  passes = Number(argc, argv, 3, 2);
  if (limit == 0 || size == 0 || size > (uint64_t)4 << 30) {
    Usage("hogcg [LIMIT_MIB [FILE_MIB [PASSES]]], FILE_MIB at most 4096");
  }
  MakeCgroup("hogcg", limit, RemoveFile);
  file_fd = MakeFile("hogcg", size, file, sizeof file);
  if (posix_fadvise(file_fd, 0, 0, POSIX_FADV_DONTNEED) != 0) Die("FADV_DONTNEED");

  RunInCgroup(ReadFile);

  printf("pages %lu\n", size / PageSize());
  static const char* const kNames[] = {
      "workingset_refault_file", "pgfault",       "pgmajfault", "pgscan", "pgsteal",
      "pgscan_direct",           "pgsteal_direct"};
  PrintCgroup(kNames, sizeof kNames / sizeof *kNames);
  if (memcg_version == 1) {
    char path[4200];
    snprintf(path, sizeof path, "%s/memory.failcnt", memcg_path);
    FILE* stream = fopen(path, "r");
    unsigned long count;
    if (stream && fscanf(stream, "%lu", &count) == 1) printf("failcnt %lu\n", count);
  }
  return 0;
}
