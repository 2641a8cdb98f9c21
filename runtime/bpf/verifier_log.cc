#include "runtime/bpf/verifier_log.h"

#include <algorithm>
#include <charconv>
#include <deque>

namespace memtrace::bpf {

// Enough for the refusal itself and the instructions that led to it.
constexpr size_t kLinesKept = 12;

static bool IsStatistics(std::string_view line) {
  return line.starts_with("processed ") || line.starts_with("verification time ") ||
         line.starts_with("stack depth ") || line.starts_with("peak_states ");
}

// "; @x = 1 @ script.mt:3" or "; @x = 1".
static void ReadSourceLine(std::string_view line, Rejection& rejection) {
  std::string_view text = line.substr(2);
  rejection.line = 0;
  size_t at = text.rfind(" @ ");
  size_t colon = text.rfind(':');
  if (at != text.npos && colon != text.npos && colon > at) {
    std::from_chars(text.data() + colon + 1, text.data() + text.size(), rejection.line);
    if (rejection.line != 0) text = text.substr(0, at);
  }
  rejection.source = text;
}

Rejection ReadVerifierLog(std::string_view log) {
  Rejection rejection;
  std::deque<std::string_view> last;
  while (!log.empty()) {
    size_t end = std::min(log.find('\n'), log.size());
    std::string_view line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    if (line.empty() || IsStatistics(line)) continue;
    if (line.starts_with("; ")) ReadSourceLine(line, rejection);
    last.push_back(line);
    if (last.size() > kLinesKept) last.pop_front();
  }
  for (std::string_view line : last) {
    rejection.messages += "  ";
    rejection.messages += line;
    rejection.messages += '\n';
  }
  return rejection;
}

}  // namespace memtrace::bpf
