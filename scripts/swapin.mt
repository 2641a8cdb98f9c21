#!/usr/bin/env memtrace
// swapin.mt: which processes wait for pages to be read back from swap, and how many.
//
// Usage: memtrace swapin.mt              each second, until Ctrl-C
//        memtrace swapin.mt SECONDS      at this interval
//        memtrace swapin.mt SECONDS NAME only the command NAME
//
// Counts pages, not calls, in the process that asked for them (what is read ahead for it included): the sum
// over all processes is the growth of pswpin in /proc/vmstat. Where the kernel counts swap-ins by memory
// cgroup with an event, that event is the source; elsewhere the function that reads, which is also called
// for pages that are found compressed in zswap.

tracepoint:memcg:count_memcg_events
/has(tracepoint:memcg:count_memcg_events) && args.item == PSWPIN &&
 ($# < 2 || comm == str($2))/ {
  @pages[comm, pid] = sum(args.val);
}

// Since Linux 6.8 the function takes a folio, which may be several pages.
kprobe:swap_read_folio
/!has(tracepoint:memcg:count_memcg_events) && has(kprobe:swap_read_folio) &&
 ($# < 2 || comm == str($2))/ {
  $pages = (uint64)1;
  if (has(args.folio._folio_nr_pages)) {
    if (args.folio.flags & (1 << PG_head)) { $pages = (uint64)args.folio._folio_nr_pages; }
  }
  @pages[comm, pid] = sum($pages);
}

kprobe:swap_readpage
/!has(tracepoint:memcg:count_memcg_events) && !has(kprobe:swap_read_folio) &&
 ($# < 2 || comm == str($2))/ {
  @pages[comm, pid] = sum(1);
}

interval:s:$1 | interval:s:1 {
  time("%H:%M:%S\n");
  print(@pages);
  clear(@pages);
}
