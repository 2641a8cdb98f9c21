// The one door to what is known about a kernel: BTF, tracefs formats, symbols, CPUs, system calls,
// features.
//
// The same code reads the live machine and a fixture tree: Roots says where /sys and /proc are.
// Nothing is read before it is asked for, and what was read is kept. Attaching and loading are not
// here (runtime).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/file.h"
#include "compiler/base/result.h"
#include "compiler/kernel/btf.h"
#include "compiler/kernel/cgroups.h"
#include "compiler/kernel/functions.h"
#include "compiler/kernel/tracepoint_format.h"
#include "compiler/kernel/trials.h"
#include "compiler/types/type.h"

namespace memtrace::kernel {

struct Roots {
  std::filesystem::path sys = "/sys";
  std::filesystem::path proc = "/proc";
  std::filesystem::path trials = {};  // a fixture's answers (trials.h)
  // Before the paths of programs and libraries; empty: those of the machine.
  std::filesystem::path programs = {};
  bool live =
      true;  // false: a fixture; nothing is mounted and no system call asks the running kernel

  // `root`/sys, `root`/proc, `root`/programs and `root`/trials of a fixture.
  static Roots Fixture(const std::filesystem::path& root);
};

// "kmem" and "mm_page_alloc".
struct TracepointName {
  std::string category;
  std::string event;
  bool operator==(const TracepointName&) const = default;
  auto operator<=>(const TracepointName&) const = default;
};

class Kernel {
 public:
  Kernel(Roots roots, types::TypeTable& types);
  ~Kernel();

  types::TypeTable& types() { return types_; }

  // The kernel's BTF (sys/kernel/btf/vmlinux), read on the first call; kNotFound when the kernel
  // has none.
  Result<Btf*> LoadBtf();

  // A module's BTF (sys/kernel/btf/MODULE); an empty name is vmlinux.
  Result<Btf*> LoadBtf(const std::string& module);
  // Fills in a struct that came from any of them.
  void Complete(types::Type type);

  // All functions, by kallsyms and available_filter_functions, read on the first call.
  Functions& functions();
  // What the running kernel answers when it is tried.
  Trials& trials() { return trials_; }
  // The root folder of programs and libraries (Roots::programs).
  std::string program_root() const { return roots_.programs.string(); }
  // Whether the kernel counts what programs on tracepoints and kprobes miss (since Linux
  // 3acf8ace6823
  // ("bpf: Add missed value to kprobe perf link info") and its relatives in v6.7).
  bool CountsMisses();

  // The directory that holds `events/`. On a live machine where tracefs is mounted nowhere it is
  // mounted detached (fsopen, fsmount), so that nothing visible is left behind; the path then goes
  // through /proc/self/fd. kPermission and kNotFound say what is missing in words.
  Result<std::filesystem::path> Tracefs();

  // All tracepoints, sorted. Directory reads only.
  Result<const std::vector<TracepointName>*> Tracepoints();
  // The parsed format; kNotFound for an unknown event.
  Result<const TracepointFormat*> Format(const TracepointName& name);

  // Whether a tracepoint exists, with one stat instead of a listing.
  Result<bool> HasTracepoint(const TracepointName& name);

  uint32_t possible_cpus();  // highest possible CPU number + 1 (sys/devices/system/cpu/possible)
  std::vector<uint32_t> online_cpus();
  CgroupMounts cgroup_mounts() const;  // from proc/self/mountinfo
  uint64_t page_size() const;
  std::string release();             // "6.18.44", from proc/sys/kernel/osrelease
  std::string architecture() const;  // "x86_64", "aarch64": of the machine memtrace was built for

  // A line such as "CONFIG_KPROBES" of proc/config.gz is not trusted: features are found by trying.
  // Names of addresses live in runtime/symbols.

 private:
  Roots roots_;
  types::TypeTable& types_;
  Trials trials_;
  std::unique_ptr<Btf> btf_;
  std::map<std::string, std::unique_ptr<Btf>> module_btfs_;
  std::unique_ptr<Functions> functions_;
  std::optional<std::filesystem::path> tracefs_;
  UniqueFd tracefs_mount_;
  std::optional<std::vector<TracepointName>> tracepoints_;
  std::map<TracepointName, TracepointFormat> formats_;
};

}  // namespace memtrace::kernel
