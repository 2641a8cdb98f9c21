// floor MODE [KEYS|once]
//
// The floor: a tracer written by hand that does what one line of a script does, and nothing else.
// It loads the programs of MODE from floor.bpf.o (beside this program), attaches them, says `ready`
// on standard error and runs until SIGINT or SIGTERM; then it detaches and prints what it counted.
// `floor` alone lists the modes. Modes are called raw_… and perf_… by the kind of tracepoint.
//
//   startup                 loads startup.bpf.o, attaches its one raw tracepoint, exits at once
//   raw_sys_enter           one raw sys_enter that knows the numbers of all system calls
//   perf_sys_enter          the classic tracepoints sys_enter_*, all of them
//   raw_keys, perf_keys     counts getpgid by its argument in a map of KEYS (4,096), prints it
//                           sorted
//   …printf…, …getppid…     drains the ring and formats each event as one line
//
// With `once` it detaches as soon as it has attached.
#include <errno.h>
#include <glob.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "floor.h"

enum { kMaxPrograms = 2, kMaxMaps = 3, kBatch = 16384, kReaderMilliseconds = 20 };

struct Mode {
  const char *name;
  const char *programs[kMaxPrograms];
  const char *maps[kMaxMaps];
  void (*print)(void);
};

static struct bpf_object *object;
static volatile sig_atomic_t stopped;
static struct bpf_link *links[1024];
static int link_count;
static uint64_t key_limit = 4096;
static uint64_t lines;

__attribute__((noreturn)) static void Die(const char *what) {
  fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
  exit(1);
}

static void OnSignal(int number) {
  (void)number;
  stopped = 1;
}

static int MapFd(const char *name) {
  int fd = bpf_object__find_map_fd_by_name(object, name);
  if (fd < 0) Die(name);
  return fd;
}

// ---- What is printed at the end ---------------------------------------------------------------

// The sum over CPUs of the first u64 of element 0.
static void PrintTotal(void) {
  int cpus = libbpf_num_possible_cpus();
  uint64_t values[cpus], total = 0;
  uint32_t zero = 0;
  if (bpf_map_lookup_elem(MapFd("total"), &zero, values) != 0) Die("total");
  for (int i = 0; i < cpus; i++) total += values[i];
  printf("@: %lu\n", total);
}

static void PrintHist(void) {
  int cpus = libbpf_num_possible_cpus();
  static uint64_t values[1024][kHistBuckets];
  uint32_t zero = 0;
  if (cpus > 1024 || bpf_map_lookup_elem(MapFd("histogram"), &zero, values) != 0) Die("histogram");
  for (int bucket = 0; bucket < kHistBuckets; bucket++) {
    uint64_t total = 0;
    for (int i = 0; i < cpus; i++) total += values[i][bucket];
    if (total > 0) printf("[2^%d) %lu\n", bucket, total);
  }
}

static void PrintLines(void) { fprintf(stderr, "lines %lu\n", lines); }

static void PrintNothing(void) {}

struct Pair {
  uint64_t value;
  uint32_t key;
};

static int ComparePairs(const void *left, const void *right) {
  const struct Pair *a = left, *b = right;
  if (a->value != b->value) return a->value < b->value ? -1 : 1;
  return a->key < b->key ? -1 : a->key > b->key;
}

// Reads by_argument in batches and prints it by value, then key.
static void PrintKeys(void) {
  int fd = MapFd("by_argument");
  static uint32_t keys[kBatch];
  static uint64_t values[kBatch];
  struct Pair *pairs = malloc(key_limit * sizeof *pairs);
  size_t total = 0;
  uint64_t position = 0;
  int more = 1;
  for (void *from = NULL; more && pairs; from = &position) {
    uint32_t count = kBatch;
    if (bpf_map_lookup_batch(fd, from, &position, keys, values, &count, NULL) != 0) {
      if (errno != ENOENT) Die("read the map");
      more = 0;
    }
    for (uint32_t i = 0; i < count && total < key_limit; i++) {
      pairs[total++] = (struct Pair){.value = values[i], .key = keys[i]};
    }
  }
  qsort(pairs, total, sizeof *pairs, ComparePairs);
  for (size_t i = 0; i < total; i++) printf("@[%u]: %lu\n", pairs[i].key, pairs[i].value);
  free(pairs);
}

// ---- Modes ------------------------------------------------------------------------------------

// Both kinds of a mode on user page faults.
#define FAULT_MODE(NAME, PRINT, ...)                      \
  {"raw_" #NAME, {"raw_" #NAME}, {__VA_ARGS__}, PRINT}, { \
    "perf_" #NAME, {"perf_" #NAME}, {__VA_ARGS__}, PRINT  \
  }

static const struct Mode kModes[] = {
    FAULT_MODE(empty, PrintNothing, NULL),
    FAULT_MODE(count, PrintTotal, "total"),
    FAULT_MODE(sum, PrintTotal, "total"),
    FAULT_MODE(count_global, PrintNothing, NULL),
    FAULT_MODE(hist, PrintHist, "histogram"),
    FAULT_MODE(comm, PrintNothing, "by_comm"),
    FAULT_MODE(pid_comm, PrintNothing, "by_process"),
    FAULT_MODE(kstack, PrintNothing, "stacks", "by_stack"),
    FAULT_MODE(ustack, PrintNothing, "stacks", "by_stack"),
    FAULT_MODE(printf, PrintLines, "ring"),
    FAULT_MODE(printf_wake, PrintLines, "ring"),
    {"raw_getppid", {"raw_getppid"}, {"ring"}, PrintLines},
    {"raw_getppid_wake", {"raw_getppid_wake"}, {"ring"}, PrintLines},
    {"raw_latency", {"raw_latency_enter", "raw_latency_exit"}, {"begun", "histogram"}, PrintHist},
    {"perf_latency",
     {"perf_latency_enter", "perf_latency_exit"},
     {"begun", "histogram"},
     PrintHist},
    {"raw_storage",
     {"raw_storage_enter", "raw_storage_exit"},
     {"begun_by_task", "histogram"},
     PrintHist},
    {"raw_sys_enter", {"raw_sys_enter"}, {"total"}, PrintTotal},
    {"perf_sys_enter", {"perf_any"}, {"total"}, PrintTotal},
    {"raw_keys", {"raw_keys"}, {"by_argument"}, PrintKeys},
    {"perf_keys", {"perf_keys"}, {"by_argument"}, PrintKeys},
};

static const struct Mode *FindMode(const char *name) {
  for (size_t i = 0; i < sizeof kModes / sizeof *kModes; i++) {
    if (strcmp(kModes[i].name, name) == 0) return &kModes[i];
  }
  return NULL;
}

static int Contains(const char *const *names, int count, const char *name) {
  for (int i = 0; i < count && names[i]; i++) {
    if (strcmp(names[i], name) == 0) return 1;
  }
  return 0;
}

// ---- Load and attach --------------------------------------------------------------------------

static void Open(const char *name) {
  char path[4096];
  ssize_t size = readlink("/proc/self/exe", path, sizeof path - 32);
  if (size < 0) Die("/proc/self/exe");
  path[size] = '\0';
  strcpy(strrchr(path, '/') + 1, name);
  object = bpf_object__open_file(path, NULL);
  if (!object) Die(path);
}

static void Keep(struct bpf_link *link, const char *name) {
  if (!link) Die(name);
  links[link_count++] = link;
}

// Every tracepoint sys_enter_* with one program.
static void AttachAllSysEnter(struct bpf_program *program) {
  glob_t found;
  const char *root = access("/sys/kernel/tracing/events", F_OK) == 0 ? "/sys/kernel/tracing"
                                                                     : "/sys/kernel/debug/tracing";
  char pattern[128];
  snprintf(pattern, sizeof pattern, "%s/events/syscalls/sys_enter_*/id", root);
  if (glob(pattern, 0, NULL, &found) != 0) Die(pattern);
  for (size_t i = 0; i < found.gl_pathc && i < 1000; i++) {
    FILE *stream = fopen(found.gl_pathv[i], "r");
    unsigned long id;
    if (!stream || fscanf(stream, "%lu", &id) != 1) Die(found.gl_pathv[i]);
    fclose(stream);
    struct perf_event_attr attr = {
        .type = PERF_TYPE_TRACEPOINT, .size = sizeof attr, .config = id, .sample_period = 1};
    int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0) Die("perf_event_open");
    Keep(bpf_program__attach_perf_event(program, fd), "attach");
  }
  globfree(&found);
}

static void LoadAndAttach(const struct Mode *mode) {
  struct bpf_program *program;
  bpf_object__for_each_program(program, object) {
    bpf_program__set_autoload(program,
                              Contains(mode->programs, kMaxPrograms, bpf_program__name(program)));
  }
  struct bpf_map *map;
  bpf_object__for_each_map(map, object) {
    if (bpf_map__is_internal(map)) continue;
    const char *name = bpf_map__name(map);
    bpf_map__set_autocreate(map, Contains(mode->maps, kMaxMaps, name));
    if (strcmp(name, "by_argument") == 0) bpf_map__set_max_entries(map, (uint32_t)key_limit);
  }
  if (bpf_object__load(object) != 0) Die("load");
  for (int i = 0; i < kMaxPrograms && mode->programs[i]; i++) {
    program = bpf_object__find_program_by_name(object, mode->programs[i]);
    if (strcmp(mode->programs[i], "perf_any") == 0) {
      AttachAllSysEnter(program);
    } else {
      Keep(bpf_program__attach(program), mode->programs[i]);
    }
  }
}

// ---- Run --------------------------------------------------------------------------------------

static int OnEvent(void *context, void *data, size_t size) {
  (void)context, (void)size;
  const struct event *event = data;
  printf("%u %llu\n", event->pid, event->address);
  lines++;
  return 0;
}

// Woken by the ring or by the time, whichever comes first.
static void Drain(void) {
  struct ring_buffer *ring = ring_buffer__new(MapFd("ring"), OnEvent, NULL, NULL);
  if (!ring) Die("ring");
  while (!stopped) {
    ring_buffer__poll(ring, kReaderMilliseconds);
    ring_buffer__consume(ring);
  }
  for (int i = 0; i < link_count; i++) bpf_link__destroy(links[i]);
  link_count = 0;
  ring_buffer__consume(ring);
  ring_buffer__free(ring);
}

static void RunStartup(void) {
  Open("startup.bpf.o");
  if (bpf_object__load(object) != 0) Die("load");
  Keep(bpf_program__attach(bpf_object__next_program(object, NULL)), "attach");
  bpf_link__destroy(links[0]);
  bpf_object__close(object);
}

int main(int argc, char **argv) {
  static char buffer[1 << 18];
  setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
  if (argc > 1 && strcmp(argv[1], "startup") == 0) {
    RunStartup();
    return 0;
  }
  const struct Mode *mode = argc > 1 ? FindMode(argv[1]) : NULL;
  if (!mode) {
    fprintf(stderr, "usage: floor MODE [KEYS|once]; modes: startup");
    for (size_t i = 0; i < sizeof kModes / sizeof *kModes; i++) {
      fprintf(stderr, " %s", kModes[i].name);
    }
    fprintf(stderr, "\n");
    return 2;
  }
  if (argc > 2 && strcmp(argv[2], "once") == 0) {
    stopped = 1;
  } else if (argc > 2) {
    key_limit = strtoull(argv[2], NULL, 10);
  }

  struct sigaction action = {.sa_handler = OnSignal};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  Open("floor.bpf.o");
  LoadAndAttach(mode);
  fprintf(stderr, "ready\n");

  if (Contains(mode->maps, kMaxMaps, "ring")) {
    Drain();
  } else {
    while (!stopped) pause();
  }
  for (int i = 0; i < link_count; i++) bpf_link__destroy(links[i]);
  mode->print();
  bpf_object__close(object);
  return fflush(stdout) == 0 ? 0 : 1;
}
