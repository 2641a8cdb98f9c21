// What session_test.cc runs in place of a compiled script; the plan is written there.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "memtrace/record.h"

#define SLOTS 64

struct slot {
  mt_u64 presence;
  mt_u64 value;
};

struct state {
  mt_u32 window;
  mt_u32 pad;
  mt_u64 losses[7];
  struct slot counts[2][SLOTS];  // swapped
  struct slot truth[SLOTS];
} mt_state __attribute__((section(".bss.state"), aligned(8)));

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 4096);
} mt_ring SEC(".maps");

struct record {
  struct mt_record_header header;
  mt_u64 value;
};

enum action { PRINT_NUMBER, EXIT, PRINT_COUNT, CLEAR_COUNT };

static __always_inline void send(enum action action, mt_u64 value) {
  struct record *record = bpf_ringbuf_reserve(&mt_ring, sizeof *record, 0);
  if (!record) {
    __sync_fetch_and_add(&mt_state.losses[0], 1);
    return;
  }
  record->header.action = action;
  record->header.size = sizeof *record;
  record->value = value;
  bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

SEC("mt/raw_tp/begin")
int begin(void *ctx) {
  send(PRINT_NUMBER, 1);
  return 0;
}

SEC("mt/raw_tp/begin_exit")
int begin_exit(void *ctx) {
  send(PRINT_NUMBER, 1);
  send(EXIT, 7);
  send(PRINT_NUMBER, 2);
  return 0;
}

SEC("mt/raw_tp/end")
int end(void *ctx) {
  send(PRINT_NUMBER, 9);
  return 0;
}

// A number that no system call has, so that only the test's workload counts.
SEC("mt/raw_tp/event")
int event(struct bpf_raw_tracepoint_args *ctx) {
  if (ctx->args[1] != 5000) return 0;
  mt_u32 cpu = bpf_get_smp_processor_id() & (SLOTS - 1);
  struct slot *slot = &mt_state.counts[*(volatile mt_u32 *)&mt_state.window & 1][cpu];
  slot->presence = 1;
  __sync_fetch_and_add(&slot->value, 1);
  mt_state.truth[cpu].presence = 1;
  __sync_fetch_and_add(&mt_state.truth[cpu].value, 1);
  return 0;
}

SEC("mt/raw_tp/interval")
int interval(void *ctx) {
  send(PRINT_COUNT, 0);
  send(CLEAR_COUNT, 0);
  return 0;
}

// More than the ring holds.
static int flood_one(mt_u32 i, void *unused) {
  send(PRINT_NUMBER, i);
  return 0;
}

SEC("mt/raw_tp/flood")
int flood(void *ctx) {
  bpf_loop(10000, flood_one, 0, 0);
  return 0;
}

char _license[] SEC("license") = "GPL";
