// Load: from a Plan and the bytes of its BPF object to maps and programs in the kernel.
//
// Nothing is attached here (runtime/attach) and nothing runs (run.h). Programs are loaded for what
// the Plan says, not for what their section names say. A typed program is handed to the kernel with
// the BTF id of the Plan, because libbpf would otherwise read and keep all of vmlinux BTF (50 ms)
// to find it.
//
// libbpf writes its messages through one function for the whole process; during Load they are
// collected and become part of the error, at other times they are dropped.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/plan/plan.h"

struct bpf_object;

namespace memtrace::bpf {

// Owns the loaded object; programs and maps live until it dies (or longer, while a link holds
// them).
class Loaded {
 public:
  // Descriptors are borrowed. `program` is an index into Plan::programs.
  int program_fd(plan::Index program) const { return program_fds_[program]; }
  // -1 when the object has no map of that ELF name.
  int map_fd(std::string_view symbol) const;

 private:
  friend Result<Loaded> Load(const plan::Plan& plan, std::string_view elf);
  struct Close {
    void operator()(bpf_object* object) const;
  };
  std::unique_ptr<bpf_object, Close> object_;
  std::vector<int> program_fds_;
};

// kRejected: the verifier refused a program; the message names its probe and the script's line and
// ends in the verifier's last lines. kPermission: more rights would help.
Result<Loaded> Load(const plan::Plan& plan, std::string_view elf);

}  // namespace memtrace::bpf
