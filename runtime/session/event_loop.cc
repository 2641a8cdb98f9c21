#include "runtime/session/event_loop.h"

#include <algorithm>
#include <csignal>

#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace memtrace::session {

constexpr uint64_t kSecond = 1'000'000'000;

static sigset_t HandledSignals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) ::sigaddset(&signals, number);
  return signals;
}

Result<EventLoop> EventLoop::Create() {
  EventLoop loop;
  loop.epoll_.Reset(::epoll_create1(EPOLL_CLOEXEC));
  if (!loop.epoll_.valid()) return Error::FromErrno("epoll_create1");
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t signals = HandledSignals();
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  loop.signals_.Reset(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!loop.signals_.valid()) return Error::FromErrno("signalfd");
  MT_RETURN_IF_ERROR(loop.Add(loop.signals_.get(), EPOLLIN, Wake::kStopSignal, 0));
  return loop;
}

Result<Done> EventLoop::Add(int fd, uint32_t events, Wake wake, uint32_t interval) {
  epoll_event event = {};
  event.events = events;
  event.data.u64 = uint64_t{static_cast<uint8_t>(wake)} << 32 | interval;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return Error::FromErrno("epoll_ctl");
  }
  return Done{};
}

Result<Done> EventLoop::WatchRing(int fd) { return Add(fd, EPOLLIN, Wake::kRing, 0); }

static timespec ToTimespec(uint64_t ns) {
  return {.tv_sec = static_cast<time_t>(ns / kSecond), .tv_nsec = static_cast<long>(ns % kSecond)};
}

// CLOCK_MONOTONIC stands still while the machine is suspended, so that waking up is not one long
// interval.
static Result<UniqueFd> NewTimer(uint64_t first_ns, uint64_t period_ns) {
  UniqueFd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!timer.valid()) return Error::FromErrno("timerfd_create");
  itimerspec when = {.it_interval = ToTimespec(period_ns), .it_value = ToTimespec(first_ns)};
  if (::timerfd_settime(timer.get(), 0, &when, nullptr) != 0) {
    return Error::FromErrno("timerfd_settime");
  }
  return timer;
}

Result<Done> EventLoop::AddInterval(uint64_t period_ns) {
  MT_ASSIGN_OR_RETURN(UniqueFd timer, NewTimer(period_ns, period_ns));
  timers_.push_back(std::move(timer));
  return Add(timers_.back().get(), EPOLLIN, Wake::kInterval,
             static_cast<uint32_t>(timers_.size() - 1));
}

Result<Done> EventLoop::SetDeadline(uint64_t delay_ns) {
  MT_ASSIGN_OR_RETURN(deadline_, NewTimer(delay_ns, 0));
  return Add(deadline_.get(), EPOLLIN, Wake::kDeadline, 0);
}

Result<Done> EventLoop::WatchSignal(int number) {
  watched_.push_back(number);
  sigset_t signals = HandledSignals();
  for (int watched : watched_) ::sigaddset(&signals, watched);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  if (::signalfd(signals_.get(), &signals, 0) < 0) return Error::FromErrno("signalfd");
  return Done{};
}

Result<Done> EventLoop::WatchProcess(int fd) { return Add(fd, EPOLLIN, Wake::kProcessEnded, 0); }

void EventLoop::WatchOutput(int fd) {
  // Without any flag epoll still reports errors and hang-ups.
  [[maybe_unused]] Result<Done> ignored = Add(fd, 0, Wake::kOutputClosed, 0);
}

const std::vector<Event>& EventLoop::Wait(int timeout_ms) {
  events_.clear();
  epoll_event ready[16];
  int count = ::epoll_wait(epoll_.get(), ready, std::size(ready), timeout_ms);
  for (int i = 0; i < count; ++i) {
    Event event{.wake = static_cast<Wake>(ready[i].data.u64 >> 32),
                .interval = static_cast<uint32_t>(ready[i].data.u64)};
    if (event.wake == Wake::kStopSignal) {
      TakeSignals();
      continue;
    }
    if (event.wake == Wake::kInterval) {
      // Several expirations that we were too busy to see are one.
      uint64_t expirations;
      if (::read(timers_[event.interval].get(), &expirations, sizeof expirations) < 0) continue;
    }
    events_.push_back(event);
  }
  return events_;
}

void EventLoop::TakeSignals() {
  signalfd_siginfo info;
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
    auto number = static_cast<int>(info.ssi_signo);
    if (std::find(watched_.begin(), watched_.end(), number) != watched_.end()) {
      events_.push_back({.wake = Wake::kSignal, .interval = info.ssi_signo});
      continue;
    }
    bool is_child = info.ssi_signo == SIGCHLD;
    events_.push_back({.wake = is_child ? Wake::kChild : Wake::kStopSignal});
  }
}

void EventLoop::LetSignalsKill() {
  for (int number : {SIGINT, SIGTERM, SIGHUP}) {
    ::signal(number, [](int received) { ::_exit(128 + received); });
  }
  sigset_t signals = HandledSignals();
  ::sigprocmask(SIG_UNBLOCK, &signals, nullptr);
}

}  // namespace memtrace::session
