#!/usr/bin/env memtrace
// brkstack.mt: which code grows the heap with brk, by how many bytes and in how many calls.
//
// Usage: memtrace brkstack.mt            everything on the machine, until Ctrl-C
//        memtrace -c ./program brkstack.mt
//
// Growth is the new break (what brk returned) minus the break before the call, so that brk(0), which
// only asks, does not count, and neither does a refused call. A shrinking heap subtracts.

tracepoint:syscalls:sys_enter_brk { @before[tid] = curtask.mm.brk; }

tracepoint:syscalls:sys_exit_brk /has_key(@before, tid)/ {
  $grown = (int64)args.ret - (int64)@before[tid];
  delete(@before, tid);
  if ($grown != 0) {
    @bytes[ustack, comm] = sum($grown as bytes);
    @calls[ustack, comm] = count();
  }
}

end { clear(@before); }
