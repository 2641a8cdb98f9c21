#!/usr/bin/env memtrace
// hfaults.mt: faults on huge pages of hugetlb, by process and page size, with the pool they come from.
//
// Usage: memtrace hfaults.mt                  everything on the machine; printed at Ctrl-C
//        memtrace hfaults.mt SECONDS          and each SECONDS anew
//        memtrace hfaults.mt SECONDS NAME     only the command NAME; SECONDS 0: at the end
//
// @hugetlb: faults by command, process and page size. @pool: by page size, the state of the pool at
//   the last fault. Transparent huge pages (THP) are something else and come from no pool:
// @thp: faults that were served with one; "fallback" are those that wanted one and got small pages,
//   which not every kernel tells.
//
// Where the kernel lets a probe onto hugetlb_fault, that is the source: a fault counts when it is
// done, an attempt that is made again does not, @failed are those that ended in a signal, and the
// pool is the one after the fault. Elsewhere the source is the page fault itself and the mapping it
// hit: the pool is that before the fault, and faults that fail count, too. @busy are then faults that
// may have been on huge pages: a thread was changing the mappings.

fexit:hugetlb_fault
/has(fexit:hugetlb_fault) && (retval & VM_FAULT_RETRY) == 0 && ($# < 2 || comm == str($2))/ {
  $pool = ((struct hugetlbfs_sb_info *)args.vma.vm_file.f_inode.i_sb.s_fs_info).hstate;
  $size = (((uint64)1 << $pool.order) as pages) as bytes;
  if (retval & (VM_FAULT_SIGBUS | VM_FAULT_OOM | VM_FAULT_SIGSEGV)) {
    @failed[comm, pid, $size] = count();
  } else {
    @hugetlb[comm, pid, $size] = count();
  }
  @pool[$size] = (total = $pool.nr_huge_pages, free = $pool.free_huge_pages,
                  reserved = $pool.resv_huge_pages, surplus = $pool.surplus_huge_pages);
}

tracepoint:exceptions:page_fault_user, tracepoint:exceptions:page_fault_kernel
/!has(fexit:hugetlb_fault) && ($# < 2 || comm == str($2))/ {
  $vma = find_vma(args.address);
  if (is_err($vma)) {
    @busy[comm, pid] = count();
  } else if ($vma != 0) {
    if ($vma.vm_flags & 0x400000) {  // VM_HUGETLB
      $pool = ((struct hugetlbfs_sb_info *)$vma.vm_file.f_inode.i_sb.s_fs_info).hstate;
      $size = (((uint64)1 << $pool.order) as pages) as bytes;
      @hugetlb[comm, pid, $size] = count();
      @pool[$size] = (total = $pool.nr_huge_pages, free = $pool.free_huge_pages,
                      reserved = $pool.resv_huge_pages, surplus = $pool.surplus_huge_pages);
    }
  }
}

fexit:do_huge_pmd_anonymous_page
/has(fexit:do_huge_pmd_anonymous_page) && ($# < 2 || comm == str($2))/ {
  if (retval & VM_FAULT_FALLBACK) {
    @thp[comm, pid, "fallback"] = count();
  } else {
    @thp[comm, pid, "huge"] = count();
  }
}

tracepoint:memcg:count_memcg_events
/!has(fexit:do_huge_pmd_anonymous_page) && has(tracepoint:memcg:count_memcg_events) &&
 args.item == THP_FAULT_ALLOC && ($# < 2 || comm == str($2))/ {
  @thp[comm, pid, "huge"] = count();
}

interval:s:$1? {
  time("%H:%M:%S\n");
  print(@hugetlb);
  print(@pool);
  clear(@hugetlb);
}
