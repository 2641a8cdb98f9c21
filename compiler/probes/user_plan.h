// How probes on programs and libraries are attached: by one link for all places in a file
// (uprobe.multi), or by uprobes of perf, one by one. Private to this folder.
//
// uprobe.multi is taken wherever the kernel has it, for a single place, too: its programs run while
// map syscalls run on the same CPU, where those of perf are passed over (bpf_prog_active), and one
// link is attached and taken off at once. What works is tried (kernel/trials.h).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/probes/attach_plan.h"

namespace memtrace::probes {

class UserPlanner {
 public:
  // All are borrowed and must outlive it.
  UserPlanner(const Usage& usage, kernel::Kernel& kernel, diag::Diagnostics& diagnostics,
              std::vector<Group>& groups)
      : usage_(usage), kernel_(kernel), diagnostics_(diagnostics), groups_(groups) {}

  // Puts a function's probe into a group; reports when nothing can serve it.
  void AddFunction(const Target& target);
  // The same for a static probe. Places whose arguments lie elsewhere have programs of their own.
  void AddStatic(const Target& target);

 private:
  struct Way {
    bool is_multi = false;
    std::vector<plan::Refused> refused;
  };
  std::optional<Way> FindWay(const Target& target);
  void DescribeFunction(const Target& target, Group& group);
  void DescribePrototype(const user::Prototype& prototype, bool is_exit, Group& group);
  plan::Probe& ProbeFor(Group& group, const Target& target, const Way& way);
  void Add(const Target& target, const TargetSymbol& symbol, const Way& way, Group described);

  const Usage& usage_;
  kernel::Kernel& kernel_;
  diag::Diagnostics& diagnostics_;
  std::vector<Group>& groups_;
  std::map<std::string, size_t> by_key_;
  std::optional<diag::Span> reported_;  // the spec for which nothing served, told once
};

}  // namespace memtrace::probes
