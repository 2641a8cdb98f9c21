// Child: the command of -c, held before its first instruction until everything is attached.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <sys/types.h>

#include "compiler/base/file.h"
#include "compiler/base/result.h"

namespace memtrace::session {

class Child {
 public:
  // Forks and holds. `command` is split at blanks, or given to sh when it has anything that only a
  // shell understands. `oom_score_adj` is what the child gets back (memtrace lowers its own).
  static Result<Child> Fork(const std::string& command, const std::string& oom_score_adj);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  // A child that was not released goes without having done anything; a running one gets SIGTERM.
  ~Child();

  // From now on `on_exit` is called (from Poll) with the id of the command's process, and of each
  // process that it forks, when that is about to exit and its mappings can still be read. Costs a
  // stop of the process at each fork, exit and signal, so it is asked for only where user addresses
  // need names. Where ptrace is refused nothing happens.
  void WatchExits(std::function<void(pid_t)> on_exit);

  // Lets it run; returns once it has, or with what exec failed with.
  Result<Done> Release();

  // Handles what happened to it. Its exit status (128 + n when signal n ended it), or empty while
  // it runs. Never waits.
  std::optional<int> Poll();

  pid_t pid() const { return pid_; }

 private:
  Child(std::string command, pid_t pid, UniqueFd go, UniqueFd failure);
  void HandleStop(pid_t pid, int status);
  std::string command_;
  pid_t pid_ = -1;
  std::optional<int> status_;
  std::function<void(pid_t)> on_exit_;  // empty: not watched
  UniqueFd go_;       // closing it unread makes the child go away, a byte lets it run
  UniqueFd failure_;  // errno of exec; end of file when exec succeeded
};

}  // namespace memtrace::session
