// mapstorm SECONDS [CPU…]
//
// Keeps the named CPUs (all) inside the map system calls of bpf(2): one thread each, pinned, that
// reads a hash map of 4,096 keys in batches, over and over. The kernel runs no classic tracepoint,
// kprobe or uprobe program on a CPU during such a call (raw tracepoints it does): this provokes
// missed events. Ends after SECONDS, or with its parent. Needs root. Prints `total N`, the system
// calls made.

#include "workload.h"

#include <linux/bpf.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { kKeys = 4096 };

static int map;
static uint64_t deadline;
static uint64_t total;

static long Bpf(int command, union bpf_attr* attr) {
  return syscall(SYS_bpf, command, attr, sizeof *attr);
}

static void MakeMap(void) {
  union bpf_attr create = {.map_type = BPF_MAP_TYPE_HASH,
                           .key_size = 4,
                           .value_size = 8,
                           .max_entries = kKeys,
                           .map_name = "mapstorm"};
  map = (int)Bpf(BPF_MAP_CREATE, &create);
  if (map < 0) Die("create a map");
  for (uint32_t key = 0; key < kKeys; key++) {
    uint64_t value = key;
    union bpf_attr update = {
        .map_fd = (uint32_t)map, .key = (uint64_t)&key, .value = (uint64_t)&value};
    if (Bpf(BPF_MAP_UPDATE_ELEM, &update) != 0) Die("fill the map");
  }
}

static void* Storm(void* cpu) {
  PinTo((int)(intptr_t)cpu);
  uint32_t* keys = malloc(kKeys * sizeof *keys);
  uint64_t* values = malloc(kKeys * sizeof *values);
  uint64_t calls = 0;
  while (keys && values && Now() < deadline) {
    uint64_t position[2];
    union bpf_attr attr = {.batch = {.map_fd = (uint32_t)map,
                                     .out_batch = (uint64_t)position,
                                     .keys = (uint64_t)keys,
                                     .values = (uint64_t)values,
                                     .count = kKeys}};
    // ENOENT: that was the whole map.
    if (Bpf(BPF_MAP_LOOKUP_BATCH, &attr) != 0 && errno != ENOENT) Die("read the map");
    calls++;
  }
  __atomic_fetch_add(&total, calls, __ATOMIC_RELAXED);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 2) Usage("mapstorm SECONDS [CPU…]");
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  deadline = Now() + Number(argc, argv, 1, 0) * 1000000000;
  MakeMap();
  pthread_t threads[64];
  long count = argc > 2 ? argc - 2 : sysconf(_SC_NPROCESSORS_ONLN);
  if (count > 64) count = 64;
  for (long i = 0; i < count; i++) {
    intptr_t cpu = argc > 2 ? (intptr_t)Number(argc, argv, (int)i + 2, 0) : i;
    errno = pthread_create(&threads[i], NULL, Storm, (void*)cpu);
    if (errno != 0) Die("pthread_create");
  }
  for (long i = 0; i < count; i++) pthread_join(threads[i], NULL);
  printf("total %lu\n", total);
  return 0;
}
