// hogcg [LIMIT_MIB [FILE_MIB [PASSES]]]
//
// Makes the kernel reclaim page cache in a memory cgroup: creates a cgroup with a limit of
// LIMIT_MIB (64), lets a child in it read a file of FILE_MIB (256) PASSES (2) times, and compares
// what the kernel counted. Needs root, and FILE_MIB in /var/tmp, which must not be a tmpfs. Works
// with cgroup v1 (the hierarchy of the memory controller) and v2; file and cgroup are removed at
// the end, and when it is interrupted. A run that takes longer than a minute gives up.
//
// Prints, one a line:
//   version 1|2
//   id N                   the cgroup's id: the inode of its directory, `id` in memcg:* tracepoints
//   pages N                of the file
//   failcnt N              v1: how often the limit was hit
//   workingset_refault_file N, pgfault N, pgmajfault N, and with v2 pgscan N, pgsteal N,
//   pgscan_direct N, pgsteal_direct N: the growth of these counters of its memory.stat
//
// What is exact: the second pass refaults every page of a file at least twice as large as the
// limit; on v2 pgsteal_direct is the sum of nr_reclaimed over mm_vmscan_memcg_reclaim_end of the
// child.

#include "workload.h"

#include <fcntl.h>
#include <mntent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>

enum { kBlock = 1 << 20, kTimeoutSeconds = 60, kTmpfsMagic = 0x01021994 };

static char cgroup[4096];
static char file[64];
static int version;
static volatile sig_atomic_t child;

// Removes what was made. Called from a signal handler too: system calls only.
static void CleanUp(void) {
  if (child > 0) {
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
  }
  if (file[0] != '\0') unlink(file);
  // The kernel may need a moment until a cgroup whose last task is gone is empty.
  for (int i = 0; cgroup[0] != '\0' && rmdir(cgroup) != 0 && errno == EBUSY && i < 100; i++) {
    struct timespec pause = {.tv_nsec = 10000000};
    nanosleep(&pause, NULL);
  }
}

static void OnSignal(int signal_number) {
  (void)signal_number;
  CleanUp();
  _exit(1);
}

static void Write(const char* directory, const char* name, const char* text) {
  char path[4200];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text)) Die("write %s", path);
  close(fd);
}

// Finds where memory cgroups are made: the v1 hierarchy with the memory controller, or v2's root.
static void FindHierarchy(char* root, size_t size) {
  FILE* mounts = setmntent("/proc/self/mounts", "r");
  if (!mounts) Die("read /proc/self/mounts");
  struct mntent* mount;
  while ((mount = getmntent(mounts))) {
    if (strcmp(mount->mnt_type, "cgroup") == 0 && hasmntopt(mount, "memory")) {
      version = 1;
      snprintf(root, size, "%s", mount->mnt_dir);
    } else if (strcmp(mount->mnt_type, "cgroup2") == 0 && version == 0) {
      char controllers[4200];
      snprintf(controllers, sizeof controllers, "%s/cgroup.controllers", mount->mnt_dir);
      char text[256] = "";
      FILE* list = fopen(controllers, "r");
      if (list) {
        if (!fgets(text, sizeof text, list)) text[0] = '\0';
        fclose(list);
      }
      if (!strstr(text, "memory")) continue;
      version = 2;
      snprintf(root, size, "%s", mount->mnt_dir);
    }
  }
  endmntent(mounts);
  if (version == 0) {
    errno = ENOENT;
    Die("find a memory cgroup hierarchy");
  }
}

static void MakeCgroup(uint64_t limit) {
  char root[2048] = "";
  FindHierarchy(root, sizeof root);
  if (version == 2) Write(root, "cgroup.subtree_control", "+memory");
  snprintf(cgroup, sizeof cgroup, "%s/hogcg.%d", root, getpid());
  if (mkdir(cgroup, 0755) != 0) {
    char path[4096];
    memcpy(path, cgroup, sizeof path);
    cgroup[0] = '\0';
    Die("make %s", path);
  }
  char text[32];
  snprintf(text, sizeof text, "%lu", limit);
  Write(cgroup, version == 1 ? "memory.limit_in_bytes" : "memory.max", text);
}

static uint64_t ReadNumber(const char* name) {
  char path[4200];
  snprintf(path, sizeof path, "%s/%s", cgroup, name);
  FILE* stream = fopen(path, "r");
  if (!stream) return 0;
  unsigned long value = 0;
  if (fscanf(stream, "%lu", &value) != 1) value = 0;
  fclose(stream);
  return value;
}

// Prints the counters of memory.stat that somebody may compare.
static void PrintStat(void) {
  static const char* const names[] = {
      "workingset_refault_file", "pgfault",       "pgmajfault", "pgscan", "pgsteal",
      "pgscan_direct",           "pgsteal_direct"};
  char path[4200];
  snprintf(path, sizeof path, "%s/memory.stat", cgroup);
  FILE* stream = fopen(path, "r");
  if (!stream) Die("read %s", path);
  char name[128];
  unsigned long value;
  while (fscanf(stream, "%127s %lu", name, &value) == 2) {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
      if (strcmp(name, names[i]) == 0) printf("%s %lu\n", name, value);
    }
  }
  fclose(stream);
}

// A file whose pages are on the disk and not in memory.
static int MakeFile(uint64_t size) {
  struct statfs system;
  if (statfs("/var/tmp", &system) != 0) Die("/var/tmp");
  if (system.f_type == kTmpfsMagic) {
    errno = EOPNOTSUPP;
    Die("/var/tmp is a tmpfs");
  }
  snprintf(file, sizeof file, "/var/tmp/hogcg.%d", getpid());
  int fd = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) Die("create %s", file);
  static char block[kBlock];
  memset(block, 'x', sizeof block);
  for (uint64_t done = 0; done < size; done += kBlock) {
    if (write(fd, block, kBlock) != kBlock) Die("write %s", file);
  }
  if (fdatasync(fd) != 0) Die("fdatasync");
  if (posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0) Die("FADV_DONTNEED");
  return fd;
}

static void ReadPasses(int fd, uint64_t passes) {
  static char block[kBlock];
  for (uint64_t pass = 0; pass < passes; pass++) {
    if (lseek(fd, 0, SEEK_SET) != 0) Die("lseek");
    ssize_t size;
    while ((size = read(fd, block, sizeof block)) > 0) {
    }
    if (size < 0) Die("read");
  }
}

int main(int argc, char** argv) {
  uint64_t limit = Number(argc, argv, 1, 64) << 20;
  uint64_t size = Number(argc, argv, 2, 256) << 20;
  uint64_t passes = Number(argc, argv, 3, 2);
  if (limit == 0 || size == 0 || size > (uint64_t)4 << 30) {
    Usage("hogcg [LIMIT_MIB [FILE_MIB [PASSES]]], FILE_MIB at most 4096");
  }
  atexit(CleanUp);
  signal(SIGINT, OnSignal);
  signal(SIGTERM, OnSignal);
  signal(SIGALRM, OnSignal);
  alarm(kTimeoutSeconds);

  int fd = MakeFile(size);
  MakeCgroup(limit);

  pid_t reader = fork();
  if (reader < 0) Die("fork");
  if (reader == 0) {
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    char own[sizeof cgroup];
    memcpy(own, cgroup, sizeof own);
    // What the parent is to remove is none of the child's business.
    file[0] = cgroup[0] = '\0';
    Write(own, "cgroup.procs", "0");
    ReadPasses(fd, passes);
    _exit(0);
  }
  child = reader;
  int status;
  if (waitpid(reader, &status, 0) != reader) Die("waitpid");
  child = 0;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    errno = ECANCELED;
    Die("the reader ended with status %d", status);
  }

  struct stat directory;
  if (stat(cgroup, &directory) != 0) Die("stat %s", cgroup);
  printf("version %d\nid %lu\npages %lu\n", version, (unsigned long)directory.st_ino,
         size / PageSize());
  if (version == 1) printf("failcnt %lu\n", ReadNumber("memory.failcnt"));
  PrintStat();
  return 0;
}
