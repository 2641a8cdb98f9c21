// Plan: all that the runtime may know about a compiled script.
//
// Plain serialisable data: what to create, where to attach, how to read what comes back. No AST, no
// LLVM, no descriptors. With the bytes of the BPF object it is enough to run a script on a machine
// that has no compiler. Offsets and sizes are bytes; indices point into the vectors of this file.
//
// Three kinds of memory are shared with the BPF object:
//  - `mt_state`, one global array in section .bss.state, mapped by the reader: keyless maps, the
//  window index and
//    the loss counters lie at the offsets given here;
//  - hash maps, one ELF map (two when swapped) per keyed @map, named by Map::symbols;
//  - `mt_ring`, the ring of records, and `mt_stacks`, the table of stacks
//  (bpf-headers/memtrace/record.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/result.h"

namespace memtrace::plan {

// Bumped when the meaning of a field changes; FromJson refuses another one.
inline constexpr uint32_t kVersion = 1;

inline constexpr std::string_view kStateSection = ".bss.state";
inline constexpr std::string_view kStateSymbol = "mt_state";
inline constexpr std::string_view kRingMap = "mt_ring";
inline constexpr std::string_view kStackMap = "mt_stacks";

// Set in the word at Plan::exit_offset once exit() ran.
inline constexpr uint64_t kExitRequested = uint64_t{1} << 32;

// A reference into a vector of the Plan; kNoIndex: none.
using Index = uint32_t;
inline constexpr Index kNoIndex = UINT32_MAX;

enum class TypeKind : uint8_t {
  kNone,
  kBool,
  kInt,
  kEnum,
  kString,
  kBuffer,
  kPointer,
  kArray,
  kStruct,
  kTuple,
  kRecord,
  kKernelStack,
  kUserStack,
  kKernelSymbol,
  kUserSymbol,
  kTimestamp,
  kUserName,
  kGroupName,
  kCgroupPath,
  kMemcgPath,    // a cgroup in the hierarchy of the memory controller
  kLoadAverage,  // nothing but where it is printed
  kProbeName,    // u64 index into Plan::probe_names
};

enum class Unit : uint8_t { kNone, kNanoseconds, kBytes, kPages };

struct Field {
  std::string name;  // empty in a tuple
  Index type = kNoIndex;
  uint32_t offset = 0;  // from the start of the record, key or struct that holds it
  uint8_t bit_offset = 0;
  uint8_t bit_size = 0;  // 0: not a bitfield
};

struct Name {
  int64_t value;
  std::string name;
};

struct Type {
  TypeKind kind = TypeKind::kNone;
  uint32_t size = 0;
  bool is_signed = false;
  Unit unit = Unit::kNone;
  std::string name;           // struct tag; timestamp: strftime format
  Index element = kNoIndex;   // array
  uint32_t count = 0;         // array
  std::vector<Field> fields;  // struct, tuple, record
  std::vector<Name> names;    // enum
  uint32_t depth = 0;         // stacks: frames to print at most
};

// How a map's value lies in memory and which fold makes one value of the per-CPU parts.
enum class ValueKind : uint8_t {
  kScalar,  // `value_type`, integers widened to 8 bytes
  kCount,   // u64
  kSum,     // u64
  kMin,     // u64: ~(order-preserving unsigned image); 0 is "none"
  kMax,     // u64: order-preserving unsigned image; 0 is "none"
  kAvg,     // mt_stats
  kStats,   // mt_stats
  kHist,    // u64 buckets[bucket_count]
  kLinearHist,
};
// The order-preserving unsigned image of an int64 x is x ^ (1 << 63); of a uint64 it is x itself.

enum class Storage : uint8_t {
  kState,        // in mt_state, one copy for all CPUs: a keyless scalar
  kStatePerCpu,  // in mt_state, one slot per CPU: a keyless aggregation
  kHash,         // BPF_MAP_TYPE_HASH
  kPerCpuHash,   // BPF_MAP_TYPE_PERCPU_HASH
};

struct Map {
  std::string name;  // "@", "@reads"
  Storage storage = Storage::kHash;
  // ELF names of the hash map, the second only when `is_swapped`.
  std::vector<std::string> symbols;
  // Storage in mt_state: where the first copy begins; u64 presence, then the value. kState: one
  // such slot. kStatePerCpu: `cpu_slots` of them, `slot_size` apart. A second copy follows at
  // `offset + copy_size` when `is_swapped`.
  uint32_t offset = 0;
  uint32_t slot_size = 0;
  uint32_t copy_size = 0;
  // When `is_swapped`: where in mt_state the u32 lies that says which copy (0 or 1) events write
  // to. Maps that are exchanged together share it; kNoIndex: Plan::window_offset.
  uint32_t window_offset = kNoIndex;

  std::vector<Field> key;  // empty: keyless. Several keys are several fields; padding is zero
  uint32_t key_size = 0;
  ValueKind value = ValueKind::kScalar;
  Index value_type =
      kNoIndex;  // scalar: its type; aggregation: type (sign, unit) of what is aggregated
  uint32_t value_size = 0;
  uint32_t bucket_count = 0;  // hist, lhist
  uint32_t hist_bits = 0;     // hist
  int64_t lhist_min = 0, lhist_max = 0, lhist_step = 0;
  uint32_t max_entries = 0;
  bool preallocated = true;
  // Printed and cleared in one interval: two copies, exchanged before that interval's program runs.
  bool is_swapped = false;
  bool printed_at_exit = true;
};

// One step of a printf format: literal text, or one converted argument.
struct FormatPiece {
  std::string text;           // literal, when `argument` is kNoIndex
  Index argument = kNoIndex;  // index into Action::arguments
  char conversion = 'd';      // d u x X o p s c
  bool left = false, zero = false, plus = false, space = false, alternate = false;
  int32_t width = -1, precision = -1;  // -1: not given
  Index width_argument = kNoIndex;     // `%*d`
};

enum class ActionKind : uint8_t {
  kPrintf,
  kErrorf,
  kTime,        // `format` is strftime's; wall clock when the record is read
  kPrintMap,    // print(@m, top, div)
  kPrintValue,  // print(expr): arguments[0]
  kClear,       // clear(@m): all keys go
  kZero,        // zero(@m): keys stay, values are 0
  kExit,        // arguments[0]: int64 status
  kJoin,        // join(argv, separator): arguments hold the strings; `format` the separator
  kCat,         // cat(path): `format` is the path
};

struct Action {
  ActionKind kind = ActionKind::kPrintf;
  uint32_t line = 0;  // in the script, for messages
  std::string format;
  std::vector<FormatPiece> pieces;
  std::vector<Field> arguments;  // offsets from the start of the record (the header is 8 bytes)
  uint32_t record_size = 8;
  Index map = kNoIndex;
  int64_t top = 0, div = 0;    // 0: not given
  bool closed_window = false;  // kPrintMap, kClear, kZero: of the copy that is not written to
};

enum class ProgramType : uint8_t {
  kRawTracepoint,
  kTracepoint,
  kPerfEvent,
  kTracing,
  kKprobe,       // its context is the registers (struct pt_regs)
  kKprobeMulti,  // the same, loaded to be attached to many functions at once
  kUprobeMulti,  // the same, for functions of a program; those of perf are kKprobe
};

// What a kTracing program hangs on; its BTF id is Program::attach_btf_id.
enum class TracingTarget : uint8_t {
  kNone,
  kTypedTracepoint,  // the typedef btf_trace_NAME
  kEntry,            // a kernel function's entry
  kExit,             // its return
  kIterator,         // the function that an iterator of the kernel runs for each object
};

// One BPF program of the object.
struct Program {
  std::string symbol;  // function name in the ELF
  ProgramType type = ProgramType::kRawTracepoint;
  TracingTarget tracing_target = TracingTarget::kNone;
  uint32_t attach_btf_id = 0;  // kTracing: in the BTF of the running kernel
  std::string attach_module;   // kTracing: of this module's BTF, or (empty) of vmlinux
  Index clause = 0;            // in the script, from 0
  uint32_t line = 0;
  // Maps that are exchanged before this program runs (an interval that prints and clears them).
  std::vector<Index> swaps;
  bool is_scoped = false;      // sees only what Plan::scope lets through
  bool excludes_self = false;  // does not see events that memtrace itself causes
};

enum class AttachKind : uint8_t {
  kBegin,          // run once before anything is attached
  kEnd,            // run once after everything is detached
  kInterval,       // run every `period` ns by the reader
  kRawTracepoint,  // `event`
  kTracepoint,     // perf event of `category`:`event`, `config` is its id; on all CPUs at once
  kSoftware,       // perf software event: `config`, every `period` events; per CPU
  kProfile,        // cpu-clock on every CPU; `period` ns, or `frequency` Hz when not 0
  kTracing,        // what the program was loaded for (Program::tracing_target)
  kIterator,       // read by the reader, once or every `period` ns; `event`: its name
  kSignal,         // run by the reader when it gets signal `config`
  kKprobe,         // perf kprobe at each of `functions`, `offset` bytes into it
  kKretprobe,      // the same where they return
  kKprobeMulti,    // one link for all of `functions`
  kKretprobeMulti,
  kUprobe,       // perf uprobe at each of `functions`, in the file `path`
  kUretprobe,    // the same where they return
  kUprobeMulti,  // one link for all of `functions`
  kUretprobeMulti,
  kHardware,    // perf hardware event: `config`, every `period` events; per CPU
  kWatchpoint,  // `offset` bytes at address `config`; `event`: which of r, w and x
};

// Something cheaper or asked for that was not taken, and why. For -lv, --dump=plan and messages.
struct Refused {
  std::string what;
  std::string reason;
};

// A place in code that a probe hangs on. Several may belong to one probe of the user's: copies
// that the compiler made, or functions of one name.
struct Function {
  std::string symbol;  // "vfs_read", "xfs:xfs_iget", "do_read.isra.0"
  // Of the running kernel (0: found by the symbol); kUprobe and its relatives: bytes from the start
  // of the file.
  uint64_t address = 0;
  // What bpf_get_attach_cookie() gives: the index of the probe's name, and above 32 bits the
  // function's.
  uint64_t cookie = 0;
  // Where in the file the word lies that counts who is looking at a static probe; 0: it has none.
  uint64_t semaphore = 0;
};

// One attachment of a program.
struct Probe {
  std::string name;  // as the user spells it, wildcards resolved: "tracepoint:kmem:mm_page_alloc"
  Index program = 0;
  AttachKind kind = AttachKind::kBegin;
  std::string category, event;
  uint64_t config = 0, period = 0, frequency = 0;
  // The user's probes that this one attachment serves when it is more than one (a raw sys_enter
  // that dispatches on the number).
  std::vector<std::string> covers;
  std::vector<Refused> refused;
  bool misses_are_countable =
      true;                         // false: a classic tracepoint on a kernel that counts no misses
  std::vector<Function> functions;  // kKprobe and its relatives
  uint64_t offset = 0;              // kKprobe, kWatchpoint
  std::string path;                 // kUprobe and its relatives: the program or library
  // From a wildcard: what cannot be attached is named and counted, and the others stay.
  bool may_be_missing = false;
};

enum class LossCause : uint8_t {
  kRingFull,     // `subject`: the action
  kMapFull,      // `subject`: the map
  kReadFailed,   // a read of kernel or user memory
  kTruncated,    // a string longer than its place
  kScratchBusy,  // more programs nested on one CPU than there are scratch slots: the event is lost
  kStackFailed,  // bpf_get_stack refused
  kStackTableFull,
  kStackCollision,  // two stacks with one hash: the later one is lost
  kRetry,           // min/max: compare-and-swap gave up
  kLoopLimit,       // a loop was ended at 8,388,608 rounds
};

// One counter (u64 in mt_state at losses_offset + 8 × index).
struct LossSite {
  LossCause cause = LossCause::kRingFull;
  std::string subject;
  uint32_t line = 0;
};

// The processes whose events scoped programs see.
enum class ProcessScope : uint8_t {
  kAll,
  kProcess,  // one, with all its threads
  kTree,     // those whose bit is set; forks are followed by Scope::follow_program
};

// The hierarchy in which the cgroup of a task is compared.
enum class CgroupHierarchy : uint8_t {
  kNone,
  kUnified,  // cgroup v2
  kMemory,   // that of the memory controller, v1 or v2
};

// A tree's processes are a bit each, by number: the kernel gives no number from here on
// (PID_MAX_LIMIT), so that the set is never full. Every process begins in a fork that sets or
// clears its bit, so that the bit of one that ended need not be cleared.
inline constexpr uint32_t kTreeBits = 4 << 20;

// Which filters are compiled into the programs. Whom they let through is not known here: the reader
// writes it into mt_state before anything is attached. Offsets are those of a u64, kNoIndex where
// no program asks; process numbers are the kernel's own (of the first pid namespace).
struct Scope {
  ProcessScope processes = ProcessScope::kAll;
  CgroupHierarchy cgroup = CgroupHierarchy::kNone;
  uint32_t process_offset = kNoIndex;  // the one process
  uint32_t tree_offset = kNoIndex;     // kTreeBits bits
  uint32_t cgroup_offset = kNoIndex;   // id of the cgroup; those below it are let through, too
  uint32_t self_offset = kNoIndex;     // memtrace's own process
  Index follow_program = kNoIndex;     // runs at each fork, attached before all others
};

// What becomes of a probe that does not exist or cannot be attached.
enum class MissingProbes : uint8_t {
  kDefault,  // an error where it was written out, a warning where it is one of a wildcard's
  kError,
  kWarn,
  kIgnore,
};

struct Config {
  uint32_t max_map_keys = 4096;
  uint32_t max_strlen = 1024;        // bytes of a string with its NUL
  uint32_t ring_size = 4 << 20;      // bytes, a power of two
  uint32_t ring_wakeup = 256 << 10;  // unread bytes from which a program wakes the reader
  uint32_t max_stacks = 16384;
  bool print_maps_on_exit = true;
  uint32_t max_probes = 1024;  // that one wildcard over functions may name
  MissingProbes missing_probes = MissingProbes::kDefault;
};

struct Plan {
  uint32_t version = kVersion;
  std::string kernel_release;
  Config config;
  uint32_t cpu_slots = 1;      // possible CPUs rounded up to a power of two
  uint32_t state_size = 0;     // bytes of mt_state
  uint32_t window_offset = 0;  // u32: the copy (0 or 1) that events write to
  uint32_t losses_offset = 0;
  // u64: bpf_ktime_get_boot_ns() when tracing began, written by the reader; 0: nobody asks.
  uint32_t start_time_offset = 0;
  // u64: what exit() leaves besides its record, which a full ring may lose: kExitRequested and the
  // low 32 bits of the status; 0: there is no such word.
  uint32_t exit_offset = 0;
  Scope scope;
  std::vector<Type> types;
  std::vector<Map> maps;
  std::vector<Action> actions;
  std::vector<Program> programs;
  std::vector<Probe> probes;  // in the order of attaching
  std::vector<std::string> probe_names;
  std::vector<LossSite> loss_sites;
  std::vector<std::string> relocations;  // reserved for packed scripts
};

// The function that a script calls: "printf", "print". How messages and loss counters name an
// action.
std::string_view Spelling(ActionKind kind);

// The words that the JSON has for them.
std::string_view WordFor(ProgramType type);
std::string_view WordFor(AttachKind kind);

// JSON with fields in the order of this file; the same text for the same plan.
std::string ToJson(const Plan& plan);
Result<Plan> FromJson(std::string_view text);

// Index of the counter for `cause` at `subject` and `line`; kNoIndex when the plan has none. Causes
// that are counted once for the whole script have no subject and line 0.
Index FindLossSite(const Plan& plan, LossCause cause, std::string_view subject, uint32_t line);

// Kernel memory that the maps, the ring and the state take at most, in bytes.
uint64_t PlannedMemory(const Plan& plan);

}  // namespace memtrace::plan
