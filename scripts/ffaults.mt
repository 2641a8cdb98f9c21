#!/usr/bin/env memtrace
// ffaults.mt: page faults by command and by the file whose mapping they hit.
//
// Usage: memtrace ffaults.mt                  everything on the machine; printed at Ctrl-C
//        memtrace ffaults.mt SECONDS          and each SECONDS anew
//        memtrace ffaults.mt SECONDS NAME     only the command NAME; SECONDS 0: at the end
//        memtrace -c ./program ffaults.mt
//
// @faults: faults, of programs and of the kernel on their behalf, each once. Memory without a file is
//   [heap] (brk), [stack], [anon], [shmem] (shared between processes; memfd, System V) or [hugetlb]; also
//   [special] (vdso and its like), [unmapped] (ends in a signal, if no handler mends it) and [vma busy]: a
//   thread was changing the mappings at that moment, so that the kernel would not say what lies there.
// @around: pages of the ranges around faults that the kernel mapped as far as the page cache had them: 16 at a
//   fault as a rule. Pages touched are not faults, and this is most of the difference. (Since Linux 6.18 a
//   large folio is mapped whole, beyond this range.)

tracepoint:exceptions:page_fault_user, tracepoint:exceptions:page_fault_kernel
/$# < 2 || comm == str($2)/ {
  $vma = find_vma(args.address);
  let $file : string[64] = "[anon]";
  if (is_err($vma)) {
    $file = "[vma busy]";
  } else if ($vma == 0) {
    // A stack grows by faults below its mapping.
    $stack = curtask.mm.start_stack;
    $file = args.address < $stack && args.address + 8MiB >= $stack ? "[stack]" : "[unmapped]";
  } else if ($vma.vm_flags & 0x400000) {  // VM_HUGETLB
    $file = "[hugetlb]";
  } else if ($vma.vm_file != 0) {
    // TMPFS_MAGIC, mounted by the kernel for itself (SB_KERNMOUNT).
    $super = $vma.vm_file.f_inode.i_sb;
    if ($super.s_magic == 0x01021994 && ($super.s_flags & (1 << 22)) != 0) {
      $file = "[shmem]";
    } else {
      $file = str($vma.vm_file.f_path.dentry.d_name.name, 63);
    }
  } else if ($vma.vm_ops != 0) {
    $file = "[special]";
  } else {
    $mm = $vma.vm_mm;
    if ($vma.vm_start < $mm.brk && $vma.vm_end > $mm.start_brk) {
      $file = "[heap]";
    } else if ($vma.vm_start <= $mm.start_stack && $vma.vm_end >= $mm.start_stack) {
      $file = "[stack]";
    }
  }
  @faults[comm, $file] = count();
}

rawtracepoint:mm_filemap_map_pages
/has(rawtracepoint:mm_filemap_map_pages) && ($# < 2 || comm == str($2))/ {
  $inode = ((struct address_space *)arg0).host;
  $dentry = (struct dentry *)((uint64)$inode.i_dentry.first - offsetof(struct dentry, d_u.d_alias));
  @around[comm, str($dentry.d_name.name, 63)] = sum(arg2 - arg1 + 1);
}

kprobe:filemap_map_pages
/!has(rawtracepoint:mm_filemap_map_pages) && has(kprobe:filemap_map_pages) &&
 ($# < 2 || comm == str($2))/ {
  @around[comm, str(args.vmf.vma.vm_file.f_path.dentry.d_name.name, 63)] =
      sum(args.end_pgoff - args.start_pgoff + 1);
}

interval:s:$1? {
  time("%H:%M:%S\n");
  print(@faults);
  print(@around);
  clear(@faults);
  clear(@around);
}
