#include "tests/exec/world.h"

#include <cerrno>
#include <cstdlib>

namespace memtrace::exec {
namespace {

// "0x10,0x20" → frames. An empty text is an empty stack.
bool ParseFrames(std::string_view text, std::vector<uint64_t>& frames) {
  frames.clear();
  while (!text.empty()) {
    size_t comma = text.find(',');
    uint64_t frame = 0;
    if (!ParseNumber(text.substr(0, comma), frame)) return false;
    frames.push_back(frame);
    text = comma == text.npos ? std::string_view() : text.substr(comma + 1);
  }
  return true;
}

}  // namespace

bool ParseNumber(std::string_view text, uint64_t& number) {
  if (text.empty()) return false;
  bool negative = text[0] == '-';
  std::string digits(negative ? text.substr(1) : text);
  char* end = nullptr;
  errno = 0;
  number = strtoull(digits.c_str(), &end, 0);
  if (end == digits.c_str() || *end != 0 || errno != 0) return false;
  if (negative) number = -number;
  return true;
}

bool World::Set(std::string_view name, std::string_view value) {
  if (name == "comm") {
    comm = value;
    return true;
  }
  if (name == "kstack") return ParseFrames(value, kernel_stack);
  if (name == "ustack") return ParseFrames(value, user_stack);

  uint64_t number = 0;
  if (!ParseNumber(value, number)) return false;
  if (name == "pid") {
    pid = tid = number;
  } else if (name == "time") {
    time = number;
  } else if (name == "random") {
    random = number;
  } else if (name == "vma_error") {
    vma_error = static_cast<int64_t>(number);
  } else if (name == "stack_error") {
    stack_error = static_cast<int64_t>(number);
  } else {
    struct Named {
      std::string_view name;
      uint64_t World::* number;
    };
    static constexpr Named kNumbers[] = {
        {"tid", &World::tid},
        {"uid", &World::uid},
        {"gid", &World::gid},
        {"cpu", &World::cpu},
        {"numa", &World::numa_node},
        {"cgroup", &World::cgroup},
        {"task", &World::task},
        {"jiffies", &World::jiffies},
        {"step", &World::step},
        {"vma", &World::vma},
        {"vma_begin", &World::vma_begin},
        {"vma_end", &World::vma_end},
    };
    for (const Named& named : kNumbers) {
      if (named.name != name) continue;
      this->*named.number = number;
      return true;
    }
    return false;
  }
  return true;
}

}  // namespace memtrace::exec
