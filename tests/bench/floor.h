// Shared by the floor's BPF programs and their loader.
#pragma once

// One printf of two fields.
struct event {
  unsigned int pid;
  unsigned int pad;
  unsigned long long address;
};

struct process_key {
  unsigned int pid;
  unsigned int pad;
  char comm[16];
};

enum {
  kHistBuckets = 64,
  kRingSize = 4 << 20,
  kRingWakeup = 256 << 10, /* unread bytes from which the reader is woken */
};
