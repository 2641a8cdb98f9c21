#!/usr/bin/env memtrace
// watermark.mt: checks of a zone's free pages against a watermark that fail.
//
// Usage: memtrace watermark.mt           every failed check, until Ctrl-C
//        memtrace watermark.mt ZONE      only this zone: DMA, DMA32, Normal, Movable
//
// A line: who checks, the order that is wanted, the mark, what is free, and the lowmem reserve that
// has to stay free for others. `below`: free is not above mark and reserve. `no block`: enough is
// free, but no block of this order. This function is what the kernel asks on its slow paths and for
// orders above 0; an allocation of one page that finds enough does without it. So a line is a failed
// check, and not every crossing of a mark is one.
//
// A kernel without kprobes can't show the check. What it can show is what kswapd finds when it is
// woken because a check failed: the zones of its node that are below their high mark then, and who
// woke it.

begin {
  if (has(fexit:__zone_watermark_ok)) {
    printf("%-8s %7s %-16s %-8s %5s %10s %10s %10s  %s\n",
           "TIME", "PID", "COMM", "ZONE", "ORDER", "MARK", "FREE", "RESERVE", "WHY");
  } else {
    printf("(this kernel has no probe on __zone_watermark_ok: instead of each failed check,\n");
    printf(" these are the zones that kswapd finds below their high mark when it is woken)\n");
    printf("%-8s %4s %-8s %5s %10s %10s %10s %10s %10s\n",
           "TIME", "NODE", "ZONE", "ORDER", "MIN", "LOW", "HIGH", "FREE", "RESERVE");
  }
}

fexit:__zone_watermark_ok
/has(fexit:__zone_watermark_ok) && !retval && ($# == 0 || str(args.z.name, 15) == str($1))/ {
  $reserve = args.z.lowmem_reserve[args.highest_zoneidx];
  printf("%s %7d %-16s %-8s %5d %10s %10s %10s  %s\n",
         strftime("%H:%M:%S", nsecs), pid, comm, str(args.z.name, 15), args.order,
         (args.mark as pages) as bytes, (args.free_pages as pages) as bytes,
         ($reserve as pages) as bytes,
         args.free_pages <= (int64)args.mark + $reserve ? "below" : "no block");
  @failed[str(args.z.name, 15), args.order, comm] = count();
}

// kswapd's thread knows its node: kthread() was given it.
tracepoint:vmscan:mm_vmscan_kswapd_wake /!has(fexit:__zone_watermark_ok)/ {
  $node = (struct pglist_data *)((struct kthread *)curtask.worker_private).data;
  for ($i : 0..4) {
    $zone = (struct zone *)&$node.node_zones[$i];
    $reserve = $zone.lowmem_reserve[args.zid];
    $free = (int64)$zone.vm_stat[NR_FREE_PAGES];
    $high = (int64)$zone._watermark[WMARK_HIGH];
    $is_meant = $# == 0 || str($zone.name, 15) == str($1);
    if ($zone.managed_pages > 0 && $free <= $high + $reserve && $is_meant) {
      printf("%s %4d %-8s %5d %10s %10s %10s %10s %10s\n",
             strftime("%H:%M:%S", nsecs), args.nid, str($zone.name, 15), args.order,
             ($zone._watermark[WMARK_MIN] as pages) as bytes,
             ($zone._watermark[WMARK_LOW] as pages) as bytes, ($high as pages) as bytes,
             ($free as pages) as bytes, ($reserve as pages) as bytes);
      @woken[str($zone.name, 15), args.order] = count();
    }
  }
}

tracepoint:vmscan:mm_vmscan_wakeup_kswapd /!has(fexit:__zone_watermark_ok)/ {
  @woken_by[comm, args.order] = count();
}
