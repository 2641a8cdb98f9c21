// Runs a sink against a temporary file and hands back what it wrote.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include <unistd.h>

#include "runtime/output/sink.h"

namespace memtrace::test {

// `make` is NewTextSink or NewJsonSink, `use` calls the sink.
template <typename Make, typename Use>
std::string Written(Make make, Use use, bool raw_numbers = false) {
  FILE* file = std::tmpfile();
  symbols::Symbolizer symbolizer;
  {
    std::unique_ptr<output::Sink> sink =
        make({.fd = fileno(file), .raw_numbers = raw_numbers}, symbolizer);
    use(*sink);
    sink->Flush();
  }
  std::string text(static_cast<size_t>(lseek(fileno(file), 0, SEEK_END)), '\0');
  text.resize(static_cast<size_t>(pread(fileno(file), text.data(), text.size(), 0)));
  std::fclose(file);
  return text;
}

inline events::Value Int(int64_t value, plan::Unit unit = plan::Unit::kNone) {
  return {events::Integer{
      .bits = static_cast<uint64_t>(value), .is_signed = true, .unit = unit, .name = {}}};
}
inline events::Value Str(std::string text) { return {std::move(text)}; }

inline events::Value Compound(events::Aggregate::Shape shape,
                              std::vector<std::pair<std::string, events::Value>> members) {
  events::Aggregate aggregate;
  aggregate.shape = shape;
  for (auto& [name, value] : members) aggregate.members.push_back({name, {std::move(value)}});
  return {aggregate};
}

}  // namespace memtrace::test
