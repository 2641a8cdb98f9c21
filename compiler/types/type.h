// The types of the language.
//
// A Type is a handle on an interned TypeInfo, so equal types are equal pointers (structs: by
// identity). TypeTable owns them and must outlive every Type. Kernel structs come from BTF and are
// completed on demand: `members()` of an incomplete struct is empty until
// kernel::Kernel::Complete(type) was called.
//
// Types describe values, not places: whether a struct lies in kernel, user or BPF memory is said by
// the expression that yields it (sema/typed.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace memtrace::types {

enum class Kind : uint8_t {
  kError,    // stands for a value whose mistake was reported; fits everywhere
  kNone,     // no value: what printf() returns
  kVoid,     // only behind a pointer
  kBool,     // 1 byte
  kInt,      // 1, 2, 4 or 8 bytes
  kEnum,     // an int whose values have names
  kString,   // `size` bytes with the terminating NUL, padded with NULs
  kBuffer,   // u32 length, then `size - 4` bytes
  kPointer,  // 8 bytes
  kArray,    // `count` × `target`
  kStruct,   // from BTF, a tracepoint's format or the preamble
  kUnion,
  kFunction,      // only behind a pointer
  kTuple,         // (a, b)
  kRecord,        // (a = 1, b = 2)
  kKernelStack,   // struct mt_stack_ref (bpf-headers/memtrace/record.h)
  kUserStack,     // the same, with the process that gives it names
  kKernelSymbol,  // u64 address printed as symbol+offset
  kUserSymbol,    // u64 address and u32 tgid
  kTimestamp,     // u64 ns since boot, printed through a format: strftime()
  kUserName,      // u32 uid printed as a name
  kGroupName,     // u32 gid printed as a name
  kCgroupPath,    // u64 cgroup id printed as a path
  kMemcgPath,     // the same in the hierarchy of the memory controller
  kLoadAverage,   // u64 of no meaning, printed as what /proc/loadavg says then
  kProbeName,     // u64 index into the names of the program's probes, printed as the name
  kAggregation,   // only as the value of a map; which one is in `aggregation`
};

// Where a pointer points: decides which helper reads through it.
enum class Space : uint8_t { kKernel, kUser };

// What a number counts. Follows a value through maps and aggregations and decides how it prints.
enum class Unit : uint8_t { kNone, kNanoseconds, kBytes, kPages };

// As after `as`: "ns", "bytes", "pages"; empty for kNone.
std::string_view Spelling(Unit unit);

enum class Aggregation : uint8_t { kCount, kSum, kMin, kMax, kAvg, kStats, kHist, kLinearHist };

// "count", "sum", …; the spelling in scripts.
std::string_view Spelling(Aggregation aggregation);

struct TypeInfo;

class Type {
 public:
  Type() = default;  // an empty handle; using it is a bug
  explicit Type(const TypeInfo* info) : info_(info) {}

  const TypeInfo* operator->() const { return info_; }
  const TypeInfo& operator*() const { return *info_; }
  explicit operator bool() const { return info_ != nullptr; }
  bool operator==(const Type&) const = default;

  bool Is(Kind kind) const;
  bool IsError() const { return Is(Kind::kError); }
  // bool, int or enum: what arithmetic and comparison take (pointers are asked for separately).
  bool IsInteger() const;
  bool IsPointer() const { return Is(Kind::kPointer); }
  // struct or union.
  bool IsStruct() const;
  // tuple or record.
  bool IsTuple() const;
  bool IsStack() const;
  // Fits in a register: integers, pointers, symbols of the kernel, timestamps, names of ids.
  bool IsScalar() const;
  // "uint64", "string[16]", "struct task_struct *", "(int64, string[16])", "count()".
  std::string Name() const;

 private:
  const TypeInfo* info_ = nullptr;
};

struct Member {
  std::string name = {};  // empty for an anonymous struct or union, and for a tuple's elements
  Type type = {};
  uint32_t offset = 0;     // bytes from the start of the struct
  uint8_t bit_offset = 0;  // bits from `offset`; only for a bitfield
  uint8_t bit_size = 0;    // 0: not a bitfield
  // A tracepoint's __data_loc field: at `offset` lies u32 (length << 16 | offset in the record)
  // instead of the bytes. `type` is then a string (char[]) or an array of unknown count.
  bool is_data_loc = false;
  bool is_relative_loc = false;  // __rel_loc: the offset counts from the end of this field
};

struct Enumerator {
  std::string name;
  int64_t value;
};

struct TypeInfo {
  Kind kind = Kind::kError;
  uint32_t size = 0;             // bytes in memory and in records; 0 while incomplete or unknown
  uint32_t alignment = 1;        // bytes
  bool is_signed = false;        // int, enum
  Unit unit = Unit::kNone;       // int
  Space space = Space::kKernel;  // pointer
  Type target = {};              // pointer, array; aggregation: type of what is aggregated
  uint32_t count = 0;            // array: number of elements (0: unknown)
  std::string name =
      {};  // struct, union, enum: tag without "struct"; timestamp: the strftime format
  std::vector<Member> members = {};          // struct, union, tuple, record
  std::vector<Enumerator> enumerators = {};  // enum
  uint32_t btf_id = 0;   // struct, union, enum, function of the kernel's BTF; 0: not from BTF
  bool complete = true;  // struct, union: members are known
  // stacks
  uint16_t depth = 127;  // frames at most
  // aggregations
  Aggregation aggregation = Aggregation::kCount;
  uint32_t hist_bits = 0;  // hist(n, bits): 2^bits buckets per power of two
  int64_t lhist_min = 0, lhist_max = 0, lhist_step = 0;
};

// Interns types. Not safe for use by several threads.
class TypeTable {
 public:
  TypeTable();
  TypeTable(const TypeTable&) = delete;
  TypeTable& operator=(const TypeTable&) = delete;
  ~TypeTable();

  Type Error() const { return error_; }
  Type None() const { return none_; }
  Type Void() const { return void_; }
  Type Bool() const { return bool_; }
  Type Int(uint32_t size, bool is_signed, Unit unit = Unit::kNone);
  Type Int64() { return Int(8, true); }
  Type Uint64() { return Int(8, false); }
  Type String(uint32_t size);
  Type Buffer(uint32_t size);
  Type Pointer(Type target, Space space);
  Type Array(Type element, uint32_t count);
  // Members are laid out in order with natural alignment; the size is a multiple of the alignment.
  Type Tuple(const std::vector<Type>& elements);
  Type Record(const std::vector<std::pair<std::string, Type>>& elements);
  Type Stack(Kind kind, uint16_t depth);
  Type KernelSymbol();
  Type UserSymbol();
  Type Timestamp(std::string_view format);
  Type UserName();
  Type GroupName();
  Type CgroupPath();
  Type MemcgPath();
  Type LoadAverage();
  Type ProbeName();
  // `info.kind` is kAggregation; `info.target` and the parameters are filled in by the caller.
  Type MakeAggregation(TypeInfo info);

  // Structs, unions, enums and functions are not interned by content: a new one each time. The
  // caller keeps its own table by btf_id or name. The pointer stays writable so that it can be
  // completed.
  TypeInfo* NewNominal(Kind kind, std::string name);

 private:
  Type Intern(TypeInfo info);
  std::vector<std::unique_ptr<TypeInfo>> infos_;
  std::map<std::string, Type, std::less<>> interned_;  // by a key spelled from the content
  Type error_, none_, void_, bool_;
};

// Finds `name` among the members of a complete struct, union, tuple or record, looking through
// anonymous structs and unions; the result's offset counts from the start of `type`. A one-field
// wrapper struct (mm_flags_t { unsigned long f; }) is not looked through here: the checker does
// when it needs a number.
struct FoundMember {
  Member member;
  bool found = false;
};
FoundMember FindMember(Type type, std::string_view name);

}  // namespace memtrace::types
