#include "runtime/attach/uprobe.h"

#include <cerrno>

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "compiler/kernel/uprobe_multi.h"
#include "runtime/attach/rights.h"

namespace memtrace::attach {
namespace {

// Of the `config` of a uprobe's perf event (format/retprobe, format/ref_ctr_offset).
constexpr uint64_t kReturnProbe = 1;
constexpr int kSemaphoreShift = 32;

Error Refused(std::string_view step, const std::string& path, int error_number) {
  switch (error_number) {
    case ENOENT:
      return Error(ErrorKind::kNotFound, path + " is not there");
    case ESRCH:
      return Error(ErrorKind::kNotFound, "there is no such process");
    case EINVAL:
      return Error(ErrorKind::kUnsupported, "the kernel takes no probe there, in " + path);
    case EIO:
    case ENOTSUP:
      return Error(ErrorKind::kUnsupported,
                   "the kernel can't put a probe on the instruction there, in " + path);
    default:
      return Explain(step, error_number, RightsForPerf());
  }
}

}  // namespace

Result<UniqueFd> OpenUprobe(const plan::Probe& probe, const plan::Function& function,
                            uint32_t perf_type, pid_t process, uint32_t cpu, int program_fd) {
  perf_event_attr attributes = {};
  attributes.size = sizeof attributes;
  attributes.type = perf_type;
  attributes.config = function.semaphore << kSemaphoreShift;
  if (probe.kind == plan::AttachKind::kUretprobe) attributes.config |= kReturnProbe;
  attributes.uprobe_path = reinterpret_cast<uint64_t>(probe.path.c_str());
  attributes.probe_offset = function.address;
  // Without a process one event serves all CPUs: the program hangs on the uprobe itself.
  UniqueFd event(static_cast<int>(
      ::syscall(SYS_perf_event_open, &attributes, process != 0 ? process : -1,
                process != 0 ? -1 : static_cast<int>(cpu), /*group=*/-1, PERF_FLAG_FD_CLOEXEC)));
  if (!event.valid()) return Refused("perf_event_open", probe.path, errno);
  LIBBPF_OPTS(bpf_link_create_opts, options);
  options.perf_event.bpf_cookie = function.cookie;
  int link = bpf_link_create(program_fd, event.get(), BPF_PERF_EVENT, &options);
  if (link < 0) return Explain("link a program to a uprobe", -link, RightsForBpf());
  return UniqueFd(link);
}

Result<UniqueFd> OpenUprobeMulti(const std::string& path,
                                 const std::vector<plan::Function>& functions, bool is_return,
                                 pid_t process, int program_fd) {
  std::vector<uint64_t> offsets, cookies, semaphores;
  bool has_semaphores = false;
  for (const plan::Function& function : functions) {
    offsets.push_back(function.address);
    cookies.push_back(function.cookie);
    semaphores.push_back(function.semaphore);
    has_semaphores |= function.semaphore != 0;
  }
  kernel::UprobeMultiLink attributes = {
      .program_fd = static_cast<uint32_t>(program_fd),
      .path = reinterpret_cast<uint64_t>(path.c_str()),
      .offsets = reinterpret_cast<uint64_t>(offsets.data()),
      .semaphores = has_semaphores ? reinterpret_cast<uint64_t>(semaphores.data()) : 0,
      .cookies = reinterpret_cast<uint64_t>(cookies.data()),
      .count = static_cast<uint32_t>(functions.size()),
      .flags = is_return ? kernel::kUprobeMultiReturn : 0,
      .process = static_cast<uint32_t>(process)};
  UniqueFd link(
      static_cast<int>(::syscall(SYS_bpf, BPF_LINK_CREATE, &attributes, sizeof attributes)));
  if (!link.valid()) return Refused("link a program to a file", path, errno);
  return link;
}

}  // namespace memtrace::attach
