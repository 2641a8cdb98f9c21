#include "runtime/attach/attach.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>
#include <string>
#include <thread>

#include <bpf/bpf.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "compiler/kernel/address.h"
#include "runtime/attach/kprobe.h"
#include "runtime/attach/rights.h"
#include "runtime/attach/uprobe.h"
#include "runtime/attach/watchpoint.h"

namespace memtrace::attach {
namespace {

// Links that the kernel waits for are closed by as many threads.
constexpr size_t kClosingThreads = 8;

Result<UniqueFd> OpenRaw(const char* event, int program_fd) {
  int fd = bpf_raw_tracepoint_open(event, program_fd);
  if (fd >= 0) return UniqueFd(fd);
  if (fd == -ENOENT && event != nullptr) {
    return Error(ErrorKind::kNotFound, "this kernel has no such raw tracepoint");
  }
  return Explain(event != nullptr ? "open a raw tracepoint" : "attach a typed program", -fd,
                 RightsForBpf());
}

// A perf event that runs the program, of a thread or of a CPU (the other is -1); empty when the CPU
// is offline. The link keeps the event alive, so only the link is kept.
Result<UniqueFd> OpenPerf(const perf_event_attr& attributes, pid_t thread, int cpu,
                          int program_fd) {
  UniqueFd event(static_cast<int>(::syscall(SYS_perf_event_open, &attributes, thread, cpu,
                                            /*group=*/-1, PERF_FLAG_FD_CLOEXEC)));
  if (!event.valid() && errno == ENODEV) return UniqueFd();
  if (!event.valid() && attributes.type == PERF_TYPE_BREAKPOINT) return RefusedWatchpoint(errno);
  if (!event.valid()) return Explain("perf_event_open", errno, RightsForPerf());
  int link = bpf_link_create(program_fd, event.get(), BPF_PERF_EVENT, nullptr);
  if (link < 0) return Explain("link a program to a perf event", -link, RightsForBpf());
  return UniqueFd(link);
}

// The kind of perf events that come from `device` (bus/event_source/devices/DEVICE/type).
Result<uint32_t> PerfTypeOf(const std::string& device) {
  MT_ASSIGN_OR_RETURN(std::string text,
                      ReadFile("/sys/bus/event_source/devices/" + device + "/type"));
  uint32_t type = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), type).ec != std::errc()) {
    return Error(ErrorKind::kInvalid, "the type of " + device + "s is no number: " + text);
  }
  return type;
}

perf_event_attr AttributesOf(const plan::Probe& probe) {
  if (probe.kind == plan::AttachKind::kWatchpoint) return WatchpointAttributes(probe);
  perf_event_attr attributes = {};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  if (probe.kind == plan::AttachKind::kTracepoint) attributes.type = PERF_TYPE_TRACEPOINT;
  if (probe.kind == plan::AttachKind::kHardware) attributes.type = PERF_TYPE_HARDWARE;
  attributes.config = probe.config;
  if (probe.kind == plan::AttachKind::kProfile) attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  attributes.sample_period = probe.period != 0 ? probe.period : 1;
  if (probe.frequency != 0) {
    attributes.freq = 1;
    attributes.sample_freq = probe.frequency;
  }
  return attributes;
}

Error GivenUp() { return Error(ErrorKind::kBusy, "interrupted while attaching"); }

}  // namespace

// One course of attaching.
class Attacher {
 public:
  Attacher(const plan::Plan& plan, const bpf::Loaded& loaded, const Place& place,
           const Progress& progress)
      : plan_(plan), loaded_(loaded), place_(place), progress_(progress) {}

  Result<Attachments> Run() {
    for (const plan::Probe& probe : plan_.probes) total_ += PlacesOf(probe);
    for (const plan::Probe& probe : plan_.probes) MT_RETURN_IF_ERROR(AttachProbe(probe));
    const std::vector<Failure>& failures = result_.failures_;
    if (result_.empty() && !failures.empty()) {
      std::string more =
          failures.size() > 1 ? " and " + std::to_string(failures.size() - 1) + " more" : "";
      return Error(ErrorKind::kUnsupported,
                   "attach " + failures[0].name + more + ": " + failures[0].reason);
    }
    return std::move(result_);
  }

 private:
  // Steps of the progress.
  static size_t PlacesOf(const plan::Probe& probe) {
    switch (probe.kind) {
      case plan::AttachKind::kBegin:
      case plan::AttachKind::kEnd:
      case plan::AttachKind::kInterval:
      case plan::AttachKind::kIterator:
      case plan::AttachKind::kSignal:
        return 0;
      case plan::AttachKind::kRawTracepoint:
      case plan::AttachKind::kTracing:
      case plan::AttachKind::kTracepoint:
      case plan::AttachKind::kSoftware:
      case plan::AttachKind::kProfile:
      case plan::AttachKind::kHardware:
      case plan::AttachKind::kWatchpoint:
      case plan::AttachKind::kKprobeMulti:
      case plan::AttachKind::kKretprobeMulti:
      case plan::AttachKind::kUprobeMulti:
      case plan::AttachKind::kUretprobeMulti:
        return 1;
      case plan::AttachKind::kKprobe:
      case plan::AttachKind::kKretprobe:
      case plan::AttachKind::kUprobe:
      case plan::AttachKind::kUretprobe:
        return probe.functions.size();
    }
    MT_UNREACHABLE("an attach kind outside its enum");
  }

  // False: whoever waits has seen enough.
  bool Step() { return !progress_ || progress_(done_++, total_); }

  bool MayBeMissing(const plan::Probe& probe) const {
    switch (plan_.config.missing_probes) {
      case plan::MissingProbes::kDefault:
        return probe.may_be_missing;
      case plan::MissingProbes::kError:
        return false;
      case plan::MissingProbes::kWarn:
      case plan::MissingProbes::kIgnore:
        return true;
    }
    MT_UNREACHABLE("a policy outside its enum");
  }

  // Takes the link, or the failure where the probe may be missing.
  Result<Done> Take(const plan::Probe& probe, const std::string& name, Result<UniqueFd> link,
                    bool is_quick = false) {
    if (link.ok()) {
      bool counts = probe.kind == plan::AttachKind::kKprobe ||
                    probe.kind == plan::AttachKind::kKretprobe ||
                    probe.kind == plan::AttachKind::kKprobeMulti ||
                    probe.kind == plan::AttachKind::kKretprobeMulti;
      result_.links_.push_back({.fd = std::move(link).value(),
                                .program = probe.program,
                                .is_quick = is_quick,
                                .counts_misses = counts});
      return Done{};
    }
    bool is_about_place = link.error().kind() != ErrorKind::kPermission;
    if (!MayBeMissing(probe) || !is_about_place) return link.error().WithContext("attach " + name);
    result_.failures_.push_back({.name = name, .reason = link.error().message()});
    return Done{};
  }

  Result<Done> AttachProbe(const plan::Probe& probe) {
    int program_fd = loaded_.program_fd(probe.program);
    switch (probe.kind) {
      case plan::AttachKind::kBegin:
      case plan::AttachKind::kEnd:
      case plan::AttachKind::kInterval:
      case plan::AttachKind::kIterator:
      case plan::AttachKind::kSignal:
        return Done{};
      case plan::AttachKind::kRawTracepoint:
        if (!Step()) return GivenUp();
        return Take(probe, probe.name, OpenRaw(probe.event.c_str(), program_fd), true);
      case plan::AttachKind::kTracing: {
        if (!Step()) return GivenUp();
        bool is_quick =
            plan_.programs[probe.program].tracing_target == plan::TracingTarget::kTypedTracepoint;
        return Take(probe, probe.name, OpenRaw(nullptr, program_fd), is_quick);
      }
      case plan::AttachKind::kTracepoint:
        // One event serves all CPUs: a program hangs on the tracepoint itself.
        return AttachOnCpus(probe, 1);
      case plan::AttachKind::kWatchpoint:
        // The kernel's memory every CPU sees.
        if (!kernel::IsKernelAddress(probe.config)) return AttachWatchpoint(probe);
        [[fallthrough]];
      case plan::AttachKind::kHardware:
      case plan::AttachKind::kSoftware:
      case plan::AttachKind::kProfile:
        return AttachOnCpus(probe, place_.online_cpus.size());
      case plan::AttachKind::kKprobe:
      case plan::AttachKind::kKretprobe:
        return AttachKprobes(probe);
      case plan::AttachKind::kKprobeMulti:
      case plan::AttachKind::kKretprobeMulti:
      case plan::AttachKind::kUprobeMulti:
      case plan::AttachKind::kUretprobeMulti:
        return AttachMulti(probe, probe.functions);
      case plan::AttachKind::kUprobe:
      case plan::AttachKind::kUretprobe:
        return AttachUprobes(probe);
    }
    MT_UNREACHABLE("an attach kind outside its enum");
  }

  // One event on each of the first `limit` CPUs. A CPU that went offline since the list was read is
  // passed over.
  Result<Done> AttachOnCpus(const plan::Probe& probe, size_t limit) {
    if (!Step()) return GivenUp();
    int program_fd = loaded_.program_fd(probe.program);
    perf_event_attr attributes = AttributesOf(probe);
    size_t opened = 0;
    for (uint32_t cpu : place_.online_cpus) {
      if (opened == limit) break;
      Result<UniqueFd> link =
          OpenPerf(attributes, /*thread=*/-1, static_cast<int>(cpu), program_fd);
      if (link.ok() && !link.value().valid()) continue;
      MT_RETURN_IF_ERROR(Take(probe, probe.name, std::move(link)));
      ++opened;
    }
    return Done{};
  }

  // A watchpoint belongs to a thread. Those that the thread starts later inherit it; one that
  // starts while we go through the list may be missed.
  Result<Done> AttachWatchpoint(const plan::Probe& probe) {
    if (!Step()) return GivenUp();
    perf_event_attr attributes = AttributesOf(probe);
    attributes.inherit = 1;
    attributes.inherit_thread = place_.process != 0;  // not by what it forks
    MT_ASSIGN_OR_RETURN(std::vector<pid_t> threads,
                        place_.process != 0 ? ThreadsOf(place_.process) : TreeOf(place_.root));
    for (pid_t thread : threads) {
      Result<UniqueFd> link =
          OpenPerf(attributes, thread, /*cpu=*/-1, loaded_.program_fd(probe.program));
      if (!link.ok() && link.error().kind() == ErrorKind::kNotFound) continue;  // it has ended
      MT_RETURN_IF_ERROR(Take(probe, probe.name, std::move(link)));
    }
    return Done{};
  }

  Result<Done> AttachKprobes(const plan::Probe& probe) {
    if (!kprobe_type_) {
      MT_ASSIGN_OR_RETURN(kprobe_type_, PerfTypeOf("kprobe"));
    }
    for (const plan::Function& function : probe.functions) {
      if (!Step()) return GivenUp();
      Result<UniqueFd> link = OpenKprobe(probe, function, *kprobe_type_, place_.online_cpus.front(),
                                         loaded_.program_fd(probe.program));
      MT_RETURN_IF_ERROR(Take(probe, probe.name, std::move(link)));
    }
    return Done{};
  }

  Result<Done> AttachUprobes(const plan::Probe& probe) {
    if (!uprobe_type_) {
      MT_ASSIGN_OR_RETURN(uprobe_type_, PerfTypeOf("uprobe"));
    }
    for (const plan::Function& function : probe.functions) {
      if (!Step()) return GivenUp();
      Result<UniqueFd> link =
          OpenUprobe(probe, function, *uprobe_type_, place_.process, place_.online_cpus.front(),
                     loaded_.program_fd(probe.program));
      MT_RETURN_IF_ERROR(Take(probe, probe.name, std::move(link)));
    }
    return Done{};
  }

  Result<UniqueFd> OpenMulti(const plan::Probe& probe,
                             const std::vector<plan::Function>& functions) {
    int program_fd = loaded_.program_fd(probe.program);
    if (!probe.path.empty()) {
      bool is_return = probe.kind == plan::AttachKind::kUretprobeMulti;
      return OpenUprobeMulti(probe.path, functions, is_return, place_.process, program_fd);
    }
    bool is_return = probe.kind == plan::AttachKind::kKretprobeMulti;
    return OpenKprobeMulti(functions, is_return, program_fd);
  }

  // The kernel takes all functions or none and does not say which it minds: halves are tried until
  // it is known.
  Result<Done> AttachMulti(const plan::Probe& probe, const std::vector<plan::Function>& functions) {
    if (!Step()) return GivenUp();
    Result<UniqueFd> link = OpenMulti(probe, functions);
    bool is_about_place = !link.ok() && link.error().kind() != ErrorKind::kPermission;
    if (link.ok() || !is_about_place || functions.size() == 1 || !MayBeMissing(probe)) {
      std::string name = functions.size() == 1 ? NameOf(probe, functions[0]) : probe.name;
      return Take(probe, name, std::move(link));
    }
    auto middle = functions.begin() + static_cast<ptrdiff_t>(functions.size() / 2);
    MT_RETURN_IF_ERROR(AttachMulti(probe, {functions.begin(), middle}));
    return AttachMulti(probe, {middle, functions.end()});
  }

  // The probe that a cookie stands for.
  std::string NameOf(const plan::Probe& probe, const plan::Function& function) const {
    uint64_t index = function.cookie & UINT32_MAX;
    return index < plan_.probe_names.size() ? plan_.probe_names[index] : probe.name;
  }

  const plan::Plan& plan_;
  const bpf::Loaded& loaded_;
  const Place& place_;
  const Progress& progress_;
  Attachments result_;
  std::optional<uint32_t> kprobe_type_, uprobe_type_;
  size_t done_ = 0, total_ = 0;
};

void Attachments::Detach() {
  std::stable_partition(links_.begin(), links_.end(),
                        [](const Link& link) { return link.is_quick; });
  auto slow =
      std::find_if(links_.begin(), links_.end(), [](const Link& link) { return !link.is_quick; });
  std::for_each(links_.begin(), slow, [](Link& link) { link.fd.Reset(); });
  size_t count = static_cast<size_t>(links_.end() - slow);
  size_t threads = std::min(count, kClosingThreads);
  auto close_every = [&](size_t first) {
    for (size_t i = first; i < count; i += threads) slow[static_cast<ptrdiff_t>(i)].fd.Reset();
  };
  std::vector<std::thread> others;
  for (size_t i = 1; i < threads; ++i) others.emplace_back(close_every, i);
  if (count > 0) close_every(0);
  for (std::thread& other : others) other.join();
  links_.clear();
}

std::vector<uint64_t> Attachments::Missed(const plan::Plan& plan) const {
  std::vector<uint64_t> missed(plan.programs.size());
  for (const Link& link : links_) {
    if (link.counts_misses) missed[link.program] += MissedByLink(link.fd.get());
  }
  return missed;
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

Result<Attachments> Attach(const plan::Plan& plan, const bpf::Loaded& loaded, const Place& place,
                           const Progress& progress) {
  MT_CHECK(!place.online_cpus.empty(), "a machine has at least one CPU online");
  return Attacher(plan, loaded, place, progress).Run();
}

}  // namespace memtrace::attach
