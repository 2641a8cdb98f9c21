// Events: what happens in a case, line by line, and the contexts that programs get for it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/kernel/kernel.h"
#include "compiler/plan/plan.h"
#include "tests/exec/record.h"
#include "tests/exec/world.h"

namespace memtrace::exec {

// One line of a case's `events`:
//   PROBE [FIELD=VALUE …] [× N]         the event happens N times
//   during HELPER [× N]: PROBE …        it happens when the next event's program calls HELPER; with
//   N > 1 once
//                                       more inside of itself, N deep
//   world NAME=VALUE …                  from now on
//   drain off | drain on                records stay in the ring
struct EventLine {
  enum class Kind : uint8_t { kEvent, kDuring, kWorld, kDrain } kind = Kind::kEvent;
  int line = 0;        // of the section's body, from 1
  std::string probe;   // "tracepoint:kmem:mm_page_alloc"
  std::string helper;  // kDuring
  bool drain = true;   // kDrain
  std::vector<Assignment> assignments;
  uint32_t times = 1;  // of the event; kDuring: how deep
};
// "LINE: what is wrong" on failure.
Result<std::vector<EventLine>> ParseEvents(std::string_view body);

// Adds the regions that a case's `memory` describes, one a line:
//   ADDRESS kernel|user u8|u16|u32|u64 N…
//   ADDRESS kernel|user string TEXT [× N]
//   ADDRESS kernel|user struct NAME [FIELD=VALUE …]
Result<Done> ParseMemory(std::string_view body, kernel::Kernel& kernel, Memory& memory);

// Whether an event called `name` runs what `probe` attaches.
bool Serves(const plan::Probe& probe, std::string_view name);

// What a program gets as its context when `event` happens and `probe` is attached: a classic
// record, the arguments of a raw tracepoint, the registers at a function (arg0=…, sp=…, retval=…),
// or zeros. Memory that raw arguments point to is added
// to `memory`. The raw arguments of proven rows are found by field name, others are written as
// arg0=…, arg1=….
Result<std::string> MakeContext(kernel::Kernel& kernel, const plan::Probe& probe,
                                const EventLine& event, Memory& memory);

}  // namespace memtrace::exec
