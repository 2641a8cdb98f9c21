#!/usr/bin/env memtrace
// extfrag.mt: allocations that took pages of another migrate type, per CPU and types.
//
// Usage: memtrace extfrag.mt             until Ctrl-C
//
// @fragmenting: less than a whole page block was taken: types are now mixed in one block, which is what external
//               fragmentation is made of.
// @whole_block: at least a whole block was taken and changes its owner: the harmless kind.
// Keys: CPU, type that was wanted, type that was taken from. Orders count pages as powers of two; a block
// is of order 9 (2 MiB) where `Page block order` in /proc/pagetypeinfo says 9.

tracepoint:kmem:mm_page_alloc_extfrag {
  $wanted = (enum migratetype)args.alloc_migratetype;
  $taken = (enum migratetype)args.fallback_migratetype;
  if (args.fallback_order < 9) {
    @fragmenting[cpu, $wanted, $taken] = count();
    @order = lhist(args.fallback_order, 0, 11, 1);
  } else {
    @whole_block[cpu, $wanted, $taken] = count();
  }
}
