#include "tests/support/tracer.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <linux/bpf.h>
#include <re2/re2.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/time_factor.h"

namespace memtrace::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPoll{5};

// MT_MEMTRACE names another program to test.
std::string MemtracePath() {
  const char* other = getenv("MT_MEMTRACE");
  return other ? other : MT_BUILD_DIR "/memtrace";
}

// The `-c` of a workload by its name is that of its path.
std::string CommandLine(const std::string& command) {
  size_t end = command.find(' ');
  std::string name = command.substr(0, end);
  std::string rest = end == std::string::npos ? "" : command.substr(end);
  return (name[0] == '/' ? name : Workload(name)) + rest;
}

std::string ReadAll(int fd) {
  std::string text;
  char buffer[65536];
  ssize_t size;
  while ((size = pread(fd, buffer, sizeof buffer, static_cast<off_t>(text.size()))) > 0) {
    text.append(buffer, static_cast<size_t>(size));
  }
  return text;
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool HasProgram(uint32_t id) {
  union bpf_attr attr = {};
  attr.prog_id = id;
  long fd = syscall(SYS_bpf, BPF_PROG_GET_FD_BY_ID, &attr, sizeof attr);
  if (fd < 0) return false;
  close(static_cast<int>(fd));
  return true;
}

// Numbers after `field` in the files of a directory in /proc.
std::vector<uint64_t> FieldOfFiles(const fs::path& directory, const std::string& name,
                                   const std::string& field) {
  std::vector<uint64_t> values;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    std::ifstream stream(name.empty() ? entry.path() : entry.path() / name);
    for (std::string line; std::getline(stream, line);) {
      if (line.rfind(field + ":", 0) == 0) {
        values.push_back(strtoull(line.c_str() + field.size() + 1, nullptr, 10));
      }
    }
  }
  return values;
}

// A file in memory that the tracer and its command write to. Two who share one need O_APPEND:
// unlike files on a disk, those of memfd_create(2) do not serialise writes at the shared offset,
// and one would overwrite the other.
int NewOutput(const char* name) {
  int fd = memfd_create(name, MFD_CLOEXEC);
  if (fd >= 0) fcntl(fd, F_SETFL, O_APPEND);
  return fd;
}

}  // namespace

// ---- Trace ----

std::vector<uint64_t> Trace::Values(std::string_view map) const {
  std::vector<uint64_t> values;
  RE2 line_regex(RE2::QuoteMeta(std::string(map)) + ": (\\d+)");
  for (const std::string& line : LinesOf(out)) {
    uint64_t value;
    if (RE2::FullMatch(line, line_regex, &value)) values.push_back(value);
  }
  return values;
}

uint64_t Trace::Sum(std::string_view map) const {
  uint64_t sum = 0;
  for (uint64_t value : Values(map)) sum += value;
  return sum;
}

std::map<std::string, uint64_t> Trace::Keyed(std::string_view map) const {
  std::map<std::string, uint64_t> sums;
  RE2 line_regex(RE2::QuoteMeta(std::string(map)) + "\\[(.*)\\]: (\\d+)");
  for (const std::string& line : LinesOf(out)) {
    std::string key;
    uint64_t value;
    if (RE2::FullMatch(line, line_regex, &key, &value)) sums[key] += value;
  }
  return sums;
}

uint64_t Trace::BucketTotal() const {
  uint64_t sum = 0;
  static const RE2 kBucket("[(\\[].*[)\\]]\\s+(\\d+)\\s+\\|.*");
  for (const std::string& line : LinesOf(out)) {
    uint64_t count;
    if (RE2::FullMatch(line, kBucket, &count)) sum += count;
  }
  return sum;
}

std::optional<uint64_t> Trace::Reported(std::string_view name) const {
  RE2 line_regex(RE2::QuoteMeta(std::string(name)) + " (\\d+)");
  for (const std::string& line : LinesOf(out)) {
    uint64_t value;
    if (RE2::FullMatch(line, line_regex, &value)) return value;
  }
  return std::nullopt;
}

std::vector<std::string> Trace::Lines(const std::string& regex) const {
  std::vector<std::string> lines;
  RE2 line_regex(regex);
  for (std::string& line : LinesOf(out)) {
    if (RE2::FullMatch(line, line_regex)) lines.push_back(std::move(line));
  }
  return lines;
}

uint64_t Trace::Lost(const std::string& what) const {
  uint64_t sum = 0;
  RE2 item("(\\d+) " + what);
  for (const std::string& line : LinesOf(err)) {
    if (line.rfind("lost:", 0) != 0) continue;
    std::string_view rest = line;
    re2::StringPiece input(rest.data(), rest.size());
    uint64_t count;
    while (RE2::FindAndConsume(&input, item, &count)) sum += count;
  }
  return sum;
}

std::string Trace::Describe() const {
  auto end_of = [](const std::string& text) {
    return text.size() <= 3000 ? text : "…" + text.substr(text.size() - 3000);
  };
  std::ostringstream text;
  if (!failure.empty()) text << failure << "\n";
  text << "exit status " << exit_status << "\n-- stdout\n"
       << end_of(out) << "-- stderr\n"
       << end_of(err);
  return text.str();
}

// ---- Tracer ----

Tracer Tracer::Start(const TraceOptions& options) {
  Tracer tracer;
  tracer.timeout_ = options.timeout;
  tracer.out_ = NewOutput("out");
  tracer.err_ = NewOutput("err");

  std::vector<std::string> words = {MemtracePath()};
  words.insert(words.end(), options.options.begin(), options.options.end());
  if (!options.command.empty()) words.insert(words.end(), {"-c", CommandLine(options.command)});
  if (options.script.empty()) {
    words.insert(words.end(), {"-e", options.program});
  } else {
    words.push_back(MT_SOURCE_DIR "/scripts/" + options.script[0]);
    words.insert(words.end(), options.script.begin() + 1, options.script.end());
  }
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    dup2(tracer.out_, STDOUT_FILENO);
    dup2(tracer.err_, STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  tracer.pid_ = pid;
  if (pid > 0) {
    setpgid(pid, pid);  // whoever of the two is first
  } else {
    tracer.failure_ = std::string("fork: ") + strerror(errno);
    tracer.status_ = 127;
  }
  return tracer;
}

Tracer::Tracer(Tracer&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      out_(std::exchange(other.out_, -1)),
      err_(std::exchange(other.err_, -1)),
      timeout_(other.timeout_),
      status_(other.status_),
      failure_(std::move(other.failure_)) {}

Tracer::~Tracer() {
  if (pid_ > 0) kill(-pid_, SIGKILL);
  if (pid_ > 0 && !status_) waitpid(pid_, nullptr, 0);
  if (out_ >= 0) close(out_);
  if (err_ >= 0) close(err_);
}

bool Tracer::HasEnded() {
  if (status_) return true;
  int status;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return false;
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return true;
}

bool Tracer::WaitFor(std::string_view text, std::chrono::seconds timeout) {
  // An emulator is less slow at what mostly waits.
  timeout *= std::min(TimeFactor(), 3);
  for (auto end = Clock::now() + timeout; Clock::now() < end;) {
    if (ReadAll(out_).find(text) != std::string::npos) return true;
    if (HasEnded()) return false;
    std::this_thread::sleep_for(kPoll);
  }
  return false;
}

void Tracer::Signal(int number) const { kill(pid_, number); }

Trace Tracer::Finish() {
  for (auto end = Clock::now() + timeout_; !HasEnded();) {
    if (Clock::now() >= end) {
      failure_ = "still running after " + std::to_string(timeout_.count()) + " s";
      kill(-pid_, SIGKILL);
      end = Clock::time_point::max();
    }
    std::this_thread::sleep_for(kPoll);
  }
  if (*status_ == 127 && failure_.empty()) failure_ = "cannot run " + MemtracePath();
  return {.out = ReadAll(out_), .err = ReadAll(err_), .exit_status = *status_, .failure = failure_};
}

pid_t Tracer::CommandPid() const {
  std::string parent = "PPid:\t" + std::to_string(pid_) + "\n";
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
    std::ifstream status(entry.path() / "status");
    std::stringstream text;
    text << status.rdbuf();
    if (text.str().find(parent) == std::string::npos) continue;
    return static_cast<pid_t>(std::atol(entry.path().filename().c_str()));
  }
  return 0;
}

std::vector<uint32_t> Tracer::ProgramIds() const {
  std::set<uint32_t> ids;
  fs::path directory = "/proc/" + std::to_string(pid_) + "/fdinfo";
  for (uint64_t id : FieldOfFiles(directory, "", "prog_id")) ids.insert(static_cast<uint32_t>(id));
  return {ids.begin(), ids.end()};
}

uint64_t Tracer::VoluntarySwitches() const {
  uint64_t sum = 0;
  fs::path directory = "/proc/" + std::to_string(pid_) + "/task";
  for (uint64_t count : FieldOfFiles(directory, "status", "voluntary_ctxt_switches")) sum += count;
  return sum;
}

Trace RunTracer(const TraceOptions& options) { return Tracer::Start(options).Finish(); }

bool HasPerfDevice(const std::string& name) {
  return access(("/sys/bus/event_source/devices/" + name + "/type").c_str(), F_OK) == 0;
}

std::string Workload(std::string_view name) {
  return MT_BUILD_DIR "/workloads/" + std::string(name);
}

std::vector<uint32_t> ProgramsLeft(const std::vector<uint32_t>& programs) {
  std::vector<uint32_t> left = programs;
  for (auto end = Clock::now() + std::chrono::seconds(2); Clock::now() < end && !left.empty();) {
    std::erase_if(left, [](uint32_t id) { return !HasProgram(id); });
    std::this_thread::sleep_for(kPoll);
  }
  return left;
}

void TracerTest::SetUp() {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  if (access("/sys/kernel/btf/vmlinux", F_OK) != 0) GTEST_SKIP() << "the kernel has no BTF";
  if (access(MemtracePath().c_str(), X_OK) != 0) {
    GTEST_SKIP() << "there is no " << MemtracePath() << " yet";
  }
}

void PerfDeviceTest::SetUp() {
  TracerTest::SetUp();
  if (!IsSkipped() && !HasPerfDevice(device_)) GTEST_SKIP() << why_not_;
}

}  // namespace memtrace::test
