#include "runtime/bpf/run.h"

#include <bpf/bpf.h>

namespace memtrace::bpf {

Result<Done> RunOnce(int program_fd) {
  // A raw tracepoint has at most twelve arguments (MAX_BPF_FUNC_ARGS).
  uint64_t arguments[12] = {};
  LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = arguments, .ctx_size_in = sizeof arguments);
  int status = bpf_prog_test_run_opts(program_fd, &options);
  if (status != 0) return Error::FromErrno("run a program", -status);
  return Done{};
}

Result<ProgramCounters> ReadCounters(int program_fd) {
  bpf_prog_info info = {};
  uint32_t size = sizeof info;
  int status = bpf_obj_get_info_by_fd(program_fd, &info, &size);
  if (status != 0) return Error::FromErrno("read a program's counters", -status);
  return ProgramCounters{
      .runs = info.run_cnt, .run_time_ns = info.run_time_ns, .missed = info.recursion_misses};
}

Result<UniqueFd> EnableRunTimeStatistics() {
  int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
  if (fd < 0) return Error::FromErrno("enable BPF run-time statistics", -fd);
  return UniqueFd(fd);
}

}  // namespace memtrace::bpf
