// A direct, lazy reader of BPF Type Format data (Documentation/bpf/btf.rst in the kernel tree).
//
// Opening costs one mapping of the file and one pass that notes where each type begins; names are
// compared only when something is looked up, and a type is turned into types::Type only when it is
// asked for, so a script that never uses BTF never pays. No libbpf: it would parse all of it and
// keep 12 MB. Malformed data gives an error, never a crash: every offset is checked.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/types/type.h"

namespace memtrace::kernel {

// Values of BTF_KIND_*.
enum class BtfKind : uint8_t {
  kUnknown = 0,
  kInt = 1,
  kPtr = 2,
  kArray = 3,
  kStruct = 4,
  kUnion = 5,
  kEnum = 6,
  kFwd = 7,
  kTypedef = 8,
  kVolatile = 9,
  kConst = 10,
  kRestrict = 11,
  kFunc = 12,
  kFuncProto = 13,
  kVar = 14,
  kDatasec = 15,
  kFloat = 16,
  kDeclTag = 17,
  kTypeTag = 18,
  kEnum64 = 19,
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

// Gives back the memory of a mapped file.
struct Unmap {
  size_t size = 0;
  void operator()(const char* address) const;
};

class Btf {
 public:
  Btf(Btf&&) = default;
  Btf& operator=(Btf&&) = default;

  // `data` is the content of /sys/kernel/btf/vmlinux (or a module's, then `base` is vmlinux and
  // must outlive the result). `types` must outlive it too.
  static Result<Btf> Parse(std::string data, types::TypeTable& types, Btf* base = nullptr);

  // The same for a file. It is mapped where the file can be (/sys/kernel/btf since Linux
  // a539e2a6d51d
  // ("btf: Allow mmap of vmlinux btf") in v6.16; copying 5 MB costs 3 ms), and read otherwise.
  static Result<Btf> Open(const std::filesystem::path& path, types::TypeTable& types,
                          Btf* base = nullptr);

  // The id of the first type with that name and kind, or 0; a module's own types come before those
  // of its base. A linear scan; results are remembered, and when many functions are asked for their
  // names are put into a table.
  uint32_t FindId(std::string_view name, BtfKind kind) const;

  // types::Type for an id; qualifiers and typedefs are looked through (a bool typedef stays bool, a
  // pointer with the "user" type tag points to user space). A struct comes back incomplete; a
  // forward declaration is resolved to the definition of that name when there is one. char[N] is
  // string[N], a 16-byte integer an array of two uint64, a floating-point number an array of bytes.
  // Error() for an id or a chain of types that no compiler would emit.
  types::Type TypeOf(uint32_t id);

  // Fills in the members of a struct or union that came from this Btf, and of the structs and
  // unions without a name inside it. Does nothing when it is complete.
  void Complete(types::Type type);

  // By C spelling without or with its keyword: "struct task_struct", "task_struct", "enum
  // zone_type", "gfp_t", "unsigned long"; with `*` behind it for pointers. Empty handle when
  // unknown.
  types::Type TypeNamed(std::string_view c_name);

  // A global enumerator by name ("PGSCAN_KSWAPD"): its enum and value. Null when there is none. The
  // result lives as long as this object does.
  struct FoundEnumerator {
    types::Type type;
    int64_t value;
  };
  const FoundEnumerator* FindEnumerator(std::string_view name);

  // Prototype of a kernel function by name, with its parameter names.
  Result<FunctionPrototype> Prototype(std::string_view function);

  // Prototype of a raw tracepoint's program: the types of `btf_trace_NAME` joined with the
  // parameter names of
  // `__bpf_trace_NAME` or `__traceiter_NAME`, the leading `void *__data` dropped.
  Result<FunctionPrototype> RawTracepoint(std::string_view name);
  // Names of all raw tracepoints, sorted.
  std::vector<std::string> RawTracepoints() const;
  // Names of all functions, sorted.
  std::vector<std::string> Functions() const;

  // Names of all types of one kind in the order of their ids, without those that have no name; for
  // suggestions and listings. They live as long as this object does.
  std::vector<std::string_view> NamesOf(BtfKind kind) const;

  // Ids are below this number; 0 is void. Counts the base's types too.
  uint32_t type_count() const;

 private:
  // The 12 bytes that every type begins with, and where the rest of it lies.
  struct RawType {
    uint32_t name = 0;  // offset into the strings
    BtfKind kind = BtfKind::kUnknown;
    bool kind_flag = false;
    uint32_t length = 0;  // members, parameters, values …
    uint32_t size_or_type = 0;
    size_t rest = 0;  // offset into data_
  };
  Btf() = default;
  static Result<Btf> Index(Btf btf);
  const Btf& Owner(uint32_t id) const {
    return base_ != nullptr && id < first_id_ ? *base_ : *this;
  }
  uint32_t Word(size_t offset) const;
  std::string_view Text(uint32_t offset) const;
  RawType RawAt(size_t offset) const;
  RawType Raw(uint32_t id) const;
  uint32_t ScanFor(std::string_view name, BtfKind kind) const;
  template <typename Visit>
  void ForEach(BtfKind kind, Visit visit) const;

  uint32_t SkipQualifiers(uint32_t id, bool* is_user = nullptr) const;
  types::Type Resolve(uint32_t id, int depth);
  types::Type IntOf(const RawType& raw) const;
  types::Type ArrayOf(const RawType& raw, int depth);
  types::Type PointerTo(uint32_t id, int depth);
  types::Type EnumOf(uint32_t id, const RawType& raw);
  types::Type NominalOf(uint32_t id, const RawType& raw);
  types::Type ForwardOf(uint32_t id, const RawType& raw);
  void AddMembers(types::TypeInfo& info, const RawType& raw);
  bool IsChar(uint32_t id) const;
  FunctionPrototype PrototypeOf(uint32_t id);

  std::string storage_;                         // what data_ shows when it was read
  std::unique_ptr<const char, Unmap> mapping_;  // or when it was mapped
  std::string_view data_;
  size_t strings_begin_ = 0, strings_size_ = 0;  // in data_
  uint32_t first_id_ = 1;                        // of this object's own types
  uint32_t first_string_ = 0;                    // offsets below it are the base's
  std::vector<uint32_t> positions_;              // in data_, by id - first_id_
  Btf* base_ = nullptr;
  types::TypeTable* types_ = nullptr;

  std::unordered_map<uint32_t, types::Type> by_id_;
  std::unordered_map<uint32_t, types::TypeInfo*> nominals_;  // structs and unions, by id
  mutable std::unordered_map<std::string, uint32_t> found_ids_;
  mutable uint32_t function_scans_ = 0;
  mutable std::unordered_map<std::string_view, uint32_t> functions_;  // own ones, by name
  std::unordered_map<std::string, std::unique_ptr<FoundEnumerator>> enumerators_;
};

}  // namespace memtrace::kernel
