#include "runtime/driver/options.h"

#include <climits>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

namespace memtrace::driver {
namespace {

struct Row {
  char letter;  // 0: none
  std::string_view name;
  std::string_view argument;  // empty: takes none
  std::string_view help;
  Result<Done> (*set)(Options& options, const std::string& value);
};

Error Mistake(std::string message) { return Error(ErrorKind::kInvalid, std::move(message)); }

template <bool Options::* member>
Result<Done> SetFlag(Options& options, const std::string&) {
  options.*member = true;
  return Done{};
}

template <std::string Options::* member>
Result<Done> SetText(Options& options, const std::string& value) {
  options.*member = value;
  return Done{};
}

Result<Done> SetProgram(Options& options, const std::string& value) {
  if (options.program) return Mistake("-e was given twice");
  options.program = value;
  return Done{};
}

Result<Done> SetCommand(Options& options, const std::string& value) {
  options.command = value;
  return Done{};
}

Result<Done> SetFormat(Options& options, const std::string& value) {
  if (value != "text" && value != "json") return Mistake("-f takes text or json, not " + value);
  options.format = value == "json" ? OutputFormat::kJson : OutputFormat::kText;
  return Done{};
}

Result<Done> SetConfig(Options& options, const std::string& value) {
  size_t equals = value.find('=');
  if (equals == 0 || equals == value.npos)
    return Mistake("--config takes name=value, not " + value);
  options.config.emplace_back(value.substr(0, equals), value.substr(equals + 1));
  return Done{};
}

Result<Done> SetDuration(Options& options, const std::string& value) {
  std::optional<uint64_t> duration = ParseDuration(value);
  if (!duration || *duration == 0) {
    return Mistake("--duration takes a time such as 10s or 250ms, not " + value);
  }
  options.duration_ns = *duration;
  return Done{};
}

Result<Done> SetMaxEvents(Options& options, const std::string& value) {
  char* end = nullptr;
  options.max_events = std::strtoull(value.c_str(), &end, 10);
  if (options.max_events == 0 || *end != '\0' || value[0] == '-') {
    return Mistake("--max-events takes a number from 1 on, not " + value);
  }
  return Done{};
}

template <std::optional<int> Options::* member>
Result<Done> SetProcess(Options& options, const std::string& value) {
  char* end = nullptr;
  long number = std::strtol(value.c_str(), &end, 10);
  if (value.empty() || *end != '\0' || number <= 0 || number > INT_MAX) {
    return Mistake("not the number of a process: " + value);
  }
  options.*member = static_cast<int>(number);
  return Done{};
}

Result<Done> SetMaxProbes(Options& options, const std::string& value) {
  options.config.emplace_back("max_probes", value);
  return Done{};
}

constexpr Row kRows[] = {
    {'e', "", "PROGRAM", "run this program instead of a file", SetProgram},
    {'c', "", "COMMAND", "run COMMAND and trace it and what it forks; its end ends the tracing",
     SetCommand},
    {'p', "", "PID", "trace this process, all its threads; its end ends the tracing",
     SetProcess<&Options::process>},
    {0, "tree", "PID", "trace this process and all it forked and will fork",
     SetProcess<&Options::tree>},
    {0, "cgroup", "PATH", "trace what runs in this cgroup or below it (v2, or v1's memory)",
     SetText<&Options::cgroup>},
    {'a', "all", "", "with -c: trace the whole machine while COMMAND runs",
     SetFlag<&Options::all_processes>},
    {0, "exclude-self", "", "leave out what memtrace itself causes, in every clause",
     SetFlag<&Options::exclude_self>},
    {'f', "format", "FORMAT", "text (the default) or json, one object per line", SetFormat},
    {'o', "output", "FILE", "write to FILE instead of standard output", SetText<&Options::output>},
    {'q', "quiet", "", "no notices; data and losses are printed all the same",
     SetFlag<&Options::quiet>},
    {'v', "verbose", "", "say what is attached and how", SetFlag<&Options::verbose>},
    {0, "raw", "", "print plain numbers, units are not scaled", SetFlag<&Options::raw_numbers>},
    {'l', "list", "", "list the probes that match a pattern; -lv with their arguments",
     SetFlag<&Options::list>},
    {0, "check", "", "only tell whether the program is right", SetFlag<&Options::check>},
    {0, "dry-run", "", "compile and load, attach nothing", SetFlag<&Options::dry_run>},
    {0, "dump", "STAGE", "print tokens, ast, types, plan, ir or asm and stop",
     SetText<&Options::dump>},
    {0, "config", "NAME=VALUE", "set what the script could set in config = { … }; repeatable",
     SetConfig},
    {0, "duration", "TIME", "stop after TIME: 10s, 250ms, 2m", SetDuration},
    {0, "max-events", "N", "stop after N lines of output from events", SetMaxEvents},
    {0, "max-probes", "N", "let a wildcard name at most N functions (1024)", SetMaxProbes},
    {0, "strict", "", "exit status 3 when something was lost", SetFlag<&Options::strict>},
    {0, "exit-status", "", "exit with the status of -c COMMAND", SetFlag<&Options::exit_status>},
    {0, "unsafe", "", "allow functions that change the machine", SetFlag<&Options::unsafe>},
    {0, "stats", "", "at the end, tell what each program cost", SetFlag<&Options::statistics>},
    {0, "sysroot", "DIR", "read the kernel's description below DIR; with --check or --dump",
     SetText<&Options::sysroot>},
    {'V', "version", "", "print the version", SetFlag<&Options::version>},
    {'h', "help", "", "print this", SetFlag<&Options::help>},
};

const Row* FindLong(std::string_view name) {
  for (const Row& row : kRows) {
    if (!row.name.empty() && row.name == name) return &row;
  }
  return nullptr;
}

const Row* FindLetter(char letter) {
  for (const Row& row : kRows) {
    if (row.letter != 0 && row.letter == letter) return &row;
  }
  return nullptr;
}

// Walks over the arguments. What is not an option is the script first and positional from then on.
class Parser {
 public:
  explicit Parser(const std::vector<std::string>& arguments) : arguments_(arguments) {}

  Result<Options> Parse() {
    bool only_positional = false;
    while (next_ < arguments_.size()) {
      const std::string& argument = arguments_[next_++];
      if (only_positional || argument.size() < 2 || argument[0] != '-') {
        TakePlain(argument);
      } else if (argument == "--") {
        only_positional = true;
      } else {
        MT_RETURN_IF_ERROR(argument[1] == '-' ? TakeLong(argument) : TakeLetters(argument));
      }
    }
    options_.list_verbose = options_.list && options_.verbose;
    if (options_.process && options_.tree) return Mistake("-p and --tree exclude each other");
    return std::move(options_);
  }

 private:
  bool has_script() const { return options_.program.has_value() || !options_.script.empty(); }

  void TakePlain(const std::string& argument) {
    if (has_script()) {
      options_.positional.push_back(argument);
    } else {
      options_.script = argument;
    }
  }

  // An unknown option behind the script is the script's.
  Result<Done> TakeUnknown(const std::string& argument) {
    if (!has_script()) return Mistake("unknown option " + argument);
    options_.positional.push_back(argument);
    return Done{};
  }

  Result<Done> TakeLong(const std::string& argument) {
    size_t equals = argument.find('=');
    const Row* row = FindLong(std::string_view(argument).substr(2, equals - 2));
    if (row == nullptr) return TakeUnknown(argument);
    if (row->argument.empty()) {
      if (equals != argument.npos) return Mistake(fmt::format("--{} takes no value", row->name));
      return row->set(options_, "");
    }
    if (equals != argument.npos) return row->set(options_, argument.substr(equals + 1));
    return TakeValue(*row, argument);
  }

  // "-qv", "-eTEXT", "-e TEXT".
  Result<Done> TakeLetters(const std::string& argument) {
    for (size_t i = 1; i < argument.size(); ++i) {
      const Row* row = FindLetter(argument[i]);
      if (row == nullptr) {
        return i == 1 ? TakeUnknown(argument) : Mistake("unknown option " + argument);
      }
      if (!row->argument.empty()) {
        if (i + 1 < argument.size()) return row->set(options_, argument.substr(i + 1));
        return TakeValue(*row, argument);
      }
      MT_RETURN_IF_ERROR(row->set(options_, ""));
    }
    return Done{};
  }

  Result<Done> TakeValue(const Row& row, const std::string& argument) {
    if (next_ == arguments_.size()) {
      return Mistake(fmt::format("{} needs {}", argument, row.argument));
    }
    return row.set(options_, arguments_[next_++]);
  }

  const std::vector<std::string>& arguments_;
  size_t next_ = 0;
  Options options_;
};

}  // namespace

Result<Options> ParseOptions(const std::vector<std::string>& arguments) {
  return Parser(arguments).Parse();
}

std::string Usage() {
  return "usage: memtrace [OPTION…] FILE | -e PROGRAM [ARGUMENT…]\n"
         "       memtrace -l[v] [PATTERN]        (memtrace --help tells more)\n";
}

std::string Help() {
  std::string text = Usage() + "\nTraces memory events of the kernel and of programs.\n\n";
  for (const Row& row : kRows) {
    std::string spelling = row.letter != 0 ? fmt::format("-{}", row.letter) : "  ";
    if (!row.name.empty())
      spelling += fmt::format("{}--{}", row.letter != 0 ? ", " : "  ", row.name);
    if (!row.argument.empty()) spelling += fmt::format(" {}", row.argument);
    text += fmt::format("  {:<24} {}\n", spelling, row.help);
  }
  return text +
         "\nExit status: 0, or n of exit(n); 1 script or environment, 2 usage, 3 lost data "
         "(--strict).\n";
}

std::optional<uint64_t> ParseDuration(const std::string& text) {
  char* end = nullptr;
  double number = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !(number >= 0)) return std::nullopt;
  static constexpr std::pair<std::string_view, double> kUnits[] = {
      {"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}, {"m", 60e9}, {"h", 3600e9}};
  for (const auto& [unit, factor] : kUnits) {
    if (unit != end) continue;
    double nanoseconds = number * factor;
    if (!(nanoseconds < 9e18)) return std::nullopt;
    return static_cast<uint64_t>(std::llround(nanoseconds));
  }
  return std::nullopt;
}

}  // namespace memtrace::driver
