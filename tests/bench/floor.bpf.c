// What a tracer does per event, written by hand: the floor that generated code is measured against.
//
// Most programs exist twice, on the raw tracepoint (raw_NAME) and on the classic one (perf_NAME) of
// user page faults. The loader (floor.c) loads only those that its mode names.
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>

#include "floor.h"

typedef __u32 u32;
typedef __u64 u64;

char LICENSE[] SEC("license") = "GPL";

// The record of exceptions:page_fault_user.
struct page_fault {
  u64 common;
  u64 address;
  u64 ip;
  u64 error_code;
};

// The record of syscalls:sys_enter_*.
struct sys_enter {
  u64 common;
  u64 number;
  u64 arguments[6];
};

// Defines raw_NAME and perf_NAME; BODY is an expression of `address` and `error_code`.
#define ON_PAGE_FAULT(NAME, BODY)                             \
  SEC("raw_tp/page_fault_user")                               \
  int raw_##NAME(struct bpf_raw_tracepoint_args *ctx) {       \
    u64 address = ctx->args[0], error_code = ctx->args[2];    \
    (void)address, (void)error_code;                          \
    BODY;                                                     \
    return 0;                                                 \
  }                                                           \
  SEC("tracepoint/exceptions/page_fault_user")                \
  int perf_##NAME(struct page_fault *ctx) {                   \
    u64 address = ctx->address, error_code = ctx->error_code; \
    (void)address, (void)error_code;                          \
    BODY;                                                     \
    return 0;                                                 \
  }

ON_PAGE_FAULT(empty, (void)0)

// ---- Without a key ----------------------------------------------------------------------------

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, u64);
} total SEC(".maps");

static __always_inline void add_total(u64 amount) {
  u32 zero = 0;
  u64 *slot = bpf_map_lookup_elem(&total, &zero);
  if (slot) *slot += amount;
}

ON_PAGE_FAULT(count, add_total(1))
ON_PAGE_FAULT(sum, add_total(error_code))

// The same without a look-up: one slot per CPU in global memory, and atomic, because an interrupt's
// program may come between load and store.
struct {
  u64 value;
  u64 pad[7];
} slots[128];

ON_PAGE_FAULT(count_global, __sync_fetch_and_add(&slots[bpf_get_smp_processor_id() & 127].value, 1))

struct hist {
  u64 buckets[kHistBuckets];
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct hist);
} histogram SEC(".maps");

static __always_inline u32 log2_bucket(u64 value) {
  u32 bits = 0;
  if (value >> 32) bits += 32, value >>= 32;
  if (value >> 16) bits += 16, value >>= 16;
  if (value >> 8) bits += 8, value >>= 8;
  if (value >> 4) bits += 4, value >>= 4;
  if (value >> 2) bits += 2, value >>= 2;
  if (value >> 1) bits += 1;
  return bits;
}

static __always_inline void add_hist(u64 value) {
  u32 zero = 0;
  struct hist *hist = bpf_map_lookup_elem(&histogram, &zero);
  if (hist) hist->buckets[log2_bucket(value) & (kHistBuckets - 1)]++;
}

ON_PAGE_FAULT(hist, add_hist(address))

// ---- With a key -------------------------------------------------------------------------------

#define COUNTS(NAME, KEY)                   \
  struct {                                  \
    __uint(type, BPF_MAP_TYPE_PERCPU_HASH); \
    __uint(max_entries, 4096);              \
    __type(key, KEY);                       \
    __type(value, u64);                     \
  } NAME SEC(".maps")

static __always_inline void add_one(void *map, const void *key) {
  u64 *slot = bpf_map_lookup_elem(map, key);
  if (slot) {
    *slot += 1;
    return;
  }
  u64 one = 1;
  if (bpf_map_update_elem(map, key, &one, BPF_NOEXIST) != 0) {
    // Another CPU was first, or the map is full.
    slot = bpf_map_lookup_elem(map, key);
    if (slot) *slot += 1;
  }
}

struct comm_key {
  char comm[16];
};

COUNTS(by_comm, struct comm_key);

static __always_inline void count_comm(void) {
  struct comm_key key = {};
  bpf_get_current_comm(key.comm, sizeof key.comm);
  add_one(&by_comm, &key);
}

ON_PAGE_FAULT(comm, count_comm())

COUNTS(by_process, struct process_key);

static __always_inline void count_process(void) {
  struct process_key key = {.pid = bpf_get_current_pid_tgid() >> 32};
  bpf_get_current_comm(key.comm, sizeof key.comm);
  add_one(&by_process, &key);
}

ON_PAGE_FAULT(pid_comm, count_process())

struct stack {
  u64 frames[127];
};

struct {
  __uint(type, BPF_MAP_TYPE_STACK_TRACE);
  __uint(max_entries, 16384);
  __type(key, u32);
  __type(value, struct stack);
} stacks SEC(".maps");

COUNTS(by_stack, u32);

static __always_inline void count_stack(void *ctx, u64 flags) {
  u32 stack = bpf_get_stackid(ctx, &stacks, flags);
  add_one(&by_stack, &stack);
}

ON_PAGE_FAULT(kstack, count_stack(ctx, 0))
ON_PAGE_FAULT(ustack, count_stack(ctx, BPF_F_USER_STACK))

// ---- Records ----------------------------------------------------------------------------------

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, kRingSize);
} ring SEC(".maps");

u64 dropped;

// The reader is woken when the unread bytes pass kRingWakeup; otherwise it looks by itself now and
// then. Not by every record above that: until the reader runs there may be thousands, and each
// wake-up costs more than the record. The window is wide enough for several CPUs to pass it at
// once.
static __always_inline u64 wake_by_watermark(void) {
  u64 unread = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
  return unread - kRingWakeup < kRingWindow ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

static __always_inline void send(u64 address, u64 flags) {
  struct event *event = bpf_ringbuf_reserve(&ring, sizeof *event, 0);
  if (!event) {
    __sync_fetch_and_add(&dropped, 1);
    return;
  }
  event->pid = bpf_get_current_pid_tgid() >> 32;
  event->pad = 0;
  event->address = address;
  bpf_ringbuf_submit(event, flags);
}

ON_PAGE_FAULT(printf, send(address, wake_by_watermark()))
ON_PAGE_FAULT(printf_wake, send(address, 0))

// The same for the system call that tests/workloads/pace makes.
#define GETPPID 110 /* x86-64 */

static __always_inline bool is_pace(void) {
  union {
    char comm[16];
    u64 word;
  } name = {};
  bpf_get_current_comm(name.comm, sizeof name.comm);
  return name.word == 0x65636170; /* "pace" and zeros */
}

SEC("raw_tp/sys_enter")
int raw_getppid(struct bpf_raw_tracepoint_args *ctx) {
  if (ctx->args[1] == GETPPID && is_pace()) send(ctx->args[1], wake_by_watermark());
  return 0;
}

SEC("raw_tp/sys_enter")
int raw_getppid_wake(struct bpf_raw_tracepoint_args *ctx) {
  if (ctx->args[1] == GETPPID && is_pace()) send(ctx->args[1], 0);
  return 0;
}

// ---- Pairs of enter and exit ------------------------------------------------------------------

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 4096);
  __type(key, u32);
  __type(value, u64);
} begun SEC(".maps");

static __always_inline void begin_call(void) {
  u32 tid = bpf_get_current_pid_tgid();
  u64 now = bpf_ktime_get_ns();
  bpf_map_update_elem(&begun, &tid, &now, BPF_ANY);
}

static __always_inline void end_call(void) {
  u32 tid = bpf_get_current_pid_tgid();
  u64 *start = bpf_map_lookup_elem(&begun, &tid);
  if (!start) return;
  add_hist(bpf_ktime_get_ns() - *start);
  bpf_map_delete_elem(&begun, &tid);
}

SEC("raw_tp/sys_enter")
int raw_latency_enter(struct bpf_raw_tracepoint_args *ctx) {
  if (ctx->args[1] == GETPPID) begin_call();
  return 0;
}

SEC("raw_tp/sys_exit")
int raw_latency_exit(void *ctx) {
  end_call();
  return 0;
}

SEC("tracepoint/syscalls/sys_enter_getppid")
int perf_latency_enter(void *ctx) {
  begin_call();
  return 0;
}

SEC("tracepoint/syscalls/sys_exit_getppid")
int perf_latency_exit(void *ctx) {
  end_call();
  return 0;
}

struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, u64);
} begun_by_task SEC(".maps");

SEC("raw_tp/sys_enter")
int raw_storage_enter(struct bpf_raw_tracepoint_args *ctx) {
  if (ctx->args[1] != GETPPID) return 0;
  u64 *start = bpf_task_storage_get(&begun_by_task, bpf_get_current_task_btf(), 0,
                                    BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (start) *start = bpf_ktime_get_ns();
  return 0;
}

SEC("raw_tp/sys_exit")
int raw_storage_exit(struct bpf_raw_tracepoint_args *ctx) {
  u64 *start = bpf_task_storage_get(&begun_by_task, bpf_get_current_task_btf(), 0, 0);
  if (!start || *start == 0) return 0;
  add_hist(bpf_ktime_get_ns() - *start);
  *start = 0;
  return 0;
}

// ---- Many events with one program -------------------------------------------------------------

u64 wanted[16] = {[0 ... 15] = ~0ull};  // a bit per system call number: all

SEC("raw_tp/sys_enter")
int raw_sys_enter(struct bpf_raw_tracepoint_args *ctx) {
  u64 number = ctx->args[1];
  if (number < 1024 && (wanted[number / 64] >> (number % 64) & 1)) add_total(1);
  return 0;
}

SEC("tracepoint")
int perf_any(void *ctx) {
  add_total(1);
  return 0;
}

// ---- A map with many keys ---------------------------------------------------------------------

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 4096); /* the loader says how many */
  __type(key, u32);
  __type(value, u64);
} by_argument SEC(".maps");

#define GETPGID 121        /* x86-64 */
#define FIRST_ARGUMENT 112 /* offsetof(struct pt_regs, di) */

static __always_inline void count_argument(u32 key) {
  u64 *slot = bpf_map_lookup_elem(&by_argument, &key);
  if (slot) {
    __sync_fetch_and_add(slot, 1);
    return;
  }
  u64 one = 1;
  bpf_map_update_elem(&by_argument, &key, &one, BPF_NOEXIST);
}

SEC("raw_tp/sys_enter")
int raw_keys(struct bpf_raw_tracepoint_args *ctx) {
  u32 key = 0;
  if (ctx->args[1] != GETPGID) return 0;
  bpf_probe_read_kernel(&key, sizeof key, (void *)(ctx->args[0] + FIRST_ARGUMENT));
  count_argument(key);
  return 0;
}

SEC("tracepoint/syscalls/sys_enter_getpgid")
int perf_keys(struct sys_enter *ctx) {
  count_argument(ctx->arguments[0]);
  return 0;
}
