// Options: what the command line asks for.
//
// One table says each option's spellings, argument, help and effect; --help is printed from it.
// What follows the script and is no option of memtrace is a positional parameter ($1, …); `--` ends
// the options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/result.h"

namespace memtrace::driver {

enum class OutputFormat : uint8_t { kText, kJson };

struct Options {
  std::optional<std::string> program;  // -e
  std::string script;                  // a path, "-" for standard input; empty with -e
  std::vector<std::string> positional;

  OutputFormat format = OutputFormat::kText;
  std::string output;  // empty: standard output
  bool raw_numbers = false;
  bool quiet = false;
  bool verbose = false;

  bool help = false;
  bool version = false;
  bool list = false;          // `script` is then the pattern
  bool list_verbose = false;  // -lv
  bool check = false;
  bool dry_run = false;
  std::string dump;  // a stage
  std::string sysroot;

  std::vector<std::pair<std::string, std::string>> config;
  bool strict = false;
  bool unsafe = false;
  std::optional<std::string> command;  // -c
  std::optional<int> process;          // -p
  std::optional<int> tree;             // --tree
  std::string cgroup;                  // --cgroup
  bool all_processes = false;          // -a: -c does not narrow what is traced
  bool exclude_self = false;
  bool exit_status = false;
  bool statistics = false;
  uint64_t duration_ns = 0;  // 0: no limit
  uint64_t max_events = 0;   // 0: no limit
};

// `arguments` without the program's name. The message of an error is for people who mistyped.
Result<Options> ParseOptions(const std::vector<std::string>& arguments);

std::string Usage();  // two lines
std::string Help();

// "10" (seconds), "250ms", "1.5s", "2m" in nanoseconds; empty when it is none of these.
std::optional<uint64_t> ParseDuration(const std::string& text);

}  // namespace memtrace::driver
