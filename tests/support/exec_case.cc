#include "tests/support/exec_case.h"

namespace memtrace::test {

ExecArguments ExecArgumentsOf(const TextCase& text_case) {
  ExecArguments arguments;
  std::vector<std::string> words = text_case.Words("args");
  for (size_t i = 0; i < words.size(); ++i) {
    // "-7" is the script's.
    if (!words[i].starts_with("--")) {
      arguments.positional.push_back(words[i]);
      continue;
    }
    arguments.options.push_back(words[i]);
    if (words[i] == "--config" && i + 1 < words.size()) arguments.options.push_back(words[++i]);
  }
  return arguments;
}

}  // namespace memtrace::test
