// Sink: where output goes and in which form. Two implementations: text for people, NDJSON for
// programs.
//
// Calls come in the order of output. A sink writes in blocks; Flush() is called when the reader has
// caught up, at the end of an interval and before exit. After a write error every call does nothing
// and `failed()` tells (SIGPIPE is ignored by the driver; a closed pipe ends the session quietly).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/plan/plan.h"
#include "runtime/events/value.h"
#include "runtime/symbols/symbolizer.h"

namespace memtrace::output {

class Sink {
 public:
  virtual ~Sink() = default;
  // printf and time: text as formatted, newlines included.
  virtual void Text(std::string_view text) = 0;
  virtual void Print(const events::Value& value) = 0;     // print(expr)
  virtual void Print(const events::MapTable& table) = 0;  // print(@m), maps at exit
  virtual void Flush() = 0;
  virtual bool failed() const = 0;
  // Why writing failed, for people: "write: No space left on device". Empty when nothing failed and
  // when the reader of a pipe went away.
  virtual std::string failure() const = 0;
  // JSON only: attached probes and losses as objects. Text sinks do nothing (the driver tells
  // people on stderr).
  virtual void Attached(size_t probes) = 0;
  virtual void Lost(std::string_view cause, std::string_view subject, uint64_t count) = 0;
};

struct SinkOptions {
  int fd = 1;                // where to write; not owned
  bool raw_numbers = false;  // --raw: units are not scaled
};

std::unique_ptr<Sink> NewTextSink(const SinkOptions& options, symbols::Symbolizer& symbolizer);
std::unique_ptr<Sink> NewJsonSink(const SinkOptions& options, symbols::Symbolizer& symbolizer);

// Appends the text of a printf action: pieces of `action` filled with `arguments` (one per
// action.arguments). %s of a number with a unit prints it scaled unless `raw_numbers`, %d plain; %s
// of an enum its name; stacks and symbols as text. Otherwise conversions mean what they mean in C,
// for 64-bit numbers, but %x, %o and %u of a negative number reach no farther than its type. What
// would drive a terminal is escaped in text that came from the traced machine (escape.h), not in
// the format itself.
void FormatInto(std::string& out, const plan::Action& action,
                const std::vector<events::Value>& arguments, symbols::Symbolizer& symbolizer,
                bool raw_numbers = false);

}  // namespace memtrace::output
