// Runs the memtrace that was built, for tests on the live kernel.
//
// Standard output and error go to files in memory, so that nobody has to drain them and a slow
// test cannot slow the tracer down. What the traced command prints is in `out` too.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <sys/types.h>

namespace memtrace::test {

// What a finished tracer printed, and how to find numbers in it.
struct Trace {
  std::string out;
  std::string err;
  int exit_status = 0;  // 128 + the signal's number when a signal ended it
  std::string failure;  // why it could not be run, or that it did not end; else empty

  // Values that were printed for a keyless map, in order: of lines `NAME: VALUE`.
  std::vector<uint64_t> Values(std::string_view map) const;
  uint64_t Sum(std::string_view map) const;
  // Per key, the sum over all that was printed: of lines `NAME[KEY]: VALUE`.
  std::map<std::string, uint64_t> Keyed(std::string_view map) const;
  // Buckets of all histograms printed: the sum of their counts.
  uint64_t BucketTotal() const;
  // The number in a line `NAME NUMBER` that a workload printed.
  std::optional<uint64_t> Reported(std::string_view name) const;
  // Lines of `out` that match `regex` as a whole.
  std::vector<std::string> Lines(const std::string& regex) const;
  // Sum of the numbers that stand before a match of `what` in the report of losses on standard
  // error: `lost: 12 events (ring full …) · 84 keys (@ full …)`.
  uint64_t Lost(const std::string& what) const;
  // For messages of assertions.
  std::string Describe() const;
};

struct TraceOptions {
  std::string program = {};  // for -e; empty when there is a script
  std::string command = {};  // for -c: a workload by its name, and arguments; may be empty
  std::vector<std::string> options = {};  // before -e
  std::chrono::seconds timeout{60};
  std::vector<std::string> script = {};  // a file of scripts/, and its arguments
};

// A tracer that runs in the background. Destroying it kills it and its process group.
class Tracer {
 public:
  static Tracer Start(const TraceOptions& options);
  Tracer(Tracer&& other) noexcept;
  Tracer& operator=(Tracer&&) = delete;
  ~Tracer();

  pid_t pid() const { return pid_; }
  // Waits until standard output holds `text`; false when it ends or `timeout` passes before.
  bool WaitFor(std::string_view text, std::chrono::seconds timeout = std::chrono::seconds(20));
  void Signal(int number) const;
  // Waits for its end (and kills it at the timeout).
  Trace Finish();

  // The process of its command (-c); 0: there is none.
  pid_t CommandPid() const;
  // Ids of the BPF programs whose descriptors it holds.
  std::vector<uint32_t> ProgramIds() const;
  // Times that its threads gave up the CPU so far because they had to wait.
  uint64_t VoluntarySwitches() const;

 private:
  Tracer() = default;
  bool HasEnded();

  pid_t pid_ = -1;
  int out_ = -1, err_ = -1;  // files in memory; owned
  std::chrono::seconds timeout_{60};
  std::optional<int> status_;
  std::string failure_;
};

// Start and Finish.
Trace RunTracer(const TraceOptions& options);

// Whether perf has events of this kind on the kernel that runs: "kprobe", "uprobe", "breakpoint".
bool HasPerfDevice(const std::string& name);
inline bool HasKprobes() { return HasPerfDevice("kprobe"); }

// The path of a workload.
std::string Workload(std::string_view name);

// Of `programs`, those that the kernel still has two seconds later at the latest: it frees them
// when nobody can be running them any more.
std::vector<uint32_t> ProgramsLeft(const std::vector<uint32_t>& programs);

// The base of tests that trace: skips where that cannot work.
class TracerTest : public ::testing::Test {
 protected:
  void SetUp() override;
};

// The same for probes that need such events: also skips, for the reason `why_not`, where there are
// none.
class PerfDeviceTest : public TracerTest {
 protected:
  PerfDeviceTest(std::string device, std::string why_not)
      : device_(std::move(device)), why_not_(std::move(why_not)) {}
  void SetUp() override;

 private:
  std::string device_, why_not_;
};

}  // namespace memtrace::test
