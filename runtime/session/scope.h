// Scope: tells the programs' filters whom they let through.
//
// The filters compare with words of mt_state (plan::Scope); here they are written before the first
// event. A tree of processes is a set of bits that a program keeps at each fork; what was forked
// before that program was attached is found in /proc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <sys/types.h>

#include "compiler/base/file.h"
#include "compiler/base/result.h"
#include "compiler/plan/plan.h"
#include "runtime/bpf/state.h"

namespace memtrace::session {

struct ScopeOptions {
  std::optional<pid_t> process;  // -p: this one; its end ends the tracing
  std::optional<pid_t> tree;     // --tree: this one and all that it forked and will fork
  bool command_tree = false;     // the command of -c and what it forks
  std::optional<uint64_t> cgroup;
  std::string cgroup_path;  // as it was given, for messages
};

// Opens a process, so that its end can be waited for and its number is not mistaken for another's.
// kNotFound: there is none; kInvalid: the number is that of a thread.
Result<UniqueFd> OpenProcess(pid_t pid);

// Writes what the filters compare with; `root` is the first process of a tree, or 0. What it forked
// so far is looked for.
Result<Done> SetScope(const plan::Plan& plan, bpf::State& state, const ScopeOptions& options,
                      pid_t root);

// Adds descendants of members until there are none left to add. Called once forks are followed, it
// finds everything that was forked before and whose parents live.
void SeedTree(const plan::Plan& plan, bpf::State& state);

// "only process 12", "only process 12 and what it forks", "only cgroup /pods/web"; empty: all.
std::string ScopeText(const plan::Plan& plan, const ScopeOptions& options);

}  // namespace memtrace::session
