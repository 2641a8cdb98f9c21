// What runtime_test.cc loads in place of a compiled script. The layout of mt_state is repeated
// there.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "memtrace/record.h"

#define SLOTS 64
#define SLOT_SIZE 16
#define COPY_SIZE (SLOTS * SLOT_SIZE)

struct slot {
  mt_u64 presence;
  mt_u64 value;
};

// One variable, as the compiler emits it; its parts.
struct state {
  mt_u32 window;
  mt_u32 pad;
  mt_u64 losses[2];
  mt_u64 pad2[5];
  struct slot counts[2][SLOTS];  // swapped
  struct slot truth[SLOTS];      // the same events, never swapped
  struct slot scalar;
} mt_state __attribute__((section(".bss.state"), aligned(8)));

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 4096);
} mt_ring SEC(".maps");

#define HASH_MAP(map_name, map_type, entries, key_type, value_type) \
  struct {                                                          \
    __uint(type, map_type);                                         \
    __uint(max_entries, entries);                                   \
    __type(key, key_type);                                          \
    __type(value, value_type);                                      \
  } map_name SEC(".maps")

HASH_MAP(big, BPF_MAP_TYPE_HASH, 16384, mt_u64, mt_u64);
HASH_MAP(per_cpu, BPF_MAP_TYPE_PERCPU_HASH, 128, mt_u32, mt_u32);
HASH_MAP(keys_0, BPF_MAP_TYPE_HASH, 1024, mt_u64, mt_u64);
HASH_MAP(keys_1, BPF_MAP_TYPE_HASH, 1024, mt_u64, mt_u64);
HASH_MAP(mt_stacks, BPF_MAP_TYPE_HASH, 16, mt_u64, struct mt_stack_entry);

static __always_inline void add_keyed(void *map, mt_u64 key) {
  mt_u64 zero = 0;
  mt_u64 *value = bpf_map_lookup_elem(map, &key);
  if (!value) {
    bpf_map_update_elem(map, &key, &zero, BPF_NOEXIST);
    value = bpf_map_lookup_elem(map, &key);
  }
  if (value) __sync_fetch_and_add(value, 1);
}

// Counts an event in the current window, keyless and keyed, and in the truth.
SEC("mt/raw_tp/count_event")
int count_event(void *ctx) {
  mt_u32 cpu = bpf_get_smp_processor_id() & (SLOTS - 1);
  mt_u32 window = *(volatile mt_u32 *)&mt_state.window & 1;
  struct slot *slot = &mt_state.counts[window][cpu];
  slot->presence = 1;
  __sync_fetch_and_add(&slot->value, 1);
  add_keyed(window ? (void *)&keys_1 : (void *)&keys_0, bpf_get_current_pid_tgid() & 63);
  __sync_fetch_and_add(&mt_state.truth[cpu].value, 1);
  mt_state.truth[cpu].presence = 1;
  return 0;
}

// bpf_loop, because the verifier would walk through ten thousand rounds of a plain loop.
static int fill_big(mt_u64 i, void *unused) {
  mt_u64 value = i * 3;
  bpf_map_update_elem(&big, &i, &value, BPF_ANY);
  return 0;
}

static int fill_per_cpu(mt_u32 i, void *unused) {
  bpf_map_update_elem(&per_cpu, &i, &i, BPF_ANY);
  return 0;
}

SEC("mt/raw_tp/fill")
int fill(void *ctx) {
  bpf_loop(10000, fill_big, 0, 0);
  bpf_loop(100, fill_per_cpu, 0, 0);
  return 0;
}

struct numbered {
  struct mt_record_header header;
  mt_u64 number;
};

static mt_u64 next_number;

static int emit_one(mt_u32 i, void *unused) {
  struct numbered *record = bpf_ringbuf_reserve(&mt_ring, sizeof *record, 0);
  if (!record) {
    __sync_fetch_and_add(&mt_state.losses[0], 1);
    return 0;
  }
  record->header.action = 0;
  record->header.size = sizeof *record;
  record->number = __sync_fetch_and_add(&next_number, 1);
  if (i % 10 == 9) {
    bpf_ringbuf_discard(record, BPF_RB_NO_WAKEUP);
  } else {
    bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
  }
  return 0;
}

// 1,000 records, every tenth of which is discarded; what does not fit is counted.
SEC("mt/raw_tp/emit")
int emit(void *ctx) {
  bpf_loop(1000, emit_one, 0, 0);
  return 0;
}

SEC("mt/raw_tp/set_scalar")
int set_scalar(void *ctx) {
  mt_state.scalar.presence = 1;
  mt_state.scalar.value = 42;
  mt_u64 hash = 7;
  static struct mt_stack_entry entry;
  entry.count = 2;
  entry.frames[0] = 0x1000;
  entry.frames[1] = 0x2000;
  bpf_map_update_elem(&mt_stacks, &hash, &entry, BPF_ANY);
  return 0;
}

// The same hook as a typed program; the loader gives it the BTF id of btf_trace_sys_enter.
SEC("mt/tracing/typed_event")
int typed_event(void *ctx) {
  mt_u32 cpu = bpf_get_smp_processor_id() & (SLOTS - 1);
  __sync_fetch_and_add(&mt_state.truth[cpu].value, 1);
  mt_state.truth[cpu].presence = 1;
  return 0;
}

SEC("mt/perf_event/sample")
int sample(void *ctx) {
  __sync_fetch_and_add(&mt_state.scalar.value, 1);
  mt_state.scalar.presence = 1;
  return 0;
}

char _license[] SEC("license") = "GPL";
