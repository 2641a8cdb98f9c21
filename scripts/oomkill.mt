#!/usr/bin/env memtrace
// oomkill.mt: who was killed for lack of memory, for whose sake, and whose limit it was.
//
// Usage: memtrace oomkill.mt             every kill, until Ctrl-C
//        memtrace oomkill.mt NAME        only victims whose command is NAME
//        memtrace --raw oomkill.mt       sizes as plain bytes
//
// VICTIM is who dies: thread id and command, oom_score_adj, virtual size and what is resident of it, by
// kind. TRIGGER is who asked for the page that was not there; the two are often different. LOAD is read
// when the line is printed.
//
// The second line tells of the memory cgroup. With a limit, its owner had no page left below it, and the
// machine may have plenty; without one, the machine itself ran out. Where the kernel lets a probe onto
// oom_kill_process, gfp mask, order, constraint and the victim's points follow, and the owner of the limit
// is what the kernel says; elsewhere it is the nearest cgroup above the victim that is full, within the 64
// pages that a charge may ask for at once.

begin {
  printf("%-8s %-24s %5s %10s %10s %10s %10s  %-24s %s\n",
         "TIME", "VICTIM", "ADJ", "TOTAL-VM", "ANON", "FILE", "SHMEM", "TRIGGER", "LOAD");
  if (!has(kprobe:oom_kill_process)) {
    printf("(gfp, order, constraint and points need a kprobe, which this kernel does not have)\n");
  }
}

kprobe:oom_kill_process /has(kprobe:oom_kill_process)/ { @request[tid] = args.oc; }

// The event's own arguments do not say in which cgroup the victim is. This runs before the clause below,
// because it is attached before it; that it is about the same kill is checked there.
rawtracepoint:mark_victim { @victim[tid] = (struct task_struct *)arg0; }

tracepoint:oom:mark_victim /$# == 0 || args.comm == str($1)/ {
  printf("%s %7d %-16s %5d %10s %10s %10s %10s  %7d %-16s %s\n",
         strftime("%H:%M:%S", nsecs), args.pid, args.comm, args.oom_score_adj,
         (args.total_vm * 1024) as bytes, (args.anon_rss * 1024) as bytes, (args.file_rss * 1024) as bytes,
         (args.shmem_rss * 1024) as bytes, pid, comm, loadavg);
  $victim = @victim[tid];
  if ($victim != 0 && $victim.pid == args.pid) {
    $full = (struct mem_cgroup *)0;
    if (has(kprobe:oom_kill_process)) {
      $request = @request[tid];
      if ($request != 0) { $full = $request.memcg; }
    } else {
      $memcg = (struct mem_cgroup *)$victim.cgroups.subsys[memory_cgrp_id];
      unroll (8) {
        if ($full == 0 && $memcg != 0) {
          if ($memcg.memory.usage.counter + 64 >= (int64)$memcg.memory.max) { $full = $memcg; }
          $memcg = (struct mem_cgroup *)$memcg.css.parent;
        }
      }
    }
    printf("         memcg %s", memcg_path($victim.cgroups.subsys[memory_cgrp_id].cgroup.kn.id));
    if ($full != 0) {
      printf(", limit %s of %s, usage %s", ($full.memory.max as pages) as bytes,
             memcg_path($full.css.cgroup.kn.id), ($full.memory.usage.counter as pages) as bytes);
    } else {
      printf(", no limit: the machine is out of memory");
    }
    if (has(kprobe:oom_kill_process)) {
      $oc = @request[tid];
      if ($oc != 0) {
        printf(", gfp 0x%x, order %d, %s, points %d",
               $oc.gfp_mask, $oc.order, $oc.constraint, $oc.chosen_points);
      }
    }
    printf("\n");
  }
  delete(@victim, tid);
}

end {
  clear(@victim);
  if (has(kprobe:oom_kill_process)) { clear(@request); }
}
