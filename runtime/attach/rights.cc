#include "runtime/attach/rights.h"

#include "compiler/base/file.h"

namespace memtrace::attach {

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

}  // namespace memtrace::attach
