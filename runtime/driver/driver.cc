#include "runtime/driver/driver.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include "compiler/compile.h"
#include "runtime/driver/listing.h"
#include "runtime/driver/options.h"
#include "runtime/output/sink.h"
#include "runtime/session/session.h"
#include "runtime/symbols/symbolizer.h"

namespace memtrace::driver {
namespace {

// No person writes a longer one; /dev/zero is.
constexpr size_t kMaxScriptBytes = 16 << 20;

constexpr int kFailure = 1;  // the script or the environment is wrong
constexpr int kMisuse = 2;   // the command line is wrong

constexpr std::string_view kVersionText = "memtrace 0.1.0\n";

void Print(std::FILE* stream, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stream);
}

// Standard output, all of `text`; else the status is that of a failure.
int PrintOut(std::string_view text) {
  Print(stdout, text);
  if (std::fflush(stdout) == 0) return 0;
  Print(stderr, std::string("error: write standard output: ") + std::strerror(errno) + "\n");
  return kFailure;
}

// What is opened later must not become standard output or standard error.
void OpenStandardStreams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    // Opened for reading where it is written to and the other way round: using it is an error.
    int flags = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (::open("/dev/null", flags) != fd) std::abort();
  }
}

int Fail(const Error& error) {
  Print(stderr, "error: " + error.message() + "\n");
  return kFailure;
}

// One invocation: what the stages share.
class Invocation {
 public:
  explicit Invocation(const Options& options)
      : options_(options),
        kernel_(options.sysroot.empty() ? kernel::Roots{} : kernel::Roots::Fixture(options.sysroot),
                types_) {}

  int List();
  int Run();

 private:
  Result<Done> ReadScript();
  sema::CheckOptions CheckOptions();
  Result<Done> FindScope();
  void PrintDiagnostics() const;
  int Dump();
  int Trace();
  Result<int> RunCompiled(const Compiled& compiled);

  const Options& options_;
  types::TypeTable types_;
  kernel::Kernel kernel_;
  diag::SourceMap sources_;
  diag::Span text_;
  diag::Diagnostics diagnostics_;
  session::ScopeOptions scope_;
  plan::CgroupHierarchy hierarchy_ = plan::CgroupHierarchy::kNone;
};

int Invocation::List() {
  user::Programs programs(types_, static_cast<uint32_t>(options_.process.value_or(0)),
                          kernel_.program_root());
  Result<Listing> list = ListProbes(kernel_, programs, options_.script, options_.list_verbose);
  if (!list.ok()) return Fail(list.error());
  if (list.value().text.empty()) {
    return Fail(Error(ErrorKind::kNotFound, "no probe matches " + options_.script));
  }
  Print(stderr, list.value().left_out);
  return PrintOut(list.value().text);
}

Result<Done> Invocation::ReadScript() {
  if (options_.program) {
    text_ = sources_.Add("-e", *options_.program);
    return Done{};
  }
  bool is_stdin = options_.script == "-";
  if (options_.script.find('{') != std::string::npos) {
    return Error(ErrorKind::kNotFound,
                 "this is a program and not the name of a file: put -e before it");
  }
  MT_ASSIGN_OR_RETURN(std::string text,
                      ReadFile(is_stdin ? "/dev/stdin" : options_.script, kMaxScriptBytes));
  text_ = sources_.Add(is_stdin ? "standard input" : options_.script, std::move(text));
  return Done{};
}

sema::CheckOptions Invocation::CheckOptions() {
  sema::CheckOptions options;
  options.positional = options_.positional;
  for (const auto& [name, value] : options_.config) {
    diag::Span text = sources_.Add("--config", name + "=" + value);
    options.config.push_back({.name = name, .value = value, .span = text});
  }
  options.allow_unsafe = options_.unsafe;
  options.process = static_cast<uint32_t>(options_.process.value_or(0));
  if (scope_.process) options.processes = plan::ProcessScope::kProcess;
  if (scope_.tree || scope_.command_tree) options.processes = plan::ProcessScope::kTree;
  options.cgroup = hierarchy_;
  options.exclude_self = options_.exclude_self;
  return options;
}

// Whom the options let through. A command beside another scope is only run, not what is traced.
Result<Done> Invocation::FindScope() {
  scope_.process = options_.process;
  scope_.tree = options_.tree;
  scope_.command_tree = options_.command && !options_.process && !options_.tree &&
                        options_.cgroup.empty() && !options_.all_processes;
  if (options_.cgroup.empty()) return Done{};
  MT_ASSIGN_OR_RETURN(kernel::FoundCgroup found,
                      kernel::FindCgroup(kernel_.cgroup_mounts(), options_.cgroup));
  scope_.cgroup = found.id;
  scope_.cgroup_path = options_.cgroup;
  hierarchy_ = found.is_unified ? plan::CgroupHierarchy::kUnified : plan::CgroupHierarchy::kMemory;
  return Done{};
}

void Invocation::PrintDiagnostics() const {
  Print(stderr, diag::Render(diagnostics_, sources_, ::isatty(STDERR_FILENO) != 0));
}

int Invocation::Run() {
  if (Result<Done> read = ReadScript(); !read.ok()) return Fail(read.error());
  if (Result<Done> found = FindScope(); !found.ok()) return Fail(found.error());
  if (!options_.dump.empty()) return Dump();
  if (options_.check) {
    CheckOnly(sources_, text_, kernel_, CheckOptions(), diagnostics_);
    PrintDiagnostics();
    return diagnostics_.has_errors() ? kFailure : 0;
  }
  return Trace();
}

int Invocation::Dump() {
  std::optional<Stage> stage = StageNamed(options_.dump);
  if (!stage) {
    Print(stderr,
          "error: --dump takes tokens, ast, types, plan, ir or asm, not " + options_.dump + "\n");
    return kMisuse;
  }
  std::optional<std::string> dump =
      DumpStage(*stage, sources_, text_, kernel_, CheckOptions(), diagnostics_);
  PrintDiagnostics();
  if (!dump) return kFailure;
  int status = PrintOut(*dump);
  return diagnostics_.has_errors() ? kFailure : status;
}

int Invocation::Trace() {
  std::optional<Compiled> compiled =
      Compile(sources_, text_, kernel_, CheckOptions(), diagnostics_);
  PrintDiagnostics();
  if (!compiled) return kFailure;
  Result<int> status = RunCompiled(*compiled);
  return status.ok() ? status.value() : Fail(status.error());
}

Result<int> Invocation::RunCompiled(const Compiled& compiled) {
  UniqueFd file;
  if (!options_.output.empty()) {
    file.Reset(::open(options_.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!file.valid()) return Error::FromErrno("open " + options_.output);
  }
  int output_fd = file.valid() ? file.get() : STDOUT_FILENO;
  symbols::Symbolizer symbolizer;
  auto make = options_.format == OutputFormat::kJson ? output::NewJsonSink : output::NewTextSink;
  std::unique_ptr<output::Sink> sink =
      make({.fd = output_fd, .raw_numbers = options_.raw_numbers}, symbolizer);

  MT_ASSIGN_OR_RETURN(int status, session::Run(compiled.plan, compiled.object, *sink, symbolizer,
                                               {.dry_run = options_.dry_run,
                                                .quiet = options_.quiet,
                                                .verbose = options_.verbose,
                                                .strict = options_.strict,
                                                .statistics = options_.statistics,
                                                .exit_status = options_.exit_status,
                                                .command = options_.command,
                                                .scope = scope_,
                                                .duration_ns = options_.duration_ns,
                                                .max_events = options_.max_events,
                                                .online_cpus = kernel_.online_cpus(),
                                                .raw_numbers = options_.raw_numbers,
                                                .output_fd = output_fd}));
  // A reader that has seen enough is no error; a full disk is.
  if (sink->failed() && !sink->failure().empty()) {
    std::string where = file.valid() ? options_.output : "standard output";
    return Error(ErrorKind::kOther, "write " + where + ": " + sink->failure());
  }
  return status;
}

}  // namespace

int Main(const std::vector<std::string>& arguments) {
  OpenStandardStreams();
  if (arguments.empty()) {
    Print(stderr, Usage());
    return kMisuse;
  }
  Result<Options> options = ParseOptions(arguments);
  if (!options.ok()) {
    Print(stderr, "error: " + options.error().message() + "\n" + Usage());
    return kMisuse;
  }
  const Options& wanted = options.value();
  if (wanted.help) {
    return PrintOut(Help());
  }
  if (wanted.version) {
    return PrintOut(kVersionText);
  }
  if (!wanted.list && !wanted.program && wanted.script.empty()) {
    Print(stderr, "error: no script and no -e PROGRAM\n" + Usage());
    return kMisuse;
  }
  if (!wanted.sysroot.empty() && !wanted.check && wanted.dump.empty() && !wanted.list) {
    Print(stderr,
          "error: --sysroot describes another kernel: it goes with --check, --dump or -l\n");
    return kMisuse;
  }
  Invocation invocation(wanted);
  return wanted.list ? invocation.List() : invocation.Run();
}

}  // namespace memtrace::driver
