#include "runtime/driver/listing.h"

#include <algorithm>
#include <vector>

#include <fnmatch.h>
#include <strings.h>

#include <fmt/format.h>

namespace memtrace::driver {
namespace {

struct Pattern {
  std::string category = "*";
  std::string event = "*";
};

std::vector<std::string> SplitAtColons(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(':', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool NamesTracepoints(const std::string& provider) {
  return ::strcasecmp(provider.c_str(), "t") == 0 ||
         ::fnmatch(provider.c_str(), "tracepoint", FNM_CASEFOLD) == 0;
}

// "tracepoint:kmem:x", "t:kmem:x", "kmem:x", "x".
Pattern ReadPattern(const std::string& text) {
  std::vector<std::string> parts = SplitAtColons(text);
  if (NamesTracepoints(parts.front()) && parts.front() != "*") parts.erase(parts.begin());
  if (parts.size() == 3) parts.erase(parts.begin());
  Pattern pattern;
  if (parts.size() >= 2) pattern.category = parts[0];
  if (!parts.empty() && !parts.back().empty()) pattern.event = parts.back();
  return pattern;
}

std::string Fields(const kernel::TracepointFormat& format) {
  std::string text;
  for (const types::Member& member : format.members) {
    text += fmt::format("    {} {}\n", member.type.Name(), member.name);
  }
  return text;
}

}  // namespace

Result<std::string> ListProbes(kernel::Kernel& kernel, const std::string& text,
                               bool with_arguments) {
  Pattern pattern = ReadPattern(text);
  MT_ASSIGN_OR_RETURN(const std::vector<kernel::TracepointName>* names, kernel.Tracepoints());
  std::string list;
  for (const kernel::TracepointName& name : *names) {
    if (::fnmatch(pattern.category.c_str(), name.category.c_str(), 0) != 0) continue;
    if (::fnmatch(pattern.event.c_str(), name.event.c_str(), 0) != 0) continue;
    list += fmt::format("tracepoint:{}:{}\n", name.category, name.event);
    if (!with_arguments) continue;
    MT_ASSIGN_OR_RETURN(const kernel::TracepointFormat* format, kernel.Format(name));
    list += Fields(*format);
  }
  return list;
}

}  // namespace memtrace::driver
