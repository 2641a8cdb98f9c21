#include "runtime/attach/attach.h"

#include <cerrno>
#include <string>

#include <bpf/bpf.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace memtrace::attach {
namespace {

// What would help, behind an error for missing rights.
std::string RightsForBpf() { return "needs root, or CAP_BPF and CAP_PERFMON"; }

std::string RightsForPerf() {
  Result<std::string> paranoid = ReadFile("/proc/sys/kernel/perf_event_paranoid");
  std::string value = paranoid.ok() ? paranoid.value() : "";
  while (!value.empty() && value.back() == '\n') value.pop_back();
  // Debian's kernels know a level that refuses perf events to everyone but root, whatever the
  // capabilities.
  if (value.size() == 1 && value[0] >= '3')
    return "needs root while kernel.perf_event_paranoid is " + value;
  return "needs root, or CAP_PERFMON (kernel.perf_event_paranoid is " + value + ")";
}

Error Explain(std::string_view step, int error_number, const std::string& rights) {
  Error error = Error::FromErrno(step, error_number);
  if (error.kind() != ErrorKind::kPermission) return error;
  return Error(error.kind(), error.message() + "; " + rights);
}

Result<UniqueFd> OpenRaw(const char* event, int program_fd) {
  int fd = bpf_raw_tracepoint_open(event, program_fd);
  if (fd >= 0) return UniqueFd(fd);
  if (fd == -ENOENT) return Error(ErrorKind::kNotFound, "this kernel has no such raw tracepoint");
  return Explain("open a raw tracepoint", -fd, RightsForBpf());
}

// A perf event that runs the program; empty when the CPU is offline. The link keeps the event
// alive, so only the link is kept.
Result<UniqueFd> OpenPerf(const perf_event_attr& attributes, uint32_t cpu, int program_fd) {
  UniqueFd event(
      static_cast<int>(::syscall(SYS_perf_event_open, &attributes, /*pid=*/-1,
                                 static_cast<int>(cpu), /*group=*/-1, PERF_FLAG_FD_CLOEXEC)));
  if (!event.valid() && errno == ENODEV) return UniqueFd();
  if (!event.valid()) return Explain("perf_event_open", errno, RightsForPerf());
  int link = bpf_link_create(program_fd, event.get(), BPF_PERF_EVENT, nullptr);
  if (link < 0) return Explain("link a program to a perf event", -link, RightsForBpf());
  return UniqueFd(link);
}

// One event on each of the first `limit` CPUs. A CPU that went offline since the list was read is
// passed over.
Result<Done> OpenOnCpus(const perf_event_attr& attributes, const std::vector<uint32_t>& cpus,
                        size_t limit, int program_fd, std::vector<UniqueFd>& links) {
  size_t opened = 0;
  for (uint32_t cpu : cpus) {
    if (opened == limit) break;
    MT_ASSIGN_OR_RETURN(UniqueFd link, OpenPerf(attributes, cpu, program_fd));
    if (!link.valid()) continue;
    links.push_back(std::move(link));
    ++opened;
  }
  return Done{};
}

perf_event_attr AttributesOf(const plan::Probe& probe) {
  perf_event_attr attributes = {};
  attributes.size = sizeof attributes;
  bool is_tracepoint = probe.kind == plan::AttachKind::kTracepoint;
  attributes.type = is_tracepoint ? PERF_TYPE_TRACEPOINT : PERF_TYPE_SOFTWARE;
  attributes.config = probe.config;
  if (probe.kind == plan::AttachKind::kProfile) attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  attributes.sample_period = probe.period != 0 ? probe.period : 1;
  if (probe.frequency != 0) {
    attributes.freq = 1;
    attributes.sample_freq = probe.frequency;
  }
  return attributes;
}

}  // namespace

void Attachments::Detach() {
  raw_links_.clear();
  perf_links_.clear();
}

static Result<Done> AttachOne(const plan::Probe& probe, int program_fd,
                              const std::vector<uint32_t>& cpus, std::vector<UniqueFd>& raw_links,
                              std::vector<UniqueFd>& perf_links) {
  switch (probe.kind) {
    case plan::AttachKind::kBegin:
    case plan::AttachKind::kEnd:
    case plan::AttachKind::kInterval:
    case plan::AttachKind::kIterator:
    case plan::AttachKind::kSignal:
      return Done{};
    case plan::AttachKind::kRawTracepoint:
    case plan::AttachKind::kTracing: {
      bool is_raw = probe.kind == plan::AttachKind::kRawTracepoint;
      MT_ASSIGN_OR_RETURN(UniqueFd link,
                          OpenRaw(is_raw ? probe.event.c_str() : nullptr, program_fd));
      raw_links.push_back(std::move(link));
      return Done{};
    }
    case plan::AttachKind::kTracepoint:
      // One event serves all CPUs: a program hangs on the tracepoint itself.
      return OpenOnCpus(AttributesOf(probe), cpus, 1, program_fd, perf_links);
    case plan::AttachKind::kSoftware:
    case plan::AttachKind::kProfile:
      return OpenOnCpus(AttributesOf(probe), cpus, cpus.size(), program_fd, perf_links);
  }
  MT_UNREACHABLE("an attach kind outside its enum");
}

Result<UniqueFd> OpenIterator(const plan::Probe& probe, int program_fd) {
  LIBBPF_OPTS(bpf_link_create_opts, options);
  bpf_iter_link_info info = {};
  if (probe.event == "cgroup") {
    // The only one that insists on being told where to begin and in which order to go on.
    info.cgroup.order = BPF_CGROUP_ITER_DESCENDANTS_PRE;
    options.iter_info = &info;
    options.iter_info_len = sizeof info;
  }
  int link = bpf_link_create(program_fd, 0, BPF_TRACE_ITER, &options);
  if (link < 0) return Explain("link an iterator", -link, RightsForBpf());
  UniqueFd owned(link);
  int iterator = bpf_iter_create(link);
  if (iterator < 0) return Explain("create an iterator", -iterator, RightsForBpf());
  return UniqueFd(iterator);
}

Result<Attachments> Attach(const plan::Plan& plan, const bpf::Loaded& loaded,
                           const std::vector<uint32_t>& online_cpus) {
  MT_CHECK(!online_cpus.empty(), "a machine has at least one CPU online");
  Attachments attached;
  for (const plan::Probe& probe : plan.probes) {
    Result<Done> done = AttachOne(probe, loaded.program_fd(probe.program), online_cpus,
                                  attached.raw_links_, attached.perf_links_);
    if (!done.ok()) return done.error().WithContext("attach " + probe.name);
  }
  return attached;
}

}  // namespace memtrace::attach
