#include "runtime/attach/kprobe.h"

#include <cerrno>
#include <cstring>
#include <string>

#include <bpf/bpf.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/attach/rights.h"

namespace memtrace::attach {
namespace {

// Of the `config` of a kprobe's perf event (format/retprobe).
constexpr uint64_t kReturnProbe = 1;

Error Refused(std::string_view step, int error_number) {
  switch (error_number) {
    case ENOENT:
    case ESRCH:
      return Error(ErrorKind::kNotFound, "this kernel has no such place");
    case EINVAL:
      return Error(ErrorKind::kUnsupported, "the kernel takes no probe there");
    case EADDRNOTAVAIL:
      return Error(ErrorKind::kUnsupported, "several functions have this name");
    default:
      return Explain(step, error_number, RightsForPerf());
  }
}

}  // namespace

Result<UniqueFd> OpenKprobe(const plan::Probe& probe, const plan::Function& function,
                            uint32_t perf_type, uint32_t cpu, int program_fd) {
  perf_event_attr attributes = {};
  attributes.size = sizeof attributes;
  attributes.type = perf_type;
  if (probe.kind == plan::AttachKind::kKretprobe) attributes.config = kReturnProbe;
  if (function.address != 0) {
    attributes.kprobe_addr = function.address;  // kprobe_func stays null
  } else {
    attributes.kprobe_func = reinterpret_cast<uint64_t>(function.symbol.c_str());
    attributes.probe_offset = probe.offset;
  }
  // One event serves all CPUs: the program hangs on the kprobe itself.
  UniqueFd event(
      static_cast<int>(::syscall(SYS_perf_event_open, &attributes, /*pid=*/-1,
                                 static_cast<int>(cpu), /*group=*/-1, PERF_FLAG_FD_CLOEXEC)));
  if (!event.valid()) return Refused("perf_event_open", errno);
  LIBBPF_OPTS(bpf_link_create_opts, options);
  options.perf_event.bpf_cookie = function.cookie;
  int link = bpf_link_create(program_fd, event.get(), BPF_PERF_EVENT, &options);
  if (link < 0) return Explain("link a program to a kprobe", -link, RightsForBpf());
  return UniqueFd(link);
}

Result<UniqueFd> OpenKprobeMulti(const std::vector<plan::Function>& functions, bool is_return,
                                 int program_fd) {
  std::vector<const char*> symbols;
  std::vector<unsigned long> addresses;
  std::vector<__u64> cookies;
  bool has_addresses = true;
  for (const plan::Function& function : functions) {
    // The kernel looks symbols up without their module.
    size_t colon = function.symbol.find(':');
    symbols.push_back(function.symbol.c_str() + (colon == std::string::npos ? 0 : colon + 1));
    addresses.push_back(function.address);
    cookies.push_back(function.cookie);
    has_addresses &= function.address != 0;
  }
  LIBBPF_OPTS(bpf_link_create_opts, options);
  options.kprobe_multi.flags = is_return ? BPF_F_KPROBE_MULTI_RETURN : 0;
  options.kprobe_multi.cnt = static_cast<uint32_t>(functions.size());
  options.kprobe_multi.cookies = cookies.data();
  if (has_addresses) {
    options.kprobe_multi.addrs = addresses.data();
  } else {
    options.kprobe_multi.syms = symbols.data();
  }
  int link = bpf_link_create(program_fd, 0, BPF_TRACE_KPROBE_MULTI, &options);
  if (link < 0) return Refused("link a program to functions", -link);
  return UniqueFd(link);
}

uint64_t MissedByLink(int link_fd) {
  // struct bpf_link_info as of Linux 3acf8ace6823 ("bpf: Add missed value to kprobe perf link
  // info") in v6.7, which libbpf's headers here do not know.
  struct Info {
    uint32_t type, id, program_id, padding;
    union {
      struct {
        uint64_t addresses;
        uint32_t count, flags;
        uint64_t missed;
      } kprobe_multi;
      struct {
        uint32_t type, padding;
        uint64_t name;
        uint32_t name_size, offset;
        uint64_t address;
        uint64_t missed;
      } perf_event;
    };
    uint64_t rest[8];
  } info;
  constexpr uint32_t kPerfKprobe = 3, kPerfKretprobe = 4;  // enum bpf_perf_event_type
  std::memset(&info, 0, sizeof info);
  uint32_t size = sizeof info;
  if (bpf_obj_get_info_by_fd(link_fd, &info, &size) != 0) return 0;
  if (info.type == BPF_LINK_TYPE_KPROBE_MULTI) return info.kprobe_multi.missed;
  bool is_kprobe = info.type == BPF_LINK_TYPE_PERF_EVENT &&
                   (info.perf_event.type == kPerfKprobe || info.perf_event.type == kPerfKretprobe);
  return is_kprobe ? info.perf_event.missed : 0;
}

}  // namespace memtrace::attach
