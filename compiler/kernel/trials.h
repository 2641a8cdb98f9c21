// What this kernel does when it is asked to: features are found by trying, never by a version.
//
// Each question is one or two bpf(2) calls with a program that does nothing, asked when the answer
// decides something. A fixture answers from its file `trials`, one line each:
//     fentry: ok
//     fentry do_mmap: ENOTSUPP
//     kprobe_multi: EOPNOTSUPP
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace memtrace::kernel {

struct Answer {
  bool works = true;
  std::string refusal;  // "EPERM"
};

// A function as typed programs are attached to it.
struct TypedFunction {
  std::string name;
  uint32_t btf_id = 0;
  std::string module;  // empty: the id is one of vmlinux
  bool is_exit = false;
};

class Trials {
 public:
  // `fixture` is empty on a live machine, else the file of answers; `sys` holds the buses.
  Trials(std::filesystem::path sys, std::filesystem::path fixture);

  // Whether a program loads for the function (fentry, fexit).
  Answer LoadsTyped(const TypedFunction& function);
  // Whether it also attaches. Costs some milliseconds, and the machine a grace period when it is
  // taken off again; loading tells less: do_mmap with its eight arguments loads on 6.1 and then
  // fails to attach.
  Answer AttachesTyped(const TypedFunction& function);
  // Whether perf has a source of events of this name (sys/bus/event_source/devices).
  bool HasPerfDevice(std::string_view name) const;
  // Whether perf has kprobes, and uprobes.
  Answer Kprobe() const;
  Answer Uprobe() const;
  // Whether many functions can be attached to at once (CONFIG_FPROBE). This and the next are tried
  // once.
  const Answer& KprobeMulti();
  // Whether many places of a file can be attached to at once, and for one process alone. A kernel
  // whose filter lets only one thread of that process through (before Linux 46ba0e49b642 ("bpf: fix
  // multi-uprobe PID filtering logic") in v6.10) is one that cannot.
  const Answer& UprobeMulti();
  // Whether the machine has the counter `event` (PERF_COUNT_HW_*). Missing rights are no answer.
  Answer Hardware(uint64_t event);

 private:
  Answer FromFixture(std::string_view question, std::string_view function) const;

  std::filesystem::path sys_;
  bool is_live_;
  std::map<std::string, std::string> answers_;
  std::optional<Answer> kprobe_multi_, uprobe_multi_;
};

}  // namespace memtrace::kernel
