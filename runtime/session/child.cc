#include "runtime/session/child.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

namespace memtrace::session {
namespace {

std::vector<std::string> Words(const std::string& command) {
  if (command.find_first_of("|&;<>()$`\\\"'*?[]#~=%{}!\n") != command.npos) {
    return {"/bin/sh", "-c", command};
  }
  std::vector<std::string> words;
  for (size_t begin = 0; (begin = command.find_first_not_of(" \t", begin)) != command.npos;) {
    size_t end = std::min(command.find_first_of(" \t", begin), command.size());
    words.push_back(command.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

// In the child: waits, then becomes the command. Nothing here allocates.
[[noreturn]] void RunChild(int go, int failure, char** words, const std::string& oom_score_adj) {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  if (int fd = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
      fd >= 0 && !oom_score_adj.empty()) {
    [[maybe_unused]] ssize_t written = ::write(fd, oom_score_adj.data(), oom_score_adj.size());
    ::close(fd);
  }
  char byte;
  if (::read(go, &byte, 1) != 1) ::_exit(0);
  ::execvp(words[0], words);
  int error_number = errno;
  [[maybe_unused]] ssize_t written = ::write(failure, &error_number, sizeof error_number);
  ::_exit(127);
}

}  // namespace

Result<Child> Child::Fork(const std::string& command, const std::string& oom_score_adj) {
  std::vector<std::string> words = Words(command);
  if (words.empty()) return Error(ErrorKind::kInvalid, "-c needs a command");
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);

  int go[2], failure[2];
  if (::pipe2(go, O_CLOEXEC) != 0) return Error::FromErrno("pipe");
  UniqueFd go_read(go[0]), go_write(go[1]);
  if (::pipe2(failure, O_CLOEXEC) != 0) return Error::FromErrno("pipe");
  UniqueFd failure_read(failure[0]), failure_write(failure[1]);
  pid_t pid = ::fork();
  if (pid < 0) return Error::FromErrno("fork");
  if (pid == 0) {
    go_write.Reset();  // else its own copy would keep the pipe open when memtrace dies
    RunChild(go_read.get(), failure_write.get(), pointers.data(), oom_score_adj);
  }
  return Child(command, pid, std::move(go_write), std::move(failure_read));
}

Child::Child(std::string command, pid_t pid, UniqueFd go, UniqueFd failure)
    : command_(std::move(command)), pid_(pid), go_(std::move(go)), failure_(std::move(failure)) {}

Child::Child(Child&& other) noexcept
    : command_(std::move(other.command_)),
      pid_(std::exchange(other.pid_, -1)),
      status_(other.status_),
      on_exit_(std::move(other.on_exit_)),
      go_(std::move(other.go_)),
      failure_(std::move(other.failure_)) {}

Child::~Child() {
  if (pid_ < 0 || Poll()) return;
  bool was_held = go_.valid();
  go_.Reset();
  if (was_held) {
    ::waitpid(pid_, nullptr, 0);
  } else {
    ::kill(pid_, SIGTERM);
    // A watched child gets the signal through us.
    for (int i = 0; on_exit_ && i < 100 && !Poll(); ++i) ::usleep(1000);
  }
}

Result<Done> Child::Release() {
  char byte = 0;
  [[maybe_unused]] ssize_t written = ::write(go_.get(), &byte, 1);
  go_.Reset();
  int error_number = 0;
  ssize_t got;
  do {
    got = ::read(failure_.get(), &error_number, sizeof error_number);
  } while (got < 0 && errno == EINTR);
  if (got == sizeof error_number) return Error::FromErrno("run " + command_, error_number);
  return Done{};
}

void Child::WatchExits(std::function<void(pid_t)> on_exit) {
  constexpr long kOptions = PTRACE_O_TRACEEXIT | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
  if (::ptrace(PTRACE_SEIZE, pid_, nullptr, kOptions) == 0) on_exit_ = std::move(on_exit);
}

void Child::HandleStop(pid_t pid, int status) {
  int event = status >> 16;
  long signal = WSTOPSIG(status);
  if (event == PTRACE_EVENT_STOP && signal != SIGTRAP) {
    // Stopped by SIGSTOP or the terminal: it stays so.
    ::ptrace(PTRACE_LISTEN, pid, nullptr, nullptr);
    return;
  }
  if (event == PTRACE_EVENT_EXIT) on_exit_(pid);
  ::ptrace(PTRACE_CONT, pid, nullptr, event == 0 ? signal : 0);
}

std::optional<int> Child::Poll() {
  int status;
  pid_t pid;
  while ((pid = ::waitpid(on_exit_ ? -1 : pid_, &status, WNOHANG | __WALL)) > 0) {
    if (WIFSTOPPED(status)) {
      if (on_exit_) HandleStop(pid, status);
    } else if (pid == pid_) {
      status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
  }
  return status_;
}

}  // namespace memtrace::session
