#include "runtime/symbols/symbolizer.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "compiler/base/file.h"
#include "compiler/kernel/kallsyms.h"
#include "runtime/symbols/elf_symbols.h"
#include "runtime/symbols/mappings.h"

namespace memtrace::symbols {
namespace {

using Clock = std::chrono::steady_clock;

// An address that no known mapping holds makes us read the mappings again, at most this often: the
// process may have loaded a library or run another program, or the address is garbage.
constexpr std::chrono::milliseconds kRereadPause{50};
// Older mappings stay for stacks taken before a dlclose or an exec.
constexpr size_t kMaxSnapshots = 8;

std::string HexText(uint64_t value) {
  char digits[16];
  return std::string(digits, std::to_chars(digits, digits + sizeof digits, value, 16).ptr);
}

struct Process {
  std::vector<std::vector<Mapping>> snapshots;  // the oldest first
  std::optional<Clock::time_point> read_at;

  const Mapping* Find(uint64_t address) const {
    for (auto snapshot = snapshots.rbegin(); snapshot != snapshots.rend(); ++snapshot) {
      if (const Mapping* mapping = FindMapping(*snapshot, address)) return mapping;
    }
    return nullptr;
  }
};

std::string ProcessPath(uint32_t process) { return "/proc/" + std::to_string(process); }

// Opens `path` if it is a regular file and, where `inode` is not 0, that one. Devices are never
// opened: that may have effects.
UniqueFd OpenRegular(const std::string& path, uint64_t inode) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  // The device is not compared: btrfs and overlayfs show another one in the mappings.
  if (inode != 0 && status.st_ino != inode) return {};
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

// The file behind a mapping, also when it was deleted, replaced or lies in another mount namespace,
// as long as the process lives; afterwards only if it is still at its path.
UniqueFd OpenMapped(uint32_t process, const Mapping& mapping) {
  std::string base = ProcessPath(process);
  UniqueFd fd = OpenRegular(
      base + "/map_files/" + HexText(mapping.start) + "-" + HexText(mapping.end), mapping.inode);
  if (!fd.valid()) fd = OpenRegular(base + "/root" + mapping.name, mapping.inode);
  if (!fd.valid()) fd = OpenRegular(mapping.name, mapping.inode);
  return fd;
}

// The vDSO is no file. All 64-bit processes have the same one, and so have we.
ElfSymbols ReadVdso() {
  uint64_t start = getauxval(AT_SYSINFO_EHDR);
  auto maps = ReadFile("/proc/self/maps");
  if (start == 0 || !maps.ok()) return {};
  std::vector<Mapping> mappings = ParseMappings(maps.value());
  const Mapping* mapping = FindMapping(mappings, start);
  if (mapping == nullptr || mapping->start != start) return {};
  std::string copy(reinterpret_cast<const char*>(start), mapping->end - start);
  return ElfSymbols::FromMemory(copy);
}

}  // namespace

struct Symbolizer::Impl {
  std::optional<kernel::Kallsyms> kernel;
  std::unordered_map<uint32_t, Process> processes;
  std::map<std::pair<uint64_t, uint64_t>, ElfSymbols> files;  // by device and inode
  std::optional<ElfSymbols> vdso;

  void ReadMappings(uint32_t id, Process& process) {
    process.read_at = Clock::now();
    auto text = ReadFile(ProcessPath(id) + "/maps");
    if (!text.ok()) return;  // gone; what was read before stays
    std::vector<Mapping> mappings = ParseMappings(text.value());
    if (mappings.empty()) return;  // a zombie or a thread of the kernel
    if (process.snapshots.size() == kMaxSnapshots)
      process.snapshots.erase(process.snapshots.begin());
    process.snapshots.push_back(std::move(mappings));
  }

  ElfSymbols& SymbolsOf(uint32_t process, const Mapping& mapping) {
    if (mapping.inode == 0) {
      if (!vdso) vdso = ReadVdso();
      return *vdso;
    }
    auto [file, is_new] = files.try_emplace({mapping.device, mapping.inode});
    if (is_new) {
      UniqueFd fd = OpenMapped(process, mapping);
      if (fd.valid()) file->second = ElfSymbols::FromFile(fd.get());
    }
    return file->second;
  }
};

Symbolizer::Symbolizer() : impl_(std::make_unique<Impl>()) {}
Symbolizer::~Symbolizer() = default;

Frame Symbolizer::Kernel(uint64_t address) {
  if (!impl_->kernel) {
    // Unreadable, or all zeros without CAP_SYSLOG: then no address has a name.
    auto text = ReadFile("/proc/kallsyms");
    impl_->kernel = kernel::Kallsyms::Parse(text.ok() ? text.value() : std::string());
  }
  Frame frame{.symbol = {}, .module = {}, .address = address};
  if (auto found = impl_->kernel->Find(address)) {
    frame.symbol = found->name;
    frame.offset = found->offset;
    frame.module = found->module;
  }
  return frame;
}

std::span<const uint64_t> Symbolizer::WithoutTracing(const std::vector<uint64_t>& frames) {
  // What runs between an event and a program, by the names that Linux 6.1 to 6.18 give it.
  static constexpr std::string_view kMachinery[] = {
      "bpf_prog_",     "bpf_trampoline_", "bpf_trace_run",  "__bpf_trace_",     "__traceiter_",
      "bpf_get_stack", "trace_call_bpf",  "kprobe_multi_",  "fprobe_",          "ftrace_trampoline",
      "ftrace_regs_",  "arch_ftrace_",    "kprobe_ftrace_", "__bpf_prog_enter", "bpf_test_run"};
  size_t own = 0;
  for (; own < frames.size(); ++own) {
    std::string symbol = Kernel(frames[own]).symbol;
    bool is_own = std::any_of(std::begin(kMachinery), std::end(kMachinery),
                              [&](std::string_view prefix) { return symbol.starts_with(prefix); });
    if (!is_own) break;
  }
  return std::span(frames).subspan(own);
}

void Symbolizer::NoteProcess(uint32_t process) {
  auto [known, is_new] = impl_->processes.try_emplace(process);
  if (is_new) impl_->ReadMappings(process, known->second);
}

Frame Symbolizer::User(uint32_t id, uint64_t address) {
  Frame frame{.symbol = {}, .module = {}, .address = address};
  Process& process = impl_->processes[id];
  const Mapping* mapping = process.Find(address);
  if (mapping == nullptr && (!process.read_at || Clock::now() - *process.read_at >= kRereadPause)) {
    impl_->ReadMappings(id, process);
    mapping = process.Find(address);
  }
  if (mapping == nullptr) return frame;

  frame.module = mapping->name;
  frame.offset = address - mapping->start + mapping->file_offset;
  bool is_image = mapping->inode != 0 || mapping->name == "[vdso]";
  if (!is_image) return frame;
  ElfSymbols& symbols = impl_->SymbolsOf(id, *mapping);
  if (auto file_address = symbols.AddressOf(frame.offset)) {
    frame.offset = *file_address;
    if (auto found = symbols.Find(*file_address)) {
      frame.symbol = found->name;
      frame.offset = found->offset;
    }
  }
  return frame;
}

std::string ToText(const Frame& frame) {
  std::string_view module = frame.module;
  module.remove_prefix(module.rfind('/') + 1);  // npos + 1 is 0
  if (module.size() > 2 && module.front() == '[' && module.back() == ']') {
    module = module.substr(1, module.size() - 2);
  }
  std::string text;
  if (frame.symbol.empty()) {
    text = "0x" + HexText(frame.address);
    if (!module.empty()) {
      text += " [";
      text += module;
      text += "+0x" + HexText(frame.offset) + "]";
    }
    return text;
  }
  text = frame.symbol;
  if (frame.offset != 0) text += "+" + std::to_string(frame.offset);
  if (!module.empty()) {
    text += " [";
    text += module;
    text += ']';
  }
  return text;
}

}  // namespace memtrace::symbols
