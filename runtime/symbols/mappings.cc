#include "runtime/symbols/mappings.h"

#include <algorithm>
#include <charconv>

namespace memtrace::symbols {
namespace {

// Reads a number and the character that has to follow it.
bool Take(std::string_view& text, uint64_t& number, int base, char follower) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end == text.data() + text.size() || *end != follower) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()) + 1);
  return true;
}

// "55d0-55e0 r-xp 00001000 fe:01 1234      /usr/bin/cat"
bool ParseLine(std::string_view line, Mapping& mapping) {
  constexpr size_t kPermissions = 5;  // with the blank
  constexpr std::string_view kDeleted = " (deleted)";
  uint64_t major = 0, minor = 0;
  if (!Take(line, mapping.start, 16, '-') || !Take(line, mapping.end, 16, ' ')) return false;
  if (line.size() < kPermissions) return false;
  line.remove_prefix(kPermissions);
  if (!Take(line, mapping.file_offset, 16, ' ') || !Take(line, major, 16, ':') ||
      !Take(line, minor, 16, ' ')) {
    return false;
  }
  mapping.device = major << 32 | minor;
  auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), mapping.inode);
  if (error != std::errc()) return false;
  line.remove_prefix(static_cast<size_t>(end - line.data()));
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  if (line.ends_with(kDeleted)) line.remove_suffix(kDeleted.size());
  mapping.name = line.empty() ? "[anon]" : std::string(line);
  return true;
}

}  // namespace

std::vector<Mapping> ParseMappings(std::string_view text) {
  std::vector<Mapping> mappings;
  while (!text.empty()) {
    size_t length = std::min(text.find('\n'), text.size());
    Mapping mapping;
    if (ParseLine(text.substr(0, length), mapping)) mappings.push_back(std::move(mapping));
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  std::sort(mappings.begin(), mappings.end(),
            [](const Mapping& left, const Mapping& right) { return left.start < right.start; });
  return mappings;
}

const Mapping* FindMapping(const std::vector<Mapping>& mappings, uint64_t address) {
  auto next = std::upper_bound(
      mappings.begin(), mappings.end(), address,
      [](uint64_t wanted, const Mapping& mapping) { return wanted < mapping.start; });
  if (next == mappings.begin() || address >= next[-1].end) return nullptr;
  return &next[-1];
}

}  // namespace memtrace::symbols
