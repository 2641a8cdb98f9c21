// Notices: what is told on standard error about the tracing itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/plan/plan.h"
#include "runtime/attach/attach.h"
#include "runtime/bpf/run.h"
#include "runtime/session/scope.h"

namespace memtrace::session {

// "tracing kmem:mm_page_alloc (raw_tp mm_page_alloc), only process 12. Ctrl-C to end." Empty when
// nothing is attached.
std::string TracingNotice(const plan::Plan& plan, const ScopeOptions& scope = {});

// Which probes were left out, named as long as they are few.
std::string MissingNotice(const std::vector<attach::Failure>& failures);

// -v: one line per attachment, with what was refused, whether misses are counted and what is
// filtered out; kernel memory planned.
std::string AttachDetails(const plan::Plan& plan, const ScopeOptions& scope = {});

// Of that, the lines about attachments.
std::string Attachments(const plan::Plan& plan);

// --stats: one line per program. `counters` has one entry per Plan::programs.
std::string StatisticsLines(const plan::Plan& plan,
                            const std::vector<bpf::ProgramCounters>& counters);

// "3.2 s", "250 ms", "2 min 5 s".
std::string DurationText(uint64_t ns);

}  // namespace memtrace::session
