// Actions: does what a record from the ring asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/plan/plan.h"
#include "runtime/bpf/maps.h"
#include "runtime/events/decode.h"
#include "runtime/output/sink.h"

namespace memtrace::session {

class Actions {
 public:
  // All must outlive it.
  Actions(const plan::Plan& plan, bpf::MapStore& store, events::Resolver& resolver,
          symbols::Symbolizer& symbolizer, output::Sink& sink, bool raw_numbers);

  void Handle(events::Bytes record);

  // Prints a map unless it was never written or is empty.
  void PrintMap(plan::Index map, bpf::Copy copy, int64_t top, int64_t div);

  void Exit(int status) { exit_status_ = status; }

  // Set by exit(): nothing more is to be handled.
  const std::optional<int>& exit_status() const { return exit_status_; }
  // Records that made output.
  uint64_t printed() const { return printed_; }

 private:
  void Decode(const plan::Action& action, events::Bytes record);
  void Format(const plan::Action& action);
  void Run(const plan::Action& action, bpf::Copy copy);
  void Complain(const Error& error);

  const plan::Plan& plan_;
  bpf::MapStore& store_;
  events::Resolver& resolver_;
  symbols::Symbolizer& symbolizer_;
  output::Sink& sink_;
  bool raw_numbers_;
  std::vector<events::Value> arguments_;  // of the record at hand; kept for its memory, as is text_
  std::string text_;
  std::optional<int> exit_status_;
  uint64_t printed_ = 0;
};

}  // namespace memtrace::session
