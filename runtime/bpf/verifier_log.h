// Turns the verifier's log of a refused program into a few lines for people.
//
// A pure function on text. The log interleaves instructions with "; TEXT" (Linux before 6.8) or
// "; TEXT @ FILE:LINE" comments from the program's line info.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace memtrace::bpf {

struct Rejection {
  uint32_t line = 0;     // in the script; 0: the log does not say
  std::string source;    // text of that line; may be empty
  std::string messages;  // the last lines of the log, each indented and ended by a newline
};

Rejection ReadVerifierLog(std::string_view log);

}  // namespace memtrace::bpf
