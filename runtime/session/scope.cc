#include "runtime/session/scope.h"

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

namespace memtrace::session {
namespace {

// The number behind "NAME:" in /proc/PID/status, or 0.
pid_t StatusNumber(pid_t pid, std::string_view name) {
  Result<std::string> status = ReadFile(fmt::format("/proc/{}/status", pid));
  if (!status.ok()) return 0;
  size_t at = status.value().find(fmt::format("\n{}:", name));
  if (at == std::string::npos) return 0;
  return static_cast<pid_t>(std::atol(status.value().c_str() + at + name.size() + 2));
}

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

// Every process and its parent, as /proc shows them now.
std::vector<std::pair<pid_t, pid_t>> ProcessesAndParents() {
  std::vector<std::pair<pid_t, pid_t>> all;
  std::unique_ptr<DIR, CloseDirectory> proc(::opendir("/proc"));
  if (proc == nullptr) return all;
  while (const dirent* entry = ::readdir(proc.get())) {
    if (!std::isdigit(static_cast<unsigned char>(entry->d_name[0]))) continue;
    auto pid = static_cast<pid_t>(std::atol(entry->d_name));
    if (pid_t parent = StatusNumber(pid, "PPid"); parent != 0) all.emplace_back(pid, parent);
  }
  return all;
}

bool IsInTree(const plan::Plan& plan, const bpf::State& state, pid_t pid) {
  return state.Bit(plan.scope.tree_offset, static_cast<uint32_t>(pid) % plan::kTreeBits);
}

void AddToTree(const plan::Plan& plan, bpf::State& state, pid_t pid) {
  state.SetBit(plan.scope.tree_offset, static_cast<uint32_t>(pid) % plan::kTreeBits);
}

// The one pid namespace in which numbers are those that programs see (PROC_PID_INIT_INO).
bool IsFirstPidNamespace() {
  char link[64] = "";
  return ::readlink("/proc/self/ns/pid", link, sizeof link - 1) < 0 ||
         std::string_view(link) == "pid:[4026531836]";
}

}  // namespace

Result<UniqueFd> OpenProcess(pid_t pid) {
  UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (process.valid()) return process;
  int error = errno;
  pid_t leader = StatusNumber(pid, "Tgid");
  if (leader != 0 && leader != pid) {
    return Error(ErrorKind::kInvalid, fmt::format("{} is a thread of process {}", pid, leader));
  }
  if (error == ESRCH || error == EINVAL) {
    return Error(ErrorKind::kNotFound, fmt::format("there is no process {}", pid));
  }
  return Error::FromErrno(fmt::format("open process {}", pid), error);
}

Result<Done> SetScope(const plan::Plan& plan, bpf::State& state, const ScopeOptions& options,
                      pid_t root) {
  const plan::Scope& scope = plan.scope;
  bool by_number = scope.process_offset != plan::kNoIndex || scope.tree_offset != plan::kNoIndex;
  if (by_number && !IsFirstPidNamespace()) {
    return Error(ErrorKind::kUnsupported,
                 "processes can't be told apart by number inside a pid namespace yet; "
                 "--cgroup works there");
  }
  if (scope.self_offset != plan::kNoIndex) {
    state.SetWord(scope.self_offset, static_cast<uint64_t>(::getpid()));
  }
  if (scope.process_offset != plan::kNoIndex) {
    state.SetWord(scope.process_offset, static_cast<uint64_t>(options.process.value_or(0)));
  }
  if (scope.cgroup_offset != plan::kNoIndex) {
    state.SetWord(scope.cgroup_offset, options.cgroup.value_or(0));
  }
  if (scope.tree_offset != plan::kNoIndex) {
    AddToTree(plan, state, root);
    // What the command of -c forks is followed from its first instruction on.
    if (options.tree) SeedTree(plan, state);
  }
  return Done{};
}

void SeedTree(const plan::Plan& plan, bpf::State& state) {
  if (plan.scope.tree_offset == plan::kNoIndex) return;
  // A child may be listed before its parent, and a process that is not a member yet may fork while
  // we read: only a whole round without a find is the end.
  for (bool found = true; found;) {
    found = false;
    for (const auto& [pid, parent] : ProcessesAndParents()) {
      if (!IsInTree(plan, state, parent) || IsInTree(plan, state, pid)) continue;
      AddToTree(plan, state, pid);
      found = true;
    }
  }
}

std::string ScopeText(const plan::Plan& plan, const ScopeOptions& options) {
  std::string text;
  switch (plan.scope.processes) {
    case plan::ProcessScope::kAll:
      break;
    case plan::ProcessScope::kProcess:
      text = fmt::format("only process {}", options.process.value_or(0));
      break;
    case plan::ProcessScope::kTree:
      text = options.tree ? fmt::format("only process {} and what it forks", *options.tree)
                          : "only the command and what it forks";
      break;
  }
  if (plan.scope.cgroup != plan::CgroupHierarchy::kNone) {
    text += fmt::format("{}cgroup {} and those below it", text.empty() ? "only " : ", in ",
                        options.cgroup_path);
  }
  return text;
}

}  // namespace memtrace::session
