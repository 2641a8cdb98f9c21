// hugetouch N
//
// Maps N huge pages of the default size at 0x100000000000 and touches every small page of them:
// exactly N faults. Takes what the pool lacks from the kernel for that time, and gives it back at
// the end; where it can't get it (memory is fragmented, or it is not root), it fails. Then touches
// 3 × 512 small pages of a MADV_HUGEPAGE mapping that is aligned to 2 MiB, which are at most three
// transparent huge pages.
//
// Prints `pages N`, `size BYTES`, `total N`, the pool's pages then, and `thp N`, the growth of
// thp_fault_alloc of /proc/vmstat: of the whole machine.

#include "workload.h"

#include <fcntl.h>
#include <signal.h>

static const char kPool[] = "/proc/sys/vm/nr_hugepages";
static const char kMemory[] = "/proc/meminfo";
static long pool_before = -1;

// The number behind `name` in a file of lines `NAME NUMBER…`; 0 when it is not there.
static long Counter(const char* path, const char* name) {
  FILE* stream = fopen(path, "r");
  if (!stream) Die("read %s", path);
  char line[256];
  long value = 0;
  size_t length = strlen(name);
  while (fgets(line, sizeof line, stream)) {
    if (strncmp(line, name, length) == 0) value = strtol(line + length, NULL, 10);
  }
  fclose(stream);
  return value;
}

// System calls only: also runs in a signal handler.
static int SetPool(long pages) {
  char text[32];
  int length = snprintf(text, sizeof text, "%ld", pages);
  int fd = open(kPool, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  int result = write(fd, text, (size_t)length) == length ? 0 : -1;
  close(fd);
  return result;
}

static void Restore(void) {
  if (pool_before >= 0) SetPool(pool_before);
}

static void OnSignal(int number) {
  Restore();
  _exit(128 + number);
}

static void TouchTransparent(void) {
  const size_t huge = (size_t)2 << 20;
  char* area = (char*)mmap((void*)(ARRAY_ADDRESS << 1), 3 * huge, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (area == MAP_FAILED) Die("mmap");
  // EINVAL: a kernel without them.
  if (madvise(area, 3 * huge, MADV_HUGEPAGE) != 0 && errno != EINVAL) Die("MADV_HUGEPAGE");
  for (size_t at = 0; at < 3 * huge; at += PageSize()) ((volatile char*)area)[at] = 1;
}

int main(int argc, char** argv) {
  long pages = (long)Number(argc, argv, 1, 0);
  size_t size = (size_t)Counter(kMemory, "Hugepagesize:") << 10;
  if (pages <= 0 || pages > 64) Usage("hugetouch N, at most 64");
  if (size == 0) {
    errno = ENOTSUP;
    Die("huge pages");
  }
  long unreserved = Counter(kMemory, "HugePages_Free:") - Counter(kMemory, "HugePages_Rsvd:");
  if (unreserved < pages) {
    pool_before = Counter(kMemory, "HugePages_Total:");
    atexit(Restore);
    signal(SIGINT, OnSignal);
    signal(SIGTERM, OnSignal);
    if (SetPool(pool_before + pages - unreserved) != 0) Die("write %s", kPool);
  }
  volatile char* area =
      (volatile char*)mmap((void*)ARRAY_ADDRESS, (size_t)pages * size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_FIXED_NOREPLACE, -1, 0);
  if (area == MAP_FAILED) Die("map %ld huge pages", pages);
  for (size_t at = 0; at < (size_t)pages * size; at += PageSize()) area[at] = 1;
  long total = Counter(kMemory, "HugePages_Total:");
  long before = Counter("/proc/vmstat", "thp_fault_alloc ");
  TouchTransparent();
  printf("pages %ld\nsize %zu\ntotal %ld\nthp %ld\n", pages, size, total,
         Counter("/proc/vmstat", "thp_fault_alloc ") - before);
  munmap((void*)area, (size_t)pages * size);
  return 0;
}
