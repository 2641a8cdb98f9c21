// A memory cgroup of a workload's own, v1 or v2, and a child that runs in it.
//
// Everything that was made is removed at exit and when a signal ends the program; a minute after
// MakeCgroup it gives up by itself. Needs root.
#pragma once

#include "workload.h"

#include <fcntl.h>
#include <mntent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>

enum { kTimeoutSeconds = 60, kTmpfsMagic = 0x01021994 };

static char memcg_path[4096];
static int memcg_version;  // of the hierarchy with the memory controller
static volatile sig_atomic_t memcg_child;
// Called on the way out, after the child is gone: system calls only.
static void (*memcg_on_exit)(void);

static void RemoveCgroup(void) {
  if (memcg_child > 0) {
    kill(memcg_child, SIGKILL);
    waitpid(memcg_child, NULL, 0);
  }
  if (memcg_on_exit) memcg_on_exit();
  // The kernel may need a moment until a cgroup whose last task is gone is empty.
  for (int i = 0; memcg_path[0] != '\0' && rmdir(memcg_path) != 0 && errno == EBUSY && i < 100;
       i++) {
    struct timespec pause = {.tv_nsec = 10000000};
    nanosleep(&pause, NULL);
  }
}

static void OnSignal(int number) {
  RemoveCgroup();
  _exit(128 + number);
}

static inline void WriteFile(const char* directory, const char* name, const char* text) {
  char path[4200];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text)) Die("write %s", path);
  close(fd);
}

// True if v2's root `directory` has the memory controller.
static int HasMemoryController(const char* directory) {
  char path[4200];
  char text[256] = "";
  snprintf(path, sizeof path, "%s/cgroup.controllers", directory);
  FILE* list = fopen(path, "r");
  if (!list) return 0;
  if (!fgets(text, sizeof text, list)) text[0] = '\0';
  fclose(list);
  return strstr(text, "memory") != NULL;
}

// Where memory cgroups are made: the v1 hierarchy with the memory controller, or v2's root.
static void FindHierarchy(char* root, size_t size) {
  FILE* mounts = setmntent("/proc/self/mounts", "r");
  if (!mounts) Die("read /proc/self/mounts");
  struct mntent* mount;
  while ((mount = getmntent(mounts))) {
    int version = 0;
    if (strcmp(mount->mnt_type, "cgroup") == 0 && hasmntopt(mount, "memory")) version = 1;
    if (strcmp(mount->mnt_type, "cgroup2") == 0 && HasMemoryController(mount->mnt_dir)) version = 2;
    if (version == 0) continue;
    memcg_version = version;
    snprintf(root, size, "%s", mount->mnt_dir);
  }
  endmntent(mounts);
  if (memcg_version == 0) {
    errno = ENOENT;
    Die("find a memory cgroup hierarchy");
  }
}

// Makes the cgroup NAME.PID with a limit in bytes. `on_exit` as memcg_on_exit.
static inline void MakeCgroup(const char* name, uint64_t limit, void (*on_exit)(void)) {
  char root[2048] = "";
  FindHierarchy(root, sizeof root);
  memcg_on_exit = on_exit;
  atexit(RemoveCgroup);
  signal(SIGINT, OnSignal);
  signal(SIGTERM, OnSignal);
  signal(SIGALRM, OnSignal);
  alarm(kTimeoutSeconds);

  if (memcg_version == 2) WriteFile(root, "cgroup.subtree_control", "+memory");
  char path[sizeof memcg_path];
  snprintf(path, sizeof path, "%s/%s.%d", root, name, getpid());
  if (mkdir(path, 0755) != 0) Die("make %s", path);
  memcpy(memcg_path, path, sizeof path);
  char text[32];
  snprintf(text, sizeof text, "%lu", limit);
  WriteFile(memcg_path, memcg_version == 1 ? "memory.limit_in_bytes" : "memory.max", text);
}

// Forks a child that joins the cgroup, does `work` and exits; waits for it.
static inline void RunInCgroup(void (*work)(void)) {
  pid_t child = fork();
  if (child < 0) Die("fork");
  if (child == 0) {
    // What the parent is to remove is none of the child's business.
    char path[sizeof memcg_path];
    memcpy(path, memcg_path, sizeof path);
    memcg_path[0] = '\0';
    memcg_on_exit = NULL;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    WriteFile(path, "cgroup.procs", "0");
    work();
    _exit(0);
  }
  memcg_child = child;
  int status;
  if (waitpid(child, &status, 0) != child) Die("waitpid");
  memcg_child = 0;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    errno = ECANCELED;
    Die("the child ended with status %d", status);
  }
}

// Prints version and id of the cgroup, and those of `names` that its memory.stat has.
static inline void PrintCgroup(const char* const* names, size_t count) {
  struct stat directory;
  if (stat(memcg_path, &directory) != 0) Die("stat %s", memcg_path);
  printf("version %d\nid %lu\n", memcg_version, (unsigned long)directory.st_ino);
  char path[4200];
  snprintf(path, sizeof path, "%s/memory.stat", memcg_path);
  FILE* stream = fopen(path, "r");
  if (!stream) Die("read %s", path);
  char name[128];
  unsigned long value;
  while (fscanf(stream, "%127s %lu", name, &value) == 2) {
    for (size_t i = 0; i < count; i++) {
      if (strcmp(name, names[i]) == 0) printf("%s %lu\n", name, value);
    }
  }
  fclose(stream);
}

// Makes a file of `size` bytes 'x' in /var/tmp, written to the disk, and its name in `path`.
static inline int MakeFile(const char* name, uint64_t size, char* path, size_t path_size) {
  enum { kBlock = 1 << 20 };
  struct statfs system;
  if (statfs("/var/tmp", &system) != 0) Die("/var/tmp");
  if (system.f_type == kTmpfsMagic) {
    errno = EOPNOTSUPP;
    Die("/var/tmp is a tmpfs");
  }
  char made[256];
  snprintf(made, sizeof made, "/var/tmp/%s.%d", name, getpid());
  int fd = open(made, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) Die("create %s", made);
  snprintf(path, path_size, "%s", made);
  static char block[kBlock];
  memset(block, 'x', sizeof block);
  for (uint64_t done = 0; done < size; done += kBlock) {
    if (write(fd, block, kBlock) != kBlock) Die("write %s", made);
  }
  if (fdatasync(fd) != 0) Die("fdatasync");
  return fd;
}
