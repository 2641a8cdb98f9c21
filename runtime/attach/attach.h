// Attach: hangs loaded programs on the events of a Plan's probes and takes them off again.
//
// Everything is held by descriptors of this process, so that nothing is left behind however it
// ends. begin, end and interval are not attached: the reader runs them (runtime/bpf/run.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "compiler/base/file.h"
#include "compiler/base/result.h"
#include "compiler/plan/plan.h"
#include "runtime/bpf/object.h"

namespace memtrace::attach {

// A probe that was left out because config.missing_probes allows it.
struct Failure {
  std::string name;  // of the probe, or the function
  std::string reason;
};

// Called before each place that is attached to; false gives up.
using Progress = std::function<bool(size_t done, size_t total)>;

// The attachments of one session. Destroying it detaches.
class Attachments {
 public:
  Attachments() = default;
  Attachments(Attachments&&) = default;
  Attachments& operator=(Attachments&&) = default;
  ~Attachments() { Detach(); }

  // Raw tracepoints first (microseconds each), then what the kernel waits for, tens of milliseconds
  // each: events of the others should not go on meanwhile. Events that run may still end after it.
  void Detach();

  bool empty() const { return links_.empty(); }
  const std::vector<Failure>& failures() const { return failures_; }

  // For each program of the plan, what the kernel did not get to it. Ask before Detach.
  std::vector<uint64_t> Missed(const plan::Plan& plan) const;

 private:
  friend class Attacher;
  struct Link {
    UniqueFd fd;
    plan::Index program = 0;
    bool is_quick = false;  // to close
    bool counts_misses = false;
  };
  std::vector<Link> links_;
  std::vector<Failure> failures_;
};

// A file that runs the program of a kIterator probe for each object as it is read; one byte each.
Result<UniqueFd> OpenIterator(const plan::Probe& probe, int program_fd);

// What attaching has to know of the machine and of whom is traced.
struct Place {
  std::vector<uint32_t> online_cpus;  // one at least
  pid_t process = 0;  // the one of -p: probes on programs are only put there; 0: all
  pid_t root = 0;     // without `process`, the first of a tree: whose memory is watched; 0: none
};

// Attaches every probe, or none: on failure what was attached is detached, and the error says which
// probe failed and, where rights are missing, which. Probes that may be missing become failures()
// instead, unless none is left. kBusy: `progress` gave up.
Result<Attachments> Attach(const plan::Plan& plan, const bpf::Loaded& loaded, const Place& place,
                           const Progress& progress = {});

}  // namespace memtrace::attach
