// swapcg [LIMIT_MIB [MEMORY_MIB]]
//
// Makes the kernel swap in a memory cgroup: swaps to a file of its own, creates a cgroup with a
// limit of LIMIT_MIB (32), and lets a child in it write MEMORY_MIB (96) of anonymous memory, and
// then read it. Needs root, and MEMORY_MIB in /var/tmp on a file system that can hold swap. Swap,
// file and cgroup are removed at the end, and when it is interrupted. A run that takes longer than
// a minute gives up.
//
// Prints version and id of the cgroup as hogcg does, and `pswpout N` and `pswpin N`, the growth of
// these counters of /proc/vmstat: of the whole machine, but nobody else swaps on one that has no
// swap otherwise.

#include "memcg.h"

#include <sys/swap.h>

static char file[256];
static int is_swapping;
static uint64_t memory;

// The number after `name` in one of the kernel's files of lines `NAME VALUE`; 0 when it is not
// there.
static uint64_t Counter(const char* path, const char* name) {
  FILE* stream = fopen(path, "r");
  if (!stream) Die("read %s", path);
  char line_name[128];
  unsigned long value;
  uint64_t result = 0;
  while (fscanf(stream, "%127s %lu", line_name, &value) == 2) {
    if (strcmp(name, line_name) == 0) result = value;
  }
  fclose(stream);
  return result;
}

static void StopSwapping(void) {
  if (is_swapping) swapoff(file);
  if (file[0] != '\0') unlink(file);
}

// The header that mkswap(8) writes: Linux, union swap_header in include/linux/swap.h.
static void MakeSwap(uint64_t size) {
  int fd = MakeFile("swapcg", size, file, sizeof file);
  char* page = calloc(1, PageSize());
  if (!page) Die("calloc");
  uint32_t version = 1;
  uint32_t last_page = (uint32_t)(size / PageSize() - 1);
  memcpy(page + 1024, &version, sizeof version);
  memcpy(page + 1028, &last_page, sizeof last_page);
  memcpy(page + PageSize() - 10, "SWAPSPACE2", 10);
  if (pwrite(fd, page, PageSize(), 0) != (ssize_t)PageSize() || fsync(fd) != 0)
    Die("write %s", file);
  free(page);
  close(fd);
  if (swapon(file, 0) != 0) Die("swapon %s", file);
  is_swapping = 1;
}

// Never zero: the kernel only notes a page of zeros, and does not count it as written.
static char Content(size_t page) { return (char)(page | 1); }

static void WriteAndRead(void) {
  size_t page = PageSize();
  size_t pages = memory / page;
  volatile char* array = MapPages(ARRAY_ADDRESS, pages);
  for (size_t i = 0; i < pages; i++) array[i * page] = Content(i);
  for (size_t i = 0; i < pages; i++) {
    if (array[i * page] != Content(i)) exit(1);
  }
}

int main(int argc, char** argv) {
  uint64_t limit = Number(argc, argv, 1, 32) << 20;
  memory = Number(argc, argv, 2, 96) << 20;
  if (limit == 0 || memory == 0 || memory > (uint64_t)1 << 30) {
    Usage("swapcg [LIMIT_MIB [MEMORY_MIB]], MEMORY_MIB at most 1024");
  }
  MakeCgroup("swapcg", limit, StopSwapping);
  MakeSwap(memory + ((uint64_t)16 << 20));
  uint64_t out = Counter("/proc/vmstat", "pswpout");
  uint64_t in = Counter("/proc/vmstat", "pswpin");
  RunInCgroup(WriteAndRead);
  // Before swapoff, which reads everything back in.
  printf("pswpout %lu\npswpin %lu\n", Counter("/proc/vmstat", "pswpout") - out,
         Counter("/proc/vmstat", "pswpin") - in);
  PrintCgroup(NULL, 0);
  return 0;
}
