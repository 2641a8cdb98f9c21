/*
 * What travels from BPF programs to the reader, and what lies in maps: shared by C, C++ and the IR that
 * the compiler emits. Everything is little-endian on the machines supported and naturally aligned.
 */
#pragma once

#ifdef __cplusplus
#include <cstdint>
typedef uint64_t mt_u64;
typedef uint32_t mt_u32;
#else
typedef unsigned long long mt_u64;
typedef unsigned int mt_u32;
#endif

/* Frames kept of one stack at most. */
#define MT_STACK_DEPTH 127

/* Flags of mt_stack_ref and mt_stack_entry. */
#define MT_STACK_TRUNCATED 1u /* as deep as the limit: there may be more frames */
#define MT_STACK_FAILED 2u    /* bpf_get_stack refused; counted as a loss */

/* Begins every record in the ring. The arguments of the action follow, at the offsets of the plan. */
struct mt_record_header {
  mt_u32 action; /* index into plan.actions */
  mt_u32 size;   /* bytes, with this header */
};

/*
 * A stack as a value or as part of a key. `hash` names an entry of the stack table and is never 0 for a
 * stack with frames. `process` is the tgid whose mappings give a user stack its names, 0 for a kernel stack.
 */
struct mt_stack_ref {
  mt_u64 hash;
  mt_u32 process;
  mt_u32 flags;
};

/* Value of the stack table (a hash map keyed by mt_stack_ref.hash). */
struct mt_stack_entry {
  mt_u32 count; /* frames used */
  mt_u32 flags;
  mt_u64 frames[MT_STACK_DEPTH];
};

/* usym(): an address with the process that gives it a name. */
struct mt_user_symbol {
  mt_u64 address;
  mt_u32 process;
  mt_u32 pad;
};

/* avg() and stats() of one CPU (or of one key on one CPU). min is kept as ~value of its order-preserving
 * unsigned image, so that zeroed memory is the neutral element of all four. */
struct mt_stats {
  mt_u64 count;
  mt_u64 total;
  mt_u64 inverted_min;
  mt_u64 max;
};
