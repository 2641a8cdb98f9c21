#include "compiler/probes/function_tables.h"

namespace memtrace::probes {

namespace {

// From mm/ of Linux 6.1 to 6.18. The _noprof names came with memory allocation profiling
// (7bd230a26648 "mm/slab: enable slab allocation tagging for kmalloc and friends", v6.10).
constexpr RenamedFunction kRenamed[] = {
    {"swap_readpage", "swap_read_folio"},
    {"swap_writepage", "swap_writeout"},
    {"migrate_misplaced_page", "migrate_misplaced_folio"},
    {"kmem_cache_alloc", "kmem_cache_alloc_noprof"},
    {"kmem_cache_alloc_node", "kmem_cache_alloc_node_noprof"},
    {"__kmalloc", "__kmalloc_noprof"},
    {"__alloc_pages", "__alloc_pages_noprof"},
    {"__alloc_pages", "__alloc_frozen_pages_noprof"},
    {"__alloc_pages_nodemask", "__alloc_pages"},
    {"filemap_alloc_folio", "filemap_alloc_folio_noprof"},
    {"__page_cache_alloc", "filemap_alloc_folio"},
    {"__page_cache_alloc", "filemap_alloc_folio_noprof"},
    {"vmalloc", "vmalloc_noprof"},
    {"mem_cgroup_handle_over_high", "__mem_cgroup_handle_over_high"},
    {"__count_memcg_events", "count_memcg_events"},
    {"mark_page_accessed", "folio_mark_accessed"},
    {"add_to_page_cache_lru", "filemap_add_folio"},
    {"account_page_dirtied", "folio_account_dirtied"},
    {"__do_page_cache_readahead", "page_cache_ra_unbounded"},
    {"do_page_cache_ra", "page_cache_ra_order"},
    {"lru_cache_add", "folio_add_lru"},
    {"shrink_page_list", "shrink_folio_list"},
    {"try_to_unmap_one", "try_to_unmap"},
    {"do_brk", "do_brk_flags"},
    {"__do_munmap", "do_vmi_munmap"},
    {"split_huge_page_to_list", "split_huge_page_to_list_to_order"},
};

constexpr NearestTracepoint kNearest[] = {
    {"oom_kill_process", "oom", "mark_victim"},
    {"oom_reap_task", "oom", "start_task_reaping"},
    {"handle_mm_fault", "exceptions", "page_fault_user"},
    {"do_user_addr_fault", "exceptions", "page_fault_user"},
    {"do_mmap", "syscalls", "sys_enter_mmap"},
    {"ksys_mmap_pgoff", "syscalls", "sys_enter_mmap"},
    {"do_munmap", "syscalls", "sys_enter_munmap"},
    {"do_vmi_munmap", "syscalls", "sys_enter_munmap"},
    {"do_brk_flags", "syscalls", "sys_enter_brk"},
    {"do_madvise", "syscalls", "sys_enter_madvise"},
    {"vfs_read", "syscalls", "sys_enter_read"},
    {"vfs_write", "syscalls", "sys_enter_write"},
    {"filemap_add_folio", "filemap", "mm_filemap_add_to_page_cache"},
    {"__filemap_remove_folio", "filemap", "mm_filemap_delete_from_page_cache"},
    {"filemap_fault", "filemap", "mm_filemap_fault"},
    {"filemap_read", "filemap", "mm_filemap_get_pages"},
    {"page_cache_ra_unbounded", "readahead", "page_cache_ra_unbounded"},
    {"page_cache_ra_order", "readahead", "page_cache_ra_order"},
    {"swap_writepage", "vmscan", "mm_vmscan_write_folio"},
    {"swap_writeout", "vmscan", "mm_vmscan_write_folio"},
    {"try_to_free_pages", "vmscan", "mm_vmscan_direct_reclaim_begin"},
    {"try_to_free_mem_cgroup_pages", "vmscan", "mm_vmscan_memcg_reclaim_begin"},
    {"reclaim_throttle", "vmscan", "mm_vmscan_throttled"},
    {"balance_pgdat", "vmscan", "mm_vmscan_kswapd_wake"},
    {"wakeup_kswapd", "vmscan", "mm_vmscan_wakeup_kswapd"},
    {"do_shrink_slab", "vmscan", "mm_shrink_slab_start"},
    {"shrink_slab", "vmscan", "mm_shrink_slab_start"},
    {"compact_zone", "compaction", "mm_compaction_begin"},
    {"collapse_huge_page", "huge_memory", "mm_collapse_huge_page"},
    {"migrate_pages", "migrate", "mm_migrate_pages"},
    {"balance_dirty_pages", "writeback", "balance_dirty_pages"},
    {"flush_tlb_mm_range", "tlb", "tlb_flush"},
    {"setup_per_zone_wmarks", "kmem", "mm_setup_per_zone_wmarks"},
    {"__alloc_pages", "kmem", "mm_page_alloc"},
    {"__alloc_pages_noprof", "kmem", "mm_page_alloc"},
    {"__alloc_frozen_pages_noprof", "kmem", "mm_page_alloc"},
    {"__free_pages", "kmem", "mm_page_free"},
    {"kmem_cache_alloc", "kmem", "kmem_cache_alloc"},
    {"kmem_cache_alloc_noprof", "kmem", "kmem_cache_alloc"},
    {"kmem_cache_free", "kmem", "kmem_cache_free"},
    {"__kmalloc", "kmem", "kmalloc"},
    {"__kmalloc_noprof", "kmem", "kmalloc"},
    {"kfree", "kmem", "kfree"},
};

}  // namespace

std::span<const RenamedFunction> RenamedFunctions() { return kRenamed; }
std::span<const NearestTracepoint> NearestTracepoints() { return kNearest; }

}  // namespace memtrace::probes
