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
  kRingWakeup = 256 << 10, /* unread bytes at which the reader is woken */
  kRingWindow = 4 << 10,   /* bytes after that point during which it is */
};
