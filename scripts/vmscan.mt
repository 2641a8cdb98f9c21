#!/usr/bin/env memtrace
// vmscan.mt: what reclaim is doing, each second, and how long it takes.
//
// Usage: memtrace vmscan.mt
//
// Columns, all of the last second:
//   SLAB-ms     time in slab shrinkers, wherever they were called from
//   DIRECT-ms   time in direct reclaim (the machine is short), without the slab shrinkers inside it
//   MEMCG-ms    time in memory cgroup reclaim (a container's limit), without the slab shrinkers inside it
//   KSWAPD      times kswapd woke and balanced a node (/proc/vmstat: pageoutrun)
//   REQUESTS    times somebody asked for kswapd; it may be awake already, so this is not KSWAPD
//   WRITTEN     pages and folios that reclaim wrote out
// The three times add up: no moment is counted twice. Histograms of whole calls follow at the end.

begin {
  printf("%-8s %10s %10s %10s %8s %9s %9s\n",
         "TIME", "SLAB-ms", "DIRECT-ms", "MEMCG-ms", "KSWAPD", "REQUESTS", "WRITTEN");
}

tracepoint:vmscan:mm_shrink_slab_start { @slab_start[tid] = nsecs; }

tracepoint:vmscan:mm_shrink_slab_end /has_key(@slab_start, tid)/ {
  $took = nsecs - @slab_start[tid];
  delete(@slab_start, tid);
  @slab_ns = sum($took);
  @slab = hist($took as ns);
  if (has_key(@reclaim_start, tid)) {
    @slab_inside[tid] += $took;
  }
}

tracepoint:vmscan:mm_vmscan_direct_reclaim_begin,
tracepoint:vmscan:mm_vmscan_memcg_reclaim_begin {
  @reclaim_start[tid] = nsecs;
}

tracepoint:vmscan:mm_vmscan_direct_reclaim_end /has_key(@reclaim_start, tid)/ {
  $took = nsecs - @reclaim_start[tid];
  @direct_ns = sum($took - @slab_inside[tid]);
  @direct_reclaim = hist($took as ns);
  delete(@reclaim_start, tid);
  delete(@slab_inside, tid);
}

tracepoint:vmscan:mm_vmscan_memcg_reclaim_end /has_key(@reclaim_start, tid)/ {
  $took = nsecs - @reclaim_start[tid];
  @memcg_ns = sum($took - @slab_inside[tid]);
  @memcg_reclaim = hist($took as ns);
  delete(@reclaim_start, tid);
  delete(@slab_inside, tid);
}

tracepoint:vmscan:mm_vmscan_kswapd_wake { @wakes = count(); }
tracepoint:vmscan:mm_vmscan_wakeup_kswapd { @requests = count(); }
tracepoint:vmscan:mm_vmscan_write_folio | tracepoint:vmscan:mm_vmscan_writepage { @written = count(); }

interval:1s {
  time("%H:%M:%S ");
  printf("%10d %10d %10d %8d %9d %9d\n",
         @slab_ns / 1000000, @direct_ns / 1000000, @memcg_ns / 1000000, @wakes, @requests, @written);
  clear(@slab_ns);
  clear(@direct_ns);
  clear(@memcg_ns);
  clear(@wakes);
  clear(@requests);
  clear(@written);
}

end {
  clear(@slab_start);
  clear(@slab_inside);
  clear(@reclaim_start);
  clear(@slab_ns);
  clear(@direct_ns);
  clear(@memcg_ns);
  clear(@wakes);
  clear(@requests);
  clear(@written);
}
