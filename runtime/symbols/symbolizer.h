// Symbolizer: names for addresses of the kernel and of processes.
//
// Kernel: kallsyms, read once on first use. User: the process's mappings (taken while it lives) and
// the symbol tables of its files, cached per file. An address that nothing names prints as hex, a
// user one as module+offset. Used by the thread that prints, never by the one that drains the ring.
// Nothing is locked: one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace memtrace::symbols {

struct Frame {
  std::string symbol;  // empty: unknown
  // From the symbol; without one, from the module as its file numbers addresses (what addr2line
  // takes).
  uint64_t offset = 0;
  // Kernel module, path of the file, "[heap]", "[vdso]", "[anon]"; empty: vmlinux or unknown.
  std::string module;
  uint64_t address = 0;
};

class Symbolizer {
 public:
  Symbolizer();
  ~Symbolizer();

  Frame Kernel(uint64_t address);
  Frame User(uint32_t process, uint64_t address);

  // The frames of a kernel stack without those on top that are machinery of tracing: programs of
  // BPF, trampolines and what calls them.
  std::span<const uint64_t> WithoutTracing(const std::vector<uint64_t>& frames);

  // Remembers the mappings of a process that may be gone later; cheap when already known.
  void NoteProcess(uint32_t process);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// "do_anonymous_page+123", "malloc+25 [libc.so.6]", "0x7f… [libc.so.6+0x2a1f0]", "0x7f…
// [heap+0x10]", "0x7f…".
std::string ToText(const Frame& frame);

}  // namespace memtrace::symbols
