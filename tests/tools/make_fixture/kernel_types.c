/*
 * The types of the fixture's kernel, "6.18.0-fixture": a few of Linux's structures, shortened to what the
 * tests use, with the shapes that are hard to read (members without a name, bitfields, one-field wrappers,
 * forward declarations, arrays, names of types). make_fixture compiles this for its debug information; no
 * code of it ever runs.
 */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;
typedef _Bool bool;
typedef int pid_t;
typedef unsigned int gfp_t;
typedef unsigned int dev_t;
typedef unsigned short umode_t;
typedef unsigned long vm_flags_t;
typedef unsigned long size_t;
typedef unsigned int uid_t;
typedef struct { uid_t val; } kuid_t;
typedef struct { int counter; } atomic_t;
typedef struct { s64 counter; } atomic64_t;
typedef atomic64_t atomic_long_t;
typedef struct { unsigned long __mm_flags[1]; } mm_flags_t;
typedef struct { unsigned long f; } memdesc_flags_t;

enum zone_type { ZONE_DMA, ZONE_DMA32, ZONE_NORMAL, ZONE_MOVABLE, ZONE_DEVICE, __MAX_NR_ZONES };
enum migratetype {
  MIGRATE_UNMOVABLE, MIGRATE_MOVABLE, MIGRATE_RECLAIMABLE, MIGRATE_PCPTYPES,
  MIGRATE_HIGHATOMIC = MIGRATE_PCPTYPES, MIGRATE_ISOLATE, MIGRATE_TYPES,
};
enum pageflags { PG_locked, PG_writeback, PG_referenced, PG_uptodate, PG_dirty, PG_lru, PG_head };
enum vm_event_item {
  PGPGIN, PGPGOUT, PSWPIN, PSWPOUT, PGALLOC_DMA, PGALLOC_DMA32, PGALLOC_NORMAL, PGALLOC_MOVABLE,
  PGFREE, PGACTIVATE, PGDEACTIVATE, PGFAULT, PGMAJFAULT, PGREFILL, PGSTEAL_KSWAPD, PGSTEAL_DIRECT,
  PGSCAN_KSWAPD, PGSCAN_DIRECT, OOM_KILL, THP_FAULT_ALLOC, NR_VM_EVENT_ITEMS,
};
enum lru_list { LRU_INACTIVE_ANON, LRU_ACTIVE_ANON, LRU_INACTIVE_FILE, LRU_ACTIVE_FILE, LRU_UNEVICTABLE };
enum signed_values { VALUE_MINUS_ONE = -1, VALUE_ZERO = 0, VALUE_ONE = 1 };
enum wide_values { VALUE_BIT_40 = 1ULL << 40, VALUE_WIDE_ONE = 1 };

struct list_head { struct list_head *next, *prev; };
struct file { unsigned int f_flags; struct path *f_path; };
struct qstr { union { struct { u32 hash, len; }; u64 hash_len; }; const unsigned char *name; };
struct dentry { struct dentry *d_parent; struct qstr d_name; };

struct mm_struct {
  struct {
    struct { atomic_t mm_count; };
    void *pgd;
    atomic_t mm_users;
    unsigned long hiwater_rss, total_vm, locked_vm;
    unsigned long start_code, end_code, start_brk, brk, start_stack;
    mm_flags_t flags;
    struct task_struct *owner;
    atomic_long_t rss_stat[4];
  };
  unsigned long cpu_bitmap[];
};

struct vm_area_struct {
  union {
    struct { unsigned long vm_start, vm_end; };
    u64 vm_freeptr;
  };
  struct mm_struct *vm_mm;
  union { const vm_flags_t vm_flags; vm_flags_t __vm_flags; };
  unsigned long vm_pgoff;
  struct file *vm_file;
};

struct thread_info { unsigned long flags; u32 cpu; };
struct signal_struct { short oom_score_adj; bool oom_mm_set; };
struct cred { kuid_t uid, euid; };

struct task_struct {
  struct thread_info thread_info;
  unsigned int __state;
  unsigned int flags;
  int prio;
  union { unsigned int rcu_bits; struct { u8 need_qs; u8 blocked; } special; };
  struct mm_struct *mm, *active_mm;
  int exit_code;
  unsigned in_execve : 1;
  unsigned in_iowait : 1;
  unsigned sched_policy : 5;
  int : 0;
  unsigned reclaim_depth : 12;
  unsigned memcg_oom_order : 10;
  pid_t pid, tgid;
  struct task_struct *real_parent, *parent;
  struct list_head children;
  u64 start_time;
  const struct cred *cred;
  char comm[16];
  struct signal_struct *signal;
  unsigned long numa_faults[2][4];
  char names[3][8];
  void (*notify)(struct task_struct *, int);
  struct css_set *cgroups;
  struct audit_context *audit_context; /* never defined: stays incomplete */
};

enum cgroup_subsys_id { cpu_cgrp_id, memory_cgrp_id, CGROUP_SUBSYS_COUNT };
struct kernfs_node { int count; struct kernfs_node *parent; u64 id; };
struct cgroup_subsys_state { struct cgroup *cgroup; void *ss; struct cgroup_subsys_state *parent; };
struct cgroup { struct cgroup_subsys_state self; unsigned long flags; int level; struct kernfs_node *kn; };
struct css_set { struct cgroup_subsys_state *subsys[CGROUP_SUBSYS_COUNT]; int refcount; struct cgroup *dfl_cgrp; };
struct seq_file { char *buf; unsigned long size; };
struct bpf_iter_meta { struct seq_file *seq; u64 session_id, seq_num; };

struct free_area { struct list_head free_list[MIGRATE_TYPES]; unsigned long nr_free; };
struct zone {
  unsigned long _watermark[4];
  long lowmem_reserve[__MAX_NR_ZONES];
  int node;
  struct pglist_data *zone_pgdat;
  const char *name;
  struct free_area free_area[11];
};
struct pglist_data { struct zone node_zones[__MAX_NR_ZONES]; int node_id; };
struct page {
  memdesc_flags_t flags;
  union { struct { struct list_head lru; void *mapping; unsigned long index; }; unsigned long dma_addr; };
  atomic_t _mapcount, _refcount;
};
struct folio {
  union { struct { memdesc_flags_t flags; struct list_head lru; void *mapping; unsigned long index; };
          struct page page; };
};
struct pt_regs {
  unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip;
  u16 cs; /* the kernel has a union here */
  unsigned long flags, sp, ss;
};
struct kmem_cache { unsigned int size, object_size; const char *name; };
struct shrink_control { gfp_t gfp_mask; int nid; unsigned long nr_to_scan; };
struct shrinker {
  unsigned long (*count_objects)(struct shrinker *, struct shrink_control *);
  unsigned long (*scan_objects)(struct shrinker *, struct shrink_control *);
  long batch;
};
struct oom_control { struct zonelist *zonelist; gfp_t gfp_mask; int order; unsigned long totalpages;
                     struct task_struct *chosen; long chosen_points; };
struct __attribute__((packed)) packed_example { u8 first; u32 second; unsigned a : 3; unsigned b : 30; };

/* Gives every type above a user, so that none is left out. */
struct task_struct all_tasks;
struct vm_area_struct all_vmas;
struct dentry all_dentries;
struct pglist_data all_nodes;
struct folio all_folios;
struct oom_control all_ooms;
struct packed_example all_packed;
enum zone_type all_zone_types;
enum migratetype all_migratetypes;
enum pageflags all_pageflags;
enum vm_event_item all_vm_events;
enum lru_list all_lrus;
enum signed_values all_signed;
enum wide_values all_wide;
dev_t all_devices;
umode_t all_modes;
size_t all_sizes;

enum cgroup_subsys_id all_cgroup_subsystems;

/* What iterators give to their programs, and a function whose name begins as theirs do. */
int bpf_iter_task(struct bpf_iter_meta *meta, struct task_struct *task) { return 0; }
int bpf_iter_task_vma(struct bpf_iter_meta *meta, struct task_struct *task, struct vm_area_struct *vma) { return 0; }
int bpf_iter_run_prog(void *prog, void *ctx) { return 0; }

/* A raw tracepoint: the type of its program (no names) and the function that has the names. */
#define RAW_TRACEPOINT(event, ...)                                    \
  typedef void (*btf_trace_##event)(void *__data, __VA_ARGS__);       \
  btf_trace_##event program_of_##event;                               \
  void __bpf_trace_##event(void *__data, __VA_ARGS__) {}
RAW_TRACEPOINT(mm_page_alloc, struct page *page, unsigned int order, gfp_t gfp_flags, int migratetype)
RAW_TRACEPOINT(mm_page_free, struct page *page, unsigned int order)
RAW_TRACEPOINT(kmalloc, unsigned long call_site, const void *ptr, size_t bytes_req, size_t bytes_alloc,
               gfp_t gfp_flags, int node)
RAW_TRACEPOINT(kfree, unsigned long call_site, const void *ptr)
RAW_TRACEPOINT(kmem_cache_alloc, unsigned long call_site, const void *ptr, struct kmem_cache *s,
               gfp_t gfp_flags, int node)
RAW_TRACEPOINT(kmem_cache_free, unsigned long call_site, const void *ptr, const struct kmem_cache *s)
RAW_TRACEPOINT(mm_vmscan_direct_reclaim_begin, int order, gfp_t gfp_flags)
RAW_TRACEPOINT(mm_vmscan_direct_reclaim_end, unsigned long nr_reclaimed)
RAW_TRACEPOINT(mm_vmscan_memcg_reclaim_begin, int order, gfp_t gfp_flags)
RAW_TRACEPOINT(mm_vmscan_memcg_reclaim_end, unsigned long nr_reclaimed)
RAW_TRACEPOINT(mm_vmscan_kswapd_wake, int nid, int zid, int order)
RAW_TRACEPOINT(mm_vmscan_kswapd_sleep, int nid)
RAW_TRACEPOINT(mm_vmscan_wakeup_kswapd, int nid, int zid, int order, gfp_t gfp_flags)
RAW_TRACEPOINT(mm_shrink_slab_start, struct shrinker *shr, struct shrink_control *sc,
               long nr_objects_to_shrink, unsigned long cache_items, unsigned long long delta,
               unsigned long total_scan, int priority)
RAW_TRACEPOINT(page_fault_user, unsigned long address, struct pt_regs *regs, unsigned long error_code)
RAW_TRACEPOINT(page_fault_kernel, unsigned long address, struct pt_regs *regs, unsigned long error_code)
RAW_TRACEPOINT(sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
               unsigned int prev_state)
RAW_TRACEPOINT(sched_wakeup, struct task_struct *p)
RAW_TRACEPOINT(sched_process_exit, struct task_struct *p, bool group_dead)
RAW_TRACEPOINT(mark_victim, struct task_struct *task, uid_t uid)
RAW_TRACEPOINT(sys_enter, struct pt_regs *regs, long id)
RAW_TRACEPOINT(sys_exit, struct pt_regs *regs, long ret)

/* Functions that probes of the tests name. */
typedef unsigned int vm_fault_t;
vm_fault_t handle_mm_fault(struct vm_area_struct *vma, unsigned long address, unsigned int flags,
                           struct pt_regs *regs) { return 0; }
vm_fault_t hugetlb_fault(struct mm_struct *mm, struct vm_area_struct *vma, unsigned long address,
                         unsigned int flags) { return 0; }
void oom_kill_process(struct oom_control *oc, const char *message) {}
unsigned long do_mmap(struct file *file, unsigned long addr, unsigned long len, unsigned long prot,
                      unsigned long flags, vm_flags_t vm_flags, unsigned long pgoff,
                      unsigned long *populate) { return 0; }
bool zone_watermark_ok(struct zone *z, unsigned int order, unsigned long mark, int highest_zoneidx,
                       unsigned int alloc_flags) { return 0; }
unsigned long try_to_free_pages(struct zone *zone, int order, gfp_t gfp_mask) { return 0; }
int swap_read_folio(struct folio *folio) { return 0; }
int vfs_read(struct file *file, char *buf, size_t count, s64 *pos) { return 0; }
int _printk(const char *fmt, ...) { return 0; }
