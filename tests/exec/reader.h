// Reader: the user's side of a machine. Takes records off the ring, decodes them with the product's
// own decoder and shows them through its text sink; prints, clears and zeroes maps.
//
// What the driver does with descriptors and system calls happens here on the machine's memory.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/base/file.h"
#include "compiler/plan/plan.h"
#include "runtime/events/decode.h"
#include "runtime/output/sink.h"
#include "runtime/symbols/symbolizer.h"
#include "tests/exec/machine.h"

namespace memtrace::exec {

class Reader : private events::Resolver {
 public:
  struct Options {
    bool raw_numbers = false;
  };
  // `plan` and `machine` must outlive it.
  Reader(const plan::Plan& plan, Machine& machine, const Options& options);

  // Acts on all records that are complete. Of the maps in `aside` the copy that events do not write
  // to is meant. Stops at an exit(); what comes after one is dropped by Skip().
  void Drain(std::span<const plan::Index> aside = {});
  void Skip();
  // Makes the other copy of `maps` current.
  void Swap(std::span<const plan::Index> maps);

  // Set by exit(code).
  std::optional<int> exit_status() const { return exit_status_; }

  void PrintMapsAtExit();
  // The line about what was lost; empty when nothing was.
  std::string Losses() const;

  // Everything that was printed so far.
  std::string Output();
  std::string ErrorOutput() const { return errors_; }

 private:
  std::vector<uint64_t> StackFrames(uint64_t hash) override;
  std::string UserName(uint32_t uid) override { return "user" + std::to_string(uid); }
  std::string GroupName(uint32_t gid) override { return "group" + std::to_string(gid); }
  std::string CgroupPath(uint64_t id) override { return "/cgroup" + std::to_string(id); }
  std::string MemcgPath(uint64_t id) override { return "/memcg" + std::to_string(id); }
  std::string LoadAverage() override { return "0.50 0.25 0.12"; }
  uint64_t WallClock(uint64_t boot_ns) override { return boot_ns; }

  void Act(const plan::Action& action, events::Bytes record);
  void PrintMap(plan::Index map, bool aside, int64_t top, int64_t div);
  void Erase(plan::Index map, bool aside, bool keep_keys);
  uint32_t CopyOf(const plan::Map& map, bool aside) const;
  std::vector<events::RawEntry> Entries(const plan::Map& map, uint32_t copy, uint32_t& stride);

  const plan::Plan& plan_;
  Machine& machine_;
  UniqueFd output_;
  bool raw_numbers_;
  symbols::Symbolizer symbolizer_;
  std::unique_ptr<output::Sink> sink_;
  std::string errors_;
  std::optional<int> exit_status_;
};

}  // namespace memtrace::exec
