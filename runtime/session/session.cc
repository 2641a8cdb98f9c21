#include "runtime/session/session.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <utility>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <fmt/format.h>

#include "runtime/attach/attach.h"
#include "runtime/bpf/maps.h"
#include "runtime/bpf/object.h"
#include "runtime/bpf/ring.h"
#include "runtime/bpf/run.h"
#include "runtime/bpf/state.h"
#include "runtime/session/actions.h"
#include "runtime/session/child.h"
#include "runtime/session/event_loop.h"
#include "runtime/session/live_resolver.h"
#include "runtime/session/losses.h"
#include "runtime/session/notices.h"

namespace memtrace::session {
namespace {

// The longest that a record waits when too few are written to wake the reader.
constexpr int kRingTimeoutMs = 50;

// A reserved record is written within microseconds, unless the virtual CPU that writes it does not
// get to run; only a bug of the kernel or of ours takes longer than this.
constexpr uint64_t kReservedPatienceNs = 5'000'000'000;

// Between two signs of progress at a terminal.
constexpr uint64_t kProgressPauseNs = 200'000'000;

// Above this much planned memory it is compared with what the machine has; below it is not worth a
// read.
constexpr uint64_t kMemoryWorthAsking = 64 << 20;

uint64_t Now(clockid_t clock) {
  timespec time;
  ::clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

void Tell(std::string_view text) {
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

// Makes the OOM killer prefer almost everyone else. Returns what was there before; empty when not
// root.
std::string ProtectFromOomKiller() {
  if (::geteuid() != 0) return "";
  constexpr const char* kPath = "/proc/self/oom_score_adj";
  Result<std::string> before = ReadFile(kPath);
  UniqueFd fd(::open(kPath, O_WRONLY | O_CLOEXEC));
  constexpr std::string_view kScore = "-500";
  if (!before.ok() || ::write(fd.get(), kScore.data(), kScore.size()) < 0) return "";
  return before.value();
}

Result<Done> CheckMemory(const plan::Plan& plan) {
  uint64_t planned = plan::PlannedMemory(plan);
  if (planned < kMemoryWorthAsking) return Done{};
  Result<std::string> meminfo = ReadFile("/proc/meminfo");
  unsigned long long available_kb = 0;
  size_t at = meminfo.ok() ? meminfo.value().find("MemAvailable:") : std::string::npos;
  if (at == std::string::npos) return Done{};
  std::sscanf(meminfo.value().c_str() + at, "MemAvailable: %llu", &available_kb);
  if (planned / 1024 <= available_kb / 2) return Done{};
  return Error(
      ErrorKind::kOther,
      fmt::format("the maps may take {} MiB of kernel memory, more than half of the {} MiB "
                  "available; lower max_map_keys or max_stacks",
                  planned >> 20, available_kb >> 10));
}

bool NamesUserAddresses(const plan::Plan& plan) {
  for (const plan::Type& type : plan.types) {
    if (type.kind == plan::TypeKind::kUserStack || type.kind == plan::TypeKind::kUserSymbol)
      return true;
  }
  return false;
}

// What exists only while something is loaded, in the order in which the parts need each other.
struct Machine {
  Machine(const plan::Plan& plan, bpf::Loaded loaded_object, bpf::State mapped_state,
          output::Sink& sink, symbols::Symbolizer& symbolizer, bool raw_numbers)
      : loaded(std::move(loaded_object)),
        state(std::move(mapped_state)),
        store(plan, loaded, state),
        resolver(store),
        actions(plan, store, resolver, symbolizer, sink, raw_numbers) {}
  bpf::Loaded loaded;
  bpf::State state;
  bpf::MapStore store;
  LiveResolver resolver;
  Actions actions;
};

class Session {
 public:
  Session(const plan::Plan& plan, output::Sink& sink, symbols::Symbolizer& symbolizer,
          const Options& options)
      : plan_(plan), sink_(sink), symbolizer_(symbolizer), options_(options) {}

  Result<int> Run(std::string_view object);

 private:
  Result<Done> Load(std::string_view object);
  Result<Done> Prepare();
  Result<Done> Start();
  Result<Done> AttachProbes();
  Result<Done> Trace();
  Result<Done> Finish();

  Result<Done> HandleEvent(const Event& event);
  Result<Done> RunPrograms(plan::AttachKind kind);
  Result<Done> RunInterval(const plan::Probe& probe);
  Result<Done> RunIterator(const plan::Probe& probe);
  void Drain();
  void HearExit();
  void DrainTo(uint64_t position);
  void SkipTo(uint64_t position);
  bool WaitForFront(uint64_t deadline);
  bool ShouldStop() const;
  bool IsSated() const;
  void PrintMaps();
  int Report();

  const plan::Plan& plan_;
  output::Sink& sink_;
  symbols::Symbolizer& symbolizer_;
  const Options& options_;

  std::optional<EventLoop> loop_;
  std::optional<Child> child_;
  UniqueFd process_;  // of -p or --tree
  std::optional<Machine> machine_;
  std::optional<bpf::Ring> ring_;
  UniqueFd statistics_;
  attach::Attachments attachments_;
  std::vector<uint64_t> missed_by_links_;      // per program, read before they were closed
  std::vector<const plan::Probe*> intervals_;  // in the order of EventLoop::AddInterval
  bool stop_ = false;
  uint64_t started_ns_ = 0;
  uint64_t ended_ns_ = 0;
};

// ---- The course of a session --------------------------------------------------------------------

Result<int> Session::Run(std::string_view object) {
  MT_RETURN_IF_ERROR(CheckMemory(plan_));
  if (options_.dry_run) {
    MT_RETURN_IF_ERROR(Load(object));
    return 0;
  }
  MT_RETURN_IF_ERROR(Prepare());
  MT_RETURN_IF_ERROR(Load(object));
  MT_RETURN_IF_ERROR(Start());
  MT_RETURN_IF_ERROR(Trace());
  MT_RETURN_IF_ERROR(Finish());
  return Report();
}

// All that needs no BPF: signals first, so that none is lost, and the child while we are small.
Result<Done> Session::Prepare() {
  MT_ASSIGN_OR_RETURN(EventLoop loop, EventLoop::Create());
  loop_.emplace(std::move(loop));
  for (const plan::Probe& probe : plan_.probes) {
    if (probe.kind != plan::AttachKind::kSignal) continue;
    MT_RETURN_IF_ERROR(loop_->WatchSignal(static_cast<int>(probe.config)));
  }
  const ScopeOptions& scope = options_.scope;
  if (std::optional<pid_t> pid = scope.process ? scope.process : scope.tree) {
    MT_ASSIGN_OR_RETURN(process_, OpenProcess(*pid));
    if (scope.process) MT_RETURN_IF_ERROR(loop_->WatchProcess(process_.get()));
  }
  std::string oom_score_adj = ProtectFromOomKiller();
  if (options_.command) {
    MT_ASSIGN_OR_RETURN(Child child, Child::Fork(*options_.command, oom_score_adj));
    child_.emplace(std::move(child));
    if (NamesUserAddresses(plan_)) {
      child_->WatchExits(
          [this](pid_t pid) { symbolizer_.NoteProcess(static_cast<uint32_t>(pid)); });
    }
  }
  return Done{};
}

Result<Done> Session::Load(std::string_view object) {
  MT_ASSIGN_OR_RETURN(bpf::Loaded loaded, bpf::Load(plan_, object));
  MT_ASSIGN_OR_RETURN(bpf::State state, bpf::State::Open(plan_, loaded));
  machine_.emplace(plan_, std::move(loaded), std::move(state), sink_, symbolizer_,
                   options_.raw_numbers);
  if (!plan_.actions.empty()) {
    MT_ASSIGN_OR_RETURN(bpf::Ring ring, bpf::Ring::Open(plan_, machine_->loaded));
    ring_.emplace(std::move(ring));
  }
  return Done{};
}

Result<Done> Session::Start() {
  if (options_.statistics) {
    MT_ASSIGN_OR_RETURN(statistics_, bpf::EnableRunTimeStatistics());
  }
  started_ns_ = Now(CLOCK_MONOTONIC);
  if (plan_.start_time_offset != 0) {
    machine_->state.SetWord(plan_.start_time_offset, Now(CLOCK_BOOTTIME));
  }
  MT_RETURN_IF_ERROR(RunPrograms(plan::AttachKind::kBegin));
  if (ShouldStop()) return Done{};

  pid_t root = options_.scope.tree.value_or(child_ ? child_->pid() : 0);
  MT_RETURN_IF_ERROR(SetScope(plan_, machine_->state, options_.scope, root));
  MT_RETURN_IF_ERROR(AttachProbes());
  if (options_.scope.tree) SeedTree(plan_, machine_->state);
  if (ShouldStop()) return Done{};
  size_t attached = 0;
  for (const plan::Probe& probe : plan_.probes) {
    bool is_once = probe.kind == plan::AttachKind::kIterator && probe.period == 0;
    if (probe.kind == plan::AttachKind::kInterval ||
        (probe.kind == plan::AttachKind::kIterator && !is_once)) {
      MT_RETURN_IF_ERROR(loop_->AddInterval(probe.period));
      intervals_.push_back(&probe);
    }
    bool is_ours = probe.program == plan_.scope.follow_program;
    attached += probe.kind != plan::AttachKind::kBegin && probe.kind != plan::AttachKind::kEnd &&
                !is_ours && !is_once;
  }
  if (ring_) MT_RETURN_IF_ERROR(loop_->WatchRing(ring_->fd()));
  if (options_.duration_ns != 0) MT_RETURN_IF_ERROR(loop_->SetDeadline(options_.duration_ns));
  loop_->WatchOutput(options_.output_fd);

  sink_.Attached(attached);
  sink_.Flush();
  if (options_.verbose) Tell(AttachDetails(plan_, options_.scope));
  if (!options_.quiet && ::isatty(STDERR_FILENO)) Tell(TracingNotice(plan_, options_.scope));
  if (child_) MT_RETURN_IF_ERROR(child_->Release());
  for (const plan::Probe& probe : plan_.probes) {
    bool is_once = probe.kind == plan::AttachKind::kIterator && probe.period == 0;
    if (is_once) MT_RETURN_IF_ERROR(RunIterator(probe));
  }
  // A script of begin, end and iterators alone has nothing to wait for.
  stop_ = attached == 0 && !child_ && options_.duration_ns == 0;
  return Done{};
}

// Hundreds of kprobes take seconds: who waits at a terminal sees how far it is, and may stop it.
Result<Done> Session::AttachProbes() {
  bool shows = !options_.quiet && ::isatty(STDERR_FILENO) != 0;
  uint64_t shown_ns = Now(CLOCK_MONOTONIC);
  bool is_shown = false;
  auto progress = [&](size_t done, size_t total) {
    for (const Event& event : loop_->Wait(0)) stop_ |= event.wake == Wake::kStopSignal;
    uint64_t now = Now(CLOCK_MONOTONIC);
    if (shows && now - shown_ns > kProgressPauseNs) {
      Tell(fmt::format("\rattaching {} of {}…", done, total));
      is_shown = true;
      shown_ns = now;
    }
    return !stop_;
  };
  auto attached = attach::Attach(plan_, machine_->loaded,
                                 {.online_cpus = options_.online_cpus,
                                  .process = options_.scope.process.value_or(0),
                                  .root = options_.scope.tree.value_or(child_ ? child_->pid() : 0)},
                                 progress);
  if (is_shown) Tell("\r\033[K");
  if (!attached.ok()) return stop_ ? Result<Done>(Done{}) : attached.error();
  attachments_ = std::move(attached).value();
  bool is_told = plan_.config.missing_probes != plan::MissingProbes::kIgnore;
  if (is_told && !attachments_.failures().empty()) Tell(MissingNotice(attachments_.failures()));
  return Done{};
}

Result<Done> Session::Trace() {
  while (!ShouldStop()) {
    bool has_more = ring_ && !ring_->Front().empty();
    for (const Event& event : loop_->Wait(has_more ? 0 : ring_ ? kRingTimeoutMs : -1)) {
      MT_RETURN_IF_ERROR(HandleEvent(event));
      if (ShouldStop()) break;
    }
    Drain();
  }
  return Done{};
}

// The programs that run while we detach still count and write; end runs after all of them.
Result<Done> Session::Finish() {
  EventLoop::LetSignalsKill();
  sink_.Flush();  // nobody should wait for output while perf events are closed
  ended_ns_ = Now(CLOCK_MONOTONIC);
  missed_by_links_ = attachments_.Missed(plan_);
  attachments_.Detach();
  if (ring_) {
    // exit() and --max-events mean that nothing after them is shown.
    if (IsSated()) {
      SkipTo(ring_->produced());
    } else {
      DrainTo(ring_->produced());
    }
  }
  MT_RETURN_IF_ERROR(RunPrograms(plan::AttachKind::kEnd));
  PrintMaps();
  return Done{};
}

Result<Done> Session::HandleEvent(const Event& event) {
  switch (event.wake) {
    case Wake::kRing:
      break;  // every round drains
    case Wake::kInterval: {
      const plan::Probe& probe = *intervals_[event.interval];
      return probe.kind == plan::AttachKind::kIterator ? RunIterator(probe) : RunInterval(probe);
    }
    case Wake::kSignal:
      for (const plan::Probe& probe : plan_.probes) {
        if (probe.kind != plan::AttachKind::kSignal || probe.config != event.interval) continue;
        MT_RETURN_IF_ERROR(RunInterval(probe));
      }
      break;
    case Wake::kChild:
      stop_ |= child_ && child_->Poll();
      break;
    case Wake::kDeadline:
    case Wake::kStopSignal:
    case Wake::kProcessEnded:
    case Wake::kOutputClosed:
      stop_ = true;
      break;
  }
  return Done{};
}

bool Session::ShouldStop() const { return stop_ || IsSated(); }

// Whether what events still have to say is not wanted.
bool Session::IsSated() const {
  const Actions& actions = machine_->actions;
  return actions.exit_status() || sink_.failed() ||
         (options_.max_events != 0 && actions.printed() >= options_.max_events);
}

// ---- Programs that the reader runs --------------------------------------------------------------

Result<Done> Session::RunPrograms(plan::AttachKind kind) {
  for (const plan::Probe& probe : plan_.probes) {
    if (probe.kind != kind) continue;
    MT_RETURN_IF_ERROR(
        bpf::RunOnce(machine_->loaded.program_fd(probe.program)).WithContext(probe.name));
    if (ring_) DrainTo(ring_->produced());
  }
  return Done{};
}

// Records reserved before come first because the ring keeps their order. Draining before the
// program runs makes room, so that its own records are not the ones that a full ring loses.
Result<Done> Session::RunInterval(const plan::Probe& probe) {
  const plan::Program& program = plan_.programs[probe.program];
  Drain();
  if (ShouldStop()) return Done{};
  if (!program.swaps.empty()) MT_RETURN_IF_ERROR(machine_->store.Swap(program.swaps));
  MT_RETURN_IF_ERROR(
      bpf::RunOnce(machine_->loaded.program_fd(probe.program)).WithContext(probe.name));
  if (ring_) DrainTo(ring_->produced());
  return Done{};
}

// Reads few bytes at a time, which are as many objects, so that their records find room in the
// ring.
Result<Done> Session::RunIterator(const plan::Probe& probe) {
  Result<UniqueFd> iterator =
      attach::OpenIterator(probe, machine_->loaded.program_fd(probe.program));
  if (!iterator.ok()) return iterator.error().WithContext(probe.name);
  char objects[64];
  while (!ShouldStop()) {
    ssize_t got = ::read(iterator.value().get(), objects, sizeof objects);
    if (got < 0 && errno != EAGAIN && errno != EINTR) return Error::FromErrno("read " + probe.name);
    Drain();
    if (got == 0) break;
  }
  if (ring_) DrainTo(ring_->produced());
  return Done{};
}

// ---- The ring -----------------------------------------------------------------------------------

// Handles what is there now; what is written meanwhile waits for the next round, so that a flood of
// records cannot keep us from timers and signals.
void Session::Drain() {
  if (!ring_) return;
  uint64_t end = ring_->produced();
  bool is_idle = ring_->consumed() == end;
  while (ring_->consumed() < end && !ShouldStop()) {
    events::Bytes record = ring_->Front();
    if (record.empty()) break;
    machine_->actions.Handle(record);
    ring_->Pop();
  }
  if (ring_->consumed() >= end) HearExit();
  if (!is_idle) sink_.Flush();
}

// An exit() whose record found no room has left a word. It is looked at when all that was written
// before has been handled.
void Session::HearExit() {
  if (plan_.exit_offset == 0 || machine_->actions.exit_status()) return;
  uint64_t word = machine_->state.Word(plan_.exit_offset);
  if ((word & plan::kExitRequested) == 0) return;
  // The record may have been written since, with others before it.
  if (ring_->consumed() == ring_->produced()) machine_->actions.Exit(static_cast<int>(word & 0xff));
}

// Handles everything reserved before `position`, waiting for what is still being written.
void Session::DrainTo(uint64_t position) {
  uint64_t deadline = Now(CLOCK_MONOTONIC) + kReservedPatienceNs;
  bool was_sated = IsSated();  // then only end has something to say, and all of it
  while (ring_->consumed() < position) {
    if (!WaitForFront(deadline)) break;
    if (ring_->consumed() >= position) break;
    machine_->actions.Handle(ring_->Front());
    ring_->Pop();
    if (!was_sated && IsSated()) break;
  }
  HearExit();
  sink_.Flush();
}

void Session::SkipTo(uint64_t position) {
  uint64_t deadline = Now(CLOCK_MONOTONIC) + kReservedPatienceNs;
  while (ring_->consumed() < position && WaitForFront(deadline)) {
    if (ring_->consumed() < position) ring_->Pop();
  }
}

// False when the oldest record is still not written at `deadline`, or when there is none.
bool Session::WaitForFront(uint64_t deadline) {
  while (ring_->Front().empty()) {
    if (ring_->consumed() == ring_->produced() || Now(CLOCK_MONOTONIC) > deadline) return false;
    ::sched_yield();
  }
  return true;
}

// ---- The end ------------------------------------------------------------------------------------

void Session::PrintMaps() {
  if (plan_.config.print_maps_on_exit) {
    for (plan::Index i = 0; i < plan_.maps.size(); ++i) {
      if (plan_.maps[i].printed_at_exit) machine_->actions.PrintMap(i, bpf::Copy::kCurrent, 0, 0);
    }
  }
  sink_.Flush();
}

// Tells what was lost and what it cost; returns the exit status.
int Session::Report() {
  std::vector<uint64_t> site_counts, missed;
  for (plan::Index i = 0; i < plan_.loss_sites.size(); ++i) {
    site_counts.push_back(machine_->state.Lost(i));
  }
  std::vector<bpf::ProgramCounters> counters;
  for (plan::Index i = 0; i < plan_.programs.size(); ++i) {
    Result<bpf::ProgramCounters> counter = bpf::ReadCounters(machine_->loaded.program_fd(i));
    counters.push_back(counter.ok() ? counter.value() : bpf::ProgramCounters{});
    missed.push_back(counters.back().missed);
    if (i < missed_by_links_.size()) missed.back() += missed_by_links_[i];
  }
  std::vector<Loss> losses = GroupLosses(plan_, site_counts, missed);
  for (const Loss& loss : losses) sink_.Lost(loss.cause, loss.subject, loss.count);
  sink_.Flush();

  bool is_terminal = ::isatty(STDERR_FILENO) != 0 && !options_.quiet;
  std::string time = is_terminal ? DurationText(ended_ns_ - started_ns_) + " · " : "";
  bool counts_misses =
      std::all_of(plan_.probes.begin(), plan_.probes.end(),
                  [](const plan::Probe& probe) { return probe.misses_are_countable; });
  if (!losses.empty() || is_terminal) Tell(time + LossLine(losses, counts_misses) + "\n");
  if (options_.statistics) Tell(StatisticsLines(plan_, counters));

  if (const auto& status = machine_->actions.exit_status(); status && *status != 0) return *status;
  if (options_.strict && !losses.empty()) return 3;
  if (options_.exit_status && child_) return child_->Poll().value_or(0);
  return 0;
}

}  // namespace

Result<int> Run(const plan::Plan& plan, std::string_view object, output::Sink& sink,
                symbols::Symbolizer& symbolizer, const Options& options) {
  return Session(plan, sink, symbolizer, options).Run(object);
}

}  // namespace memtrace::session
