#include "compiler/kernel/kernel.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <system_error>

#include <sys/syscall.h>
#include <unistd.h>

// Since glibc 2.36 <sys/mount.h> declares fsopen(); the calls go by number so that older ones build
// too.
#include <linux/mount.h>

namespace memtrace::kernel {
namespace {

constexpr std::string_view kNoEvent = "no such tracepoint";

std::vector<uint32_t> ParseCpuList(std::string_view text) {
  // "0-3,7,9-10\n". A kernel has at most 8192 CPUs (MAXSMP).
  constexpr uint32_t kMaxCpu = 65'535;
  std::vector<uint32_t> cpus;
  while (!text.empty()) {
    std::string_view part = text.substr(0, text.find_first_of(",\n"));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    uint32_t first = 0;
    auto [after, error] = std::from_chars(part.data(), part.data() + part.size(), first);
    if (error != std::errc()) continue;
    uint32_t last = first;
    if (after != part.data() + part.size() && *after == '-') {
      std::from_chars(after + 1, part.data() + part.size(), last);
    }
    for (uint32_t cpu = first; cpu <= last && cpu <= kMaxCpu; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

bool IsDirectory(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

// Spaces and backslashes in /proc/self/mounts are written as \040.
std::string Unescaped(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      result += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                  (text[i + 3] - '0'));
      i += 3;
    } else {
      result += text[i];
    }
  }
  return result;
}

// Mount points of tracefs in the text of /proc/self/mounts ("DEVICE POINT TYPE …").
std::vector<std::string> TracefsMounts(std::string_view mounts) {
  std::vector<std::string> points;
  while (!mounts.empty()) {
    std::string_view line = mounts.substr(0, mounts.find('\n'));
    mounts.remove_prefix(std::min(mounts.size(), line.size() + 1));
    size_t point = line.find(' ');
    if (point == std::string_view::npos) continue;
    size_t type = line.find(' ', point + 1);
    if (type == std::string_view::npos) continue;
    if (!line.substr(type + 1).starts_with("tracefs ")) continue;
    points.push_back(Unescaped(line.substr(point + 1, type - point - 1)));
  }
  return points;
}

// Mounts tracefs at no place: reachable through the returned descriptor only, gone when it is
// closed.
Result<UniqueFd> MountDetached() {
  UniqueFd context(static_cast<int>(::syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC)));
  if (!context.valid()) {
    if (errno == ENODEV) {
      return Error(ErrorKind::kNotFound,
                   "this kernel has no tracefs (CONFIG_TRACING is off), so no tracepoints");
    }
    if (errno == EPERM || errno == EACCES) {
      return Error(ErrorKind::kPermission, "tracefs is not mounted, and mounting it needs root");
    }
    return Error::FromErrno("open the tracefs file system");
  }
  if (::syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    return Error::FromErrno("create a tracefs mount");
  }
  UniqueFd mount(static_cast<int>(::syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, 0)));
  if (!mount.valid()) return Error::FromErrno("mount tracefs");
  return mount;
}

Result<bool> Exists(const std::filesystem::path& path) {
  if (::access(path.c_str(), F_OK) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return Error::FromErrno(path.string());
}

// A name that comes from a script must not leave the directory of events.
bool IsEventName(std::string_view name) {
  return !name.empty() && name.find('/') == std::string_view::npos && name != "." && name != "..";
}

std::string Spelled(const TracepointName& name) { return name.category + ":" + name.event; }

}  // namespace

Roots Roots::Fixture(const std::filesystem::path& root) {
  return {.sys = root / "sys",
          .proc = root / "proc",
          .trials = root / "trials",
          .programs = root / "programs",
          .live = false};
}

Kernel::Kernel(Roots roots, types::TypeTable& types)
    : roots_(std::move(roots)), types_(types), trials_(roots_.sys, roots_.trials) {}
Kernel::~Kernel() = default;

Result<Btf*> Kernel::LoadBtf() {
  if (btf_) return btf_.get();
  auto btf = Btf::Open(roots_.sys / "kernel/btf/vmlinux", types_);
  if (!btf.ok()) {
    if (btf.error().kind() != ErrorKind::kNotFound) return btf.error();
    return Error(ErrorKind::kNotFound,
                 "this kernel does not describe its types (CONFIG_DEBUG_INFO_BTF is off): no " +
                     (roots_.sys / "kernel/btf/vmlinux").string());
  }
  btf_ = std::make_unique<Btf>(std::move(btf).value());
  return btf_.get();
}

Result<Btf*> Kernel::LoadBtf(const std::string& module) {
  MT_ASSIGN_OR_RETURN(Btf * base, LoadBtf());
  if (module.empty()) return base;
  std::unique_ptr<Btf>& loaded = module_btfs_[module];
  if (loaded) return loaded.get();
  if (!IsEventName(module)) return Error(ErrorKind::kNotFound, "no module is called " + module);
  MT_ASSIGN_OR_RETURN(Btf btf, Btf::Open(roots_.sys / "kernel/btf" / module, types_, base));
  loaded = std::make_unique<Btf>(std::move(btf));
  return loaded.get();
}

void Kernel::Complete(types::Type type) {
  if (btf_) btf_->Complete(type);
  // Each leaves alone what is not its own.
  for (auto& [name, btf] : module_btfs_) {
    if (btf) btf->Complete(type);
  }
}

Functions& Kernel::functions() {
  if (functions_) return *functions_;
  auto kallsyms = ReadFile(roots_.proc / "kallsyms");
  std::optional<std::string> traceable;
  if (auto tracefs = Tracefs(); tracefs.ok()) {
    auto text = ReadFile(tracefs.value() / "available_filter_functions");
    if (text.ok() && !text.value().empty()) traceable = std::move(text).value();
  }
  functions_ = std::make_unique<Functions>(kallsyms.ok() ? std::move(kallsyms).value() : "",
                                           std::move(traceable));
  return *functions_;
}

bool Kernel::CountsMisses() {
  auto btf = LoadBtf();
  if (!btf.ok()) return false;
  types::Type info = btf.value()->TypeNamed("struct bpf_link_info");
  for (std::string_view name : {"kprobe_multi", "missed"}) {
    if (!info || !info.IsStruct()) return false;
    btf.value()->Complete(info);
    types::FoundMember found = types::FindMember(info, name);
    if (!found.found) return false;
    info = found.member.type;
  }
  return true;
}

Result<std::filesystem::path> Kernel::Tracefs() {
  if (tracefs_) return *tracefs_;
  std::vector<std::filesystem::path> places = {roots_.sys / "kernel/tracing",
                                               roots_.sys / "kernel/debug/tracing"};
  if (roots_.live) {
    if (auto mounts = ReadFile(roots_.proc / "self/mounts"); mounts.ok()) {
      for (std::string& point : TracefsMounts(mounts.value())) places.push_back(std::move(point));
    }
  }
  bool is_hidden = false;
  for (const std::filesystem::path& place : places) {
    if (IsDirectory(place / "events")) {
      tracefs_ = place;
      return *tracefs_;
    }
    // Mounted, but with mode 0700: `events` cannot even be looked for.
    if (::access((place / "events").c_str(), F_OK) != 0 && errno == EACCES) is_hidden = true;
  }
  if (is_hidden) {
    return Error(ErrorKind::kPermission, "reading tracefs (the list of tracepoints) needs root");
  }
  if (!roots_.live) {
    return Error(ErrorKind::kNotFound, "no tracefs at " + places.front().string());
  }
  MT_ASSIGN_OR_RETURN(tracefs_mount_, MountDetached());
  tracefs_ = "/proc/self/fd/" + std::to_string(tracefs_mount_.get());
  return *tracefs_;
}

Result<const std::vector<TracepointName>*> Kernel::Tracepoints() {
  if (tracepoints_) return &*tracepoints_;
  MT_ASSIGN_OR_RETURN(std::filesystem::path tracefs, Tracefs());
  std::filesystem::path events = tracefs / "events";
  MT_ASSIGN_OR_RETURN(std::vector<std::string> categories, ListDirectory(events));
  std::vector<TracepointName> names;
  for (const std::string& category : categories) {
    // ftrace/ holds the records of the function tracer and of trace_printk: nothing can be attached
    // there.
    if (category == "ftrace") continue;
    std::error_code failed;
    std::filesystem::directory_iterator entries(events / category, failed);
    if (failed) continue;  // a control file such as `enable`, or a module that left meanwhile
    for (; entries != std::filesystem::directory_iterator(); entries.increment(failed)) {
      if (failed) break;
      if (!entries->is_directory(failed)) continue;
      names.push_back({.category = category, .event = entries->path().filename().string()});
    }
  }
  std::sort(names.begin(), names.end());
  tracepoints_ = std::move(names);
  return &*tracepoints_;
}

Result<const TracepointFormat*> Kernel::Format(const TracepointName& name) {
  if (auto found = formats_.find(name); found != formats_.end()) return &found->second;
  MT_ASSIGN_OR_RETURN(bool exists, HasTracepoint(name));
  if (!exists) {
    return Error(ErrorKind::kNotFound, Spelled(name) + ": " + std::string(kNoEvent));
  }
  MT_ASSIGN_OR_RETURN(std::string text,
                      ReadFile(*tracefs_ / "events" / name.category / name.event / "format")
                          .WithContext(Spelled(name)));
  // Asked for only when a field's type is not one of C's own; a kernel without BTF gives integers.
  auto resolve = [this](std::string_view c_type) {
    auto btf = LoadBtf();
    return btf.ok() ? btf.value()->TypeNamed(c_type) : types::Type();
  };
  auto format = ParseTracepointFormat(text, types_, resolve).WithContext(Spelled(name));
  if (!format.ok()) return format.error();
  return &formats_.emplace(name, std::move(format).value()).first->second;
}

Result<bool> Kernel::HasTracepoint(const TracepointName& name) {
  if (!IsEventName(name.category) || !IsEventName(name.event)) return false;
  MT_ASSIGN_OR_RETURN(std::filesystem::path tracefs, Tracefs());
  return Exists(tracefs / "events" / name.category / name.event / "format");
}

uint32_t Kernel::possible_cpus() {
  auto text = ReadFile(roots_.sys / "devices/system/cpu/possible");
  std::vector<uint32_t> cpus = text.ok() ? ParseCpuList(text.value()) : std::vector<uint32_t>();
  if (cpus.empty()) cpus = online_cpus();
  return *std::max_element(cpus.begin(), cpus.end()) + 1;
}

std::vector<uint32_t> Kernel::online_cpus() {
  auto text = ReadFile(roots_.sys / "devices/system/cpu/online");
  std::vector<uint32_t> cpus = text.ok() ? ParseCpuList(text.value()) : std::vector<uint32_t>();
  if (!cpus.empty()) return cpus;
  // /sys may be missing in a container. Online CPUs are numbered without holes as far as this goes.
  long count = roots_.live ? std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)) : 1;
  for (long cpu = 0; cpu < count; ++cpu) cpus.push_back(static_cast<uint32_t>(cpu));
  return cpus;
}

uint64_t Kernel::page_size() const {
  return roots_.live ? static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) : 4096;
}

CgroupMounts Kernel::cgroup_mounts() const {
  Result<std::string> mountinfo = ReadFile(roots_.proc / "self/mountinfo");
  CgroupMounts mounts = ParseCgroupMounts(mountinfo.ok() ? mountinfo.value() : "");
  if (roots_.live) return mounts;
  for (std::string* mount : {&mounts.unified, &mounts.memory}) {
    if (!mount->empty()) *mount = roots_.sys.parent_path().string() + *mount;
  }
  return mounts;
}

std::string Kernel::release() {
  auto text = ReadFile(roots_.proc / "sys/kernel/osrelease");
  if (!text.ok()) return "";
  std::string release = std::move(text).value();
  while (!release.empty() && (release.back() == '\n' || release.back() == '\0')) release.pop_back();
  return release;
}

std::string Kernel::architecture() const {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#else
#error "memtrace knows the system calls and registers of x86-64 and arm64"
#endif
}

}  // namespace memtrace::kernel
