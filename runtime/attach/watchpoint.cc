#include "runtime/attach/watchpoint.h"

#include <cerrno>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>

#include <linux/hw_breakpoint.h>

#include "compiler/base/file.h"
#include "runtime/attach/rights.h"

namespace memtrace::attach {
namespace {

// 0: it has ended.
pid_t ParentOf(pid_t process) {
  auto text = ReadFile("/proc/" + std::to_string(process) + "/stat");
  if (!text.ok()) return 0;
  // "NUMBER (NAME) STATE PARENT …"; a name may hold anything.
  size_t name_end = text.value().rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream rest(text.value().substr(name_end + 1));
  std::string state;
  pid_t parent = 0;
  rest >> state >> parent;
  return parent;
}

}  // namespace

perf_event_attr WatchpointAttributes(const plan::Probe& probe) {
  perf_event_attr attributes = {};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_BREAKPOINT;
  attributes.sample_period = 1;
  attributes.bp_addr = probe.config;
  attributes.bp_len = probe.offset;
  for (char mode : probe.event) {
    attributes.bp_type |= mode == 'r'   ? HW_BREAKPOINT_R
                          : mode == 'w' ? HW_BREAKPOINT_W
                                        : HW_BREAKPOINT_X;
  }
  // The only length that the kernel takes for code.
  if (attributes.bp_type == HW_BREAKPOINT_X) attributes.bp_len = sizeof(long);
  return attributes;
}

Error RefusedWatchpoint(int error_number) {
  switch (error_number) {
    case ENOSPC:
      return Error(ErrorKind::kUnsupported, "all hardware watchpoints of the processor are in use");
    case ESRCH:
      return Error(ErrorKind::kNotFound, "the thread has ended");
    case EINVAL:
    case EOPNOTSUPP:
      return Error(ErrorKind::kUnsupported, "the processor can't watch that");
    default:
      return Explain("perf_event_open", error_number, RightsForPerf());
  }
}

Result<std::vector<pid_t>> ThreadsOf(pid_t process) {
  MT_ASSIGN_OR_RETURN(std::vector<std::string> names,
                      ListDirectory("/proc/" + std::to_string(process) + "/task"));
  std::vector<pid_t> threads;
  for (const std::string& name : names) threads.push_back(std::atoi(name.c_str()));
  return threads;
}

Result<std::vector<pid_t>> TreeOf(pid_t process) {
  MT_ASSIGN_OR_RETURN(std::vector<std::string> names, ListDirectory("/proc"));
  std::multimap<pid_t, pid_t> children;
  for (const std::string& name : names) {
    pid_t child = std::atoi(name.c_str());
    if (child != 0) children.emplace(ParentOf(child), child);
  }
  std::vector<pid_t> processes = {process}, threads;
  for (size_t i = 0; i < processes.size(); ++i) {
    auto [child, end] = children.equal_range(processes[i]);
    for (; child != end; ++child) processes.push_back(child->second);
  }
  for (pid_t each : processes) {
    auto of_process = ThreadsOf(each);
    if (!of_process.ok() && each == process) return of_process.error();
    if (!of_process.ok()) continue;  // it has ended
    threads.insert(threads.end(), of_process.value().begin(), of_process.value().end());
  }
  return threads;
}

}  // namespace memtrace::attach
