// EventLoop: waits for the ring, timers, signals and the reader of our output at once.
//
// SIGINT, SIGTERM, SIGHUP and SIGCHLD are blocked and become events; SIGPIPE is ignored. Once the
// session is ending, LetSignalsKill() makes the next SIGINT or SIGTERM end the process on the spot.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/base/file.h"
#include "compiler/base/result.h"

namespace memtrace::session {

enum class Wake : uint8_t {
  kRing,
  kInterval,
  kSignal,
  kDeadline,
  kStopSignal,
  kChild,
  kProcessEnded,
  kOutputClosed
};

struct Event {
  Wake wake;
  uint32_t interval = 0;  // index in the order of AddInterval; kSignal: the signal's number
};

class EventLoop {
 public:
  static Result<EventLoop> Create();

  Result<Done> WatchRing(int fd);
  Result<Done> AddInterval(uint64_t period_ns);
  Result<Done> SetDeadline(uint64_t delay_ns);
  // From now on the signal is an event (kSignal) and no longer ends the process.
  Result<Done> WatchSignal(int number);
  // Notices the end of the process behind a pidfd.
  Result<Done> WatchProcess(int fd);
  // Notices that the other end of a pipe or socket was closed. Files and terminals are accepted and
  // ignored.
  void WatchOutput(int fd);

  // Waits at most `timeout_ms` (-1: for ever). The events are valid until the next call.
  const std::vector<Event>& Wait(int timeout_ms);

  static void LetSignalsKill();

 private:
  EventLoop() = default;
  Result<Done> Add(int fd, uint32_t events, Wake wake, uint32_t interval);
  void TakeSignals();

  UniqueFd epoll_, signals_;
  std::vector<int> watched_;      // signals that are events
  std::vector<UniqueFd> timers_;  // intervals, in order; the deadline is kept apart
  UniqueFd deadline_;
  std::vector<Event> events_;
};

}  // namespace memtrace::session
