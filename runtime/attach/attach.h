// Attach: hangs loaded programs on the events of a Plan's probes and takes them off again.
//
// Everything is held by descriptors of this process, so that nothing is left behind however it
// ends. begin, end and interval are not attached: the reader runs them (runtime/bpf/run.h).
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/base/file.h"
#include "compiler/base/result.h"
#include "compiler/plan/plan.h"
#include "runtime/bpf/object.h"

namespace memtrace::attach {

// The attachments of one session. Destroying it detaches.
class Attachments {
 public:
  Attachments() = default;
  Attachments(Attachments&&) = default;
  Attachments& operator=(Attachments&&) = default;
  ~Attachments() { Detach(); }

  // Raw tracepoints first (microseconds each), then perf events: the kernel waits about 50 ms for
  // each classic tracepoint, and events of the others should not go on meanwhile. Events that run
  // may still end after it.
  void Detach();

  bool empty() const { return raw_links_.empty() && perf_links_.empty(); }

 private:
  friend Result<Attachments> Attach(const plan::Plan&, const bpf::Loaded&,
                                    const std::vector<uint32_t>&);
  std::vector<UniqueFd> raw_links_;
  std::vector<UniqueFd> perf_links_;
};

// A file that runs the program of a kIterator probe for each object as it is read; one byte each.
Result<UniqueFd> OpenIterator(const plan::Probe& probe, int program_fd);

// Attaches every probe, or none: on failure what was attached is detached, and the error says which
// probe failed and, where rights are missing, which.
Result<Attachments> Attach(const plan::Plan& plan, const bpf::Loaded& loaded,
                           const std::vector<uint32_t>& online_cpus);

}  // namespace memtrace::attach
