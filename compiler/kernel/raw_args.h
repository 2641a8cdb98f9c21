// Which fields of a tracepoint's record can be had from the raw tracepoint's arguments.
//
// A raw tracepoint is cheaper than a classic one and loses no events while map system calls run on
// its CPU, but its arguments are not the record: equal names do not mean equal values
// (sched_switch's prev_state, mm_vmscan_throttled's reason). So there is one row here per event
// that was compared, both attached, on a running kernel; a field that has no entry is not derived
// by its name, and a clause that uses it takes the classic tracepoint.
//
// Arguments are named, not numbered: the kernel's BTF says where an argument of that name is, and a
// row that names what this kernel has not is not used.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/kernel/btf.h"
#include "compiler/kernel/kernel.h"
#include "compiler/types/type.h"

namespace memtrace::kernel {

enum class RawSource : uint8_t {
  kArgument,  // the argument's value
  kMember,    // a member of what the argument points to
  kConstant,  // the same number always
};

// One field of the record. The value is truncated to the field's type by who uses it: the BPF
// context of a raw tracepoint holds each argument cast to u64 by its own size.
struct RawField {
  std::string_view field;  // in the record
  RawSource source;
  std::string_view argument;  // name in __bpf_trace_NAME; kArgument, kMember
  std::string_view
      member;  // "ip", "thread_info.flags": through embedded structs, not through pointers
  int64_t constant = 0;  // kConstant
};

struct RawRow {
  std::string_view category;
  std::string_view event;
  std::string_view raw_name;  // what BPF_RAW_TRACEPOINT_OPEN takes
  std::span<const RawField> fields;
};

// All rows, for listings and for the test that compares both.
std::span<const RawRow> RawRows();
// Null when there is none.
const RawRow* FindRawRow(const TracepointName& name);

// A row with its names looked up in one kernel's BTF.
struct ResolvedRawField {
  std::string field;
  RawSource source = RawSource::kArgument;
  uint32_t argument = 0;      // number of the argument, from 0
  types::Type argument_type;  // of the argument; kMember: a pointer to a struct
  types::Member member;       // kMember: its offset counts from what the pointer points to
  int64_t constant = 0;
};
struct ResolvedRawRow {
  std::string raw_name;
  std::vector<ResolvedRawField> fields;
  const ResolvedRawField* Find(std::string_view field) const;
};

// kUnsupported when this kernel's raw tracepoint lacks an argument or a member that the row names,
// and kNotFound when it has no such raw tracepoint.
Result<ResolvedRawRow> ResolveRawRow(const RawRow& row, Btf& btf);

}  // namespace memtrace::kernel
