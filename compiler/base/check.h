// MT_CHECK: our own bugs abort.
//
// A failed check is never reachable from a user's program or from the state of the machine: those are
// Diagnostics and Result<T>. The sentence says what was believed, so that a report is useful without a
// debugger.
#pragma once

namespace memtrace {

// Prints "memtrace: internal error: SENTENCE (file:line)" to stderr and aborts.
[[noreturn]] void CheckFailed(const char* sentence, const char* file, int line);

}  // namespace memtrace

#define MT_CHECK(condition, sentence)                                             \
  do {                                                                            \
    if (!(condition)) ::memtrace::CheckFailed(sentence, __FILE__, __LINE__);      \
  } while (false)

#define MT_UNREACHABLE(sentence) ::memtrace::CheckFailed(sentence, __FILE__, __LINE__)
