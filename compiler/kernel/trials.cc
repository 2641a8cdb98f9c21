#include "compiler/kernel/trials.h"

#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>

#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "compiler/base/file.h"
#include "compiler/kernel/module_btf.h"
#include "compiler/kernel/uprobe_multi.h"

namespace memtrace::kernel {
namespace {

constexpr char kLicense[] = "GPL";

int Bpf(int command, bpf_attr& attributes) {
  return static_cast<int>(::syscall(SYS_bpf, command, &attributes, sizeof attributes));
}

// ENOTSUPP is the kernel's own and has no name in libc.
std::string NameOfErrno(int number) {
  constexpr int kNotSupported = 524;
  if (number == kNotSupported) return "ENOTSUPP";
  const char* name = strerrorname_np(number);
  return name != nullptr ? name : "error " + std::to_string(number);
}

Answer Refused(int number) { return {.works = false, .refusal = NameOfErrno(number)}; }

// A program that returns 0.
UniqueFd LoadNothing(uint32_t type, uint32_t attach_type, uint32_t btf_id, int btf_fd) {
  bpf_insn instructions[2] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
                              {.code = BPF_JMP | BPF_EXIT}};
  bpf_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.prog_type = type;
  attributes.insns = reinterpret_cast<uint64_t>(instructions);
  attributes.insn_cnt = 2;
  attributes.license = reinterpret_cast<uint64_t>(kLicense);
  attributes.expected_attach_type = attach_type;
  attributes.attach_btf_id = btf_id;
  attributes.attach_btf_obj_fd = btf_fd < 0 ? 0 : static_cast<uint32_t>(btf_fd);
  return UniqueFd(Bpf(BPF_PROG_LOAD, attributes));
}

UniqueFd LoadTyped(const TypedFunction& function) {
  UniqueFd module;
  if (!function.module.empty()) {
    auto opened = OpenModuleBtf(function.module);
    if (!opened.ok()) {
      errno = ENOENT;
      return {};
    }
    module = std::move(opened).value();
  }
  uint32_t attach_type = function.is_exit ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY;
  return LoadNothing(BPF_PROG_TYPE_TRACING, attach_type, function.btf_id, module.get());
}

// No functions at all: EINVAL from a kernel that would attach, EOPNOTSUPP from one that cannot.
Answer TryKprobeMulti() {
  UniqueFd program = LoadNothing(BPF_PROG_TYPE_KPROBE, BPF_TRACE_KPROBE_MULTI, 0, -1);
  if (!program.valid()) return Refused(errno);
  bpf_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.link_create.prog_fd = static_cast<uint32_t>(program.get());
  attributes.link_create.attach_type = BPF_TRACE_KPROBE_MULTI;
  UniqueFd link(Bpf(BPF_LINK_CREATE, attributes));
  return link.valid() || errno == EINVAL ? Answer{} : Refused(errno);
}

Answer TryUprobeMulti() {
  UniqueFd program = LoadNothing(BPF_PROG_TYPE_KPROBE, kTraceUprobeMulti, 0, -1);
  if (!program.valid()) return Refused(errno);
  const uint64_t offset = 0;
  UprobeMultiLink attributes = {.program_fd = static_cast<uint32_t>(program.get()),
                                .path = reinterpret_cast<uint64_t>("/"),
                                .offsets = reinterpret_cast<uint64_t>(&offset),
                                .count = 1};
  auto refusal = [&] {
    UniqueFd link(
        static_cast<int>(::syscall(SYS_bpf, BPF_LINK_CREATE, &attributes, sizeof attributes)));
    return link.valid() ? 0 : errno;
  };
  // A folder instead of a file: the kernels that know the link get as far as to mind that.
  int of_folder = refusal();
  if (of_folder != EBADF) return Refused(of_folder);
  // For a process that cannot be: those that filter by process look at its number before.
  attributes.process = UINT32_MAX;
  int of_process = refusal();
  return of_process == EINVAL ? Answer{} : Refused(of_process);
}

}  // namespace

Trials::Trials(std::filesystem::path sys, std::filesystem::path fixture)
    : sys_(std::move(sys)), is_live_(fixture.empty()) {
  auto text = is_live_ ? Result<std::string>(std::string()) : ReadFile(fixture);
  std::string_view rest = text.ok() ? std::string_view(text.value()) : std::string_view();
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    size_t colon = line.find(": ");
    if (colon == line.npos) continue;
    answers_.emplace(line.substr(0, colon), line.substr(colon + 2));
  }
}

Answer Trials::FromFixture(std::string_view question, std::string_view function) const {
  auto found = answers_.find(std::string(question) + " " + std::string(function));
  if (found == answers_.end()) found = answers_.find(std::string(question));
  if (found == answers_.end() || found->second == "ok") return {};
  return {.works = false, .refusal = found->second};
}

Answer Trials::LoadsTyped(const TypedFunction& function) {
  if (!is_live_) return FromFixture("load", function.name);
  UniqueFd program = LoadTyped(function);
  return program.valid() ? Answer{} : Refused(errno);
}

Answer Trials::AttachesTyped(const TypedFunction& function) {
  if (!is_live_) return FromFixture("attach", function.name);
  UniqueFd program = LoadTyped(function);
  if (!program.valid()) return Refused(errno);
  bpf_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.raw_tracepoint.prog_fd = static_cast<uint32_t>(program.get());
  UniqueFd link(Bpf(BPF_RAW_TRACEPOINT_OPEN, attributes));
  return link.valid() ? Answer{} : Refused(errno);
}

bool Trials::HasPerfDevice(std::string_view name) const {
  std::error_code ignored;
  return std::filesystem::exists(sys_ / "bus/event_source/devices" / name, ignored);
}

Answer Trials::Kprobe() const {
  return HasPerfDevice("kprobe") ? Answer{} : Answer{.works = false, .refusal = "CONFIG_KPROBES"};
}

Answer Trials::Uprobe() const {
  return HasPerfDevice("uprobe") ? Answer{}
                                 : Answer{.works = false, .refusal = "CONFIG_UPROBE_EVENTS"};
}

const Answer& Trials::KprobeMulti() {
  if (!kprobe_multi_) kprobe_multi_ = is_live_ ? TryKprobeMulti() : FromFixture("kprobe_multi", "");
  return *kprobe_multi_;
}

const Answer& Trials::UprobeMulti() {
  if (!uprobe_multi_) uprobe_multi_ = is_live_ ? TryUprobeMulti() : FromFixture("uprobe_multi", "");
  return *uprobe_multi_;
}

Answer Trials::Hardware(uint64_t event) {
  if (!is_live_) return FromFixture("hardware", "");
  perf_event_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.config = event;
  attributes.exclude_kernel = 1;
  UniqueFd counter(static_cast<int>(
      ::syscall(SYS_perf_event_open, &attributes, /*pid=*/0, /*cpu=*/-1, /*group=*/-1, 0)));
  bool is_missing = errno == ENOENT || errno == ENODEV || errno == EOPNOTSUPP;
  return counter.valid() || !is_missing ? Answer{} : Refused(errno);
}

}  // namespace memtrace::kernel
