#!/usr/bin/env memtrace
// faults.mt: which code touches memory that is not mapped yet, by user stack and command.
//
// Usage: memtrace faults.mt              everything on the machine, until Ctrl-C
//        memtrace -c ./program faults.mt
//
// Counts the kernel's own page-fault event (minor and major, from user and kernel mode), once per fault. A
// fault may map several pages (fault-around, huge pages): faults are not pages.

software:page-faults:1 { @[ustack, comm] = count(); }
