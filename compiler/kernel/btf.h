// A direct, lazy reader of BPF Type Format data (Documentation/bpf/btf.rst in the kernel tree).
//
// Opening costs one read of the file and one pass that notes where each type begins; names are compared
// only when something is looked up, and a type is turned into types::Type only when it is asked for, so
// a script that never uses BTF never pays. No libbpf: it would parse all of it and keep 12 MB.
// Malformed data gives an error, never a crash: every offset is checked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/types/type.h"

namespace memtrace::kernel {

// Values of BTF_KIND_*.
enum class BtfKind : uint8_t {
  kUnknown = 0, kInt = 1, kPtr = 2, kArray = 3, kStruct = 4, kUnion = 5, kEnum = 6, kFwd = 7,
  kTypedef = 8, kVolatile = 9, kConst = 10, kRestrict = 11, kFunc = 12, kFuncProto = 13, kVar = 14,
  kDatasec = 15, kFloat = 16, kDeclTag = 17, kTypeTag = 18, kEnum64 = 19,
};

struct FunctionParameter {
  std::string name;  // may be empty
  types::Type type;
};

struct FunctionPrototype {
  std::vector<FunctionParameter> parameters;
  types::Type result;  // kVoid when there is none
  bool is_variadic = false;
};

class Btf {
 public:
  // `data` is the content of /sys/kernel/btf/vmlinux (or a module's, then `base` is vmlinux and must
  // outlive the result). `types` must outlive it too.
  static Result<Btf> Parse(std::string data, types::TypeTable& types, const Btf* base = nullptr);

  // The id of the first type with that name and kind, or 0. A linear scan; results are remembered.
  uint32_t FindId(std::string_view name, BtfKind kind) const;

  // types::Type for an id; qualifiers and typedefs are looked through (a bool typedef stays bool, a
  // pointer with the "user" type tag points to user space). A struct comes back incomplete; a forward
  // declaration is resolved to the definition of that name when there is one.
  types::Type TypeOf(uint32_t id);

  // Fills in the members of a struct or union that came from this Btf. Does nothing when it is complete.
  void Complete(types::Type type);

  // By C spelling without or with its keyword: "struct task_struct", "task_struct", "enum zone_type",
  // "gfp_t", "unsigned long". Empty handle when unknown.
  types::Type TypeNamed(std::string_view c_name);

  // A global enumerator by name ("PGSCAN_KSWAPD"): its enum and value.
  struct FoundEnumerator {
    types::Type type;
    int64_t value;
  };
  const FoundEnumerator* FindEnumerator(std::string_view name);

  // Prototype of a kernel function by name, with its parameter names.
  Result<FunctionPrototype> Prototype(std::string_view function);

  // Prototype of a raw tracepoint's program: the types of `btf_trace_NAME` joined with the parameter names of
  // `__bpf_trace_NAME` or `__traceiter_NAME`, the leading `void *__data` dropped.
  Result<FunctionPrototype> RawTracepoint(std::string_view name);
  // Names of all raw tracepoints, sorted.
  std::vector<std::string> RawTracepoints() const;
  // Names of all functions, sorted.
  std::vector<std::string> Functions() const;

  // Visits (name, kind) of all structs, unions, enums and typedefs; for suggestions and listings.
  std::vector<std::string_view> NamesOf(BtfKind kind) const;

  uint32_t type_count() const;

 private:
  Btf() = default;
  // (the implementation adds what it needs)
  friend struct BtfReader;
  std::string data_;
  const Btf* base_ = nullptr;
  types::TypeTable* types_ = nullptr;
};

}  // namespace memtrace::kernel
