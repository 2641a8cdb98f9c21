// Runs a program to its end and collects what it prints.
//
// For tests only: it blocks, and keeps all output in memory. A fixed environment is passed, so that
// the caller's locale and terminal cannot change what is compared.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace memtrace::test {

struct Command {
  std::vector<std::string> words;  // words[0] is the path of the program
  std::string directory;           // to run it in; empty means here
  std::string input;               // its standard input
  std::chrono::seconds timeout{60};
};

struct Finished {
  std::string out;
  std::string err;
  int exit_status = 0;  // 128 + the signal's number when a signal ended it
  std::string failure;  // why it could not be started, or that it ran out of time; else empty
};

Finished Run(const Command& command);

}  // namespace memtrace::test
