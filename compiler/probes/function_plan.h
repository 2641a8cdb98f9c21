// How probes on kernel functions are attached: by a trampoline (fentry, fexit), by one link for
// many (kprobe.multi), or by kprobes of perf. Private to this folder.
//
// What each costs, on Linux 6.12: a trampoline is the cheapest per event, but needs a program of
// its own for each function and is the slowest to take off; one kprobe.multi link is attached and
// taken off at once however many functions it has; a kprobe of perf is the slowest per event and
// works everywhere in a function. So: trampolines for a few functions, kprobe.multi for many, perf
// for the rest. What works is tried (kernel/trials.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/probes/attach_plan.h"

namespace memtrace::probes {

class FunctionPlanner {
 public:
  // All are borrowed and must outlive it.
  FunctionPlanner(const std::vector<Target>& targets, const Usage& usage, kernel::Kernel& kernel,
                  diag::Diagnostics& diagnostics, std::vector<Group>& groups);

  // Puts a function's probe into a group; reports when nothing can serve it.
  void Add(const Target& target);

 private:
  enum class Way : uint8_t { kTyped, kMulti, kPerf };
  // What is known of a function's prototype.
  struct Signature {
    uint32_t btf_id = 0;  // 0: none, and `why_not` says so
    std::string why_not;
    kernel::FunctionPrototype prototype;
  };

  std::vector<Way> WaysFor(const Target& target) const;
  std::string WhyNot(Way way, const Target& target);
  std::string WhyNotTyped(const Target& target);
  std::string WhyNotMulti(const Target& target);
  std::string WhyNotPerf(const Target& target);
  const Signature& SignatureOf(const Target& target);
  bool NeedsSignature() const;

  void AddTyped(const Target& target, std::vector<plan::Refused> refused);
  void AddKprobe(Way way, const Target& target, std::vector<plan::Refused> refused);
  void DescribeArguments(const Target& target, Group& group);
  void ReportNoWay(const Target& target, const std::vector<plan::Refused>& refused);

  const Usage& usage_;
  kernel::Kernel& kernel_;
  diag::Diagnostics& diagnostics_;
  std::vector<Group>& groups_;
  size_t entries_ = 0, exits_ = 0;  // how many functions the clause has
  std::map<std::string, size_t> by_key_;
  std::map<std::string, Signature> signatures_;
  std::map<bool, std::string> typed_refusal_;  // by is_exit: what holds for every function
  std::optional<diag::Span> reported_;         // the spec for which nothing served, told once
};

}  // namespace memtrace::probes
