// oomcg [LIMIT_MIB [VICTIM_PAGES [TRIGGER_PAGES]]]
//
// Makes the kernel kill in a memory cgroup, and nowhere else: creates one with a limit of LIMIT_MIB
// (64) and no swap. A child in it called `mtvictim` touches VICTIM_PAGES (10240) and rests; then
// another called `mttrigger` touches TRIGGER_PAGES (7000), which is more than is left, so that the
// victim, being larger, is killed for the sake of the trigger. With TRIGGER_PAGES 0 the victim does
// it all itself. Needs root. The cgroup is removed at the end; a run that takes longer than a
// minute gives up.
//
// Prints, one a line: `victim PID`, `trigger PID` (the victim's with TRIGGER_PAGES 0), `adj 7`, the
// victim's oom_score_adj, and version and id of the cgroup as hogcg does.

#include "memcg.h"

enum { kVictimAdj = 7 };

static char cgroup[sizeof memcg_path];

// A child of that name in the cgroup that touches `pages` and writes a byte to `done`. It rests
// then, if it is to be a victim, and else exits.
static pid_t Child(const char* name, const char* adj, size_t pages, int done, int rests) {
  pid_t child = fork();
  if (child < 0) Die("fork");
  if (child > 0) return child;
  memcg_path[0] = '\0';
  memcg_on_exit = NULL;
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NAME, name);
  alarm(kTimeoutSeconds);
  WriteFile("/proc/self", "oom_score_adj", adj);
  WriteFile(cgroup, "cgroup.procs", "0");
  volatile char* array = MapPages(ARRAY_ADDRESS, pages);
  for (size_t i = 0; i < pages; i++) array[i * PageSize()] = 1;
  if (write(done, "", 1) != 1) _exit(1);
  while (rests) pause();
  _exit(0);
}

// Writes `text` to a file of the cgroup if there is such a file.
static void SetIfThere(const char* name, const char* text) {
  char path[4200];
  snprintf(path, sizeof path, "%s/%s", memcg_path, name);
  if (access(path, W_OK) == 0) WriteFile(memcg_path, name, text);
}

static void ExpectKilled(pid_t child) {
  int status;
  if (waitpid(child, &status, 0) != child) Die("waitpid");
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return;
  errno = ECANCELED;
  Die("the victim was not killed: status %d", status);
}

int main(int argc, char** argv) {
  uint64_t limit = Number(argc, argv, 1, 64) << 20;
  size_t pages = Number(argc, argv, 2, 10240);
  size_t trigger_pages = Number(argc, argv, 3, 7000);
  uint64_t largest = (uint64_t)1 << 30;
  if (limit == 0 || limit > largest || pages > largest / PageSize() ||
      (pages + trigger_pages) * PageSize() <= limit) {
    Usage(
        "oomcg [LIMIT_MIB [VICTIM_PAGES [TRIGGER_PAGES]]], at most 1024 MiB, less than the pages");
  }
  MakeCgroup("oomcg", limit, NULL);
  memcpy(cgroup, memcg_path, sizeof cgroup);
  char bytes[32];
  snprintf(bytes, sizeof bytes, "%lu", limit);
  SetIfThere("memory.swap.max", "0");
  SetIfThere("memory.memsw.limit_in_bytes", bytes);
  SetIfThere("memory.swappiness", "0");

  int done[2];
  if (pipe(done) != 0) Die("pipe");
  char adj[16];
  snprintf(adj, sizeof adj, "%d", kVictimAdj);
  // The kernel counts the pages of a process per CPU and adds them up in batches.
  PinTo(0);
  pid_t victim = Child("mtvictim", adj, pages, done[1], 1);
  memcg_child = victim;
  pid_t trigger = victim;
  if (trigger_pages > 0) {
    char byte;
    if (read(done[0], &byte, 1) != 1) Die("read");
    trigger = Child("mttrigger", "0", trigger_pages, done[1], 0);
  }
  ExpectKilled(victim);
  memcg_child = 0;
  int status = 0;
  if (trigger != victim && (waitpid(trigger, &status, 0) != trigger || status != 0)) {
    errno = ECANCELED;
    Die("the trigger ended with status %d", status);
  }
  // Who traces may want to read the cgroup's path.
  struct timespec pause = {.tv_nsec = 500000000};
  nanosleep(&pause, NULL);
  printf("victim %d\ntrigger %d\nadj %d\n", victim, trigger, kVictimAdj);
  PrintCgroup(NULL, 0);
  return 0;
}
