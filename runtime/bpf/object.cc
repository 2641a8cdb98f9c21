#include "runtime/bpf/object.h"

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "compiler/kernel/module_btf.h"
#include "compiler/kernel/uprobe_multi.h"
#include "runtime/bpf/verifier_log.h"

namespace memtrace::bpf {
namespace {

// Only pages that the kernel writes to cost memory. The log of a program at the verifier's limit of
// a million instructions is longer; the kernel then keeps its end (since Linux 6.4) or its
// beginning.
constexpr size_t kLogSize = 16 << 20;

// What libbpf said while an object was loaded. libbpf's print function has no cookie, so the
// collector in use is a static; loading happens on one thread at a time.
class Messages {
 public:
  Messages() {
    current_ = this;
    libbpf_set_print(&Messages::Print);
  }
  ~Messages() { current_ = nullptr; }  // what libbpf says from now on is dropped
  const std::string& text() const { return text_; }

 private:
  static int Print(libbpf_print_level level, const char* format, va_list arguments) {
    if (level == LIBBPF_DEBUG || current_ == nullptr) return 0;
    char line[1024];
    vsnprintf(line, sizeof line, format, arguments);
    current_->text_ += line;
    return 0;
  }
  static inline Messages* current_ = nullptr;
  std::string text_;
};

bpf_prog_type TypeAtOpen(plan::ProgramType type) {
  switch (type) {
    case plan::ProgramType::kRawTracepoint:
      return BPF_PROG_TYPE_RAW_TRACEPOINT;
    case plan::ProgramType::kTracepoint:
      return BPF_PROG_TYPE_TRACEPOINT;
    case plan::ProgramType::kPerfEvent:
      return BPF_PROG_TYPE_PERF_EVENT;
    case plan::ProgramType::kKprobe:
    case plan::ProgramType::kKprobeMulti:
    case plan::ProgramType::kUprobeMulti:
      return BPF_PROG_TYPE_KPROBE;
    case plan::ProgramType::kTracing:
      // Until the last moment (TracingHandler): libbpf loads vmlinux BTF when it sees a tracing
      // program.
      return BPF_PROG_TYPE_RAW_TRACEPOINT;
  }
  MT_UNREACHABLE("a program type outside its enum");
}

bpf_attach_type AttachType(plan::TracingTarget target) {
  switch (target) {
    case plan::TracingTarget::kEntry:
      return BPF_TRACE_FENTRY;
    case plan::TracingTarget::kExit:
      return BPF_TRACE_FEXIT;
    case plan::TracingTarget::kIterator:
      return BPF_TRACE_ITER;
    case plan::TracingTarget::kTypedTracepoint:
    case plan::TracingTarget::kNone:
      return BPF_TRACE_RAW_TP;
  }
  MT_UNREACHABLE("a tracing target outside its enum");
}

// Gives typed programs (sections "mt/tracing/…") their BTF ids while a plan is loaded.
//
// The handler stays registered once it was needed: unregistering the last one makes libbpf
// before 1.3 free its table and go on using it ("libbpf: fix realloc API handling zero-sized
// reallocs"). Hence a static here too.
class TracingHandler {
 public:
  explicit TracingHandler(const plan::Plan& plan) {
    current_ = &plan;
    bool needed = false;
    for (const plan::Program& program : plan.programs) {
      needed |= program.type == plan::ProgramType::kTracing;
    }
    if (!needed || is_registered_) return;
    LIBBPF_OPTS(libbpf_prog_handler_opts, options, .prog_prepare_load_fn = &Prepare);
    is_registered_ = libbpf_register_prog_handler("mt/tracing+", BPF_PROG_TYPE_RAW_TRACEPOINT,
                                                  static_cast<bpf_attach_type>(0), &options) > 0;
  }
  ~TracingHandler() {
    current_ = nullptr;
    modules_.clear();
  }

 private:
  // Called by libbpf right before BPF_PROG_LOAD.
  static int Prepare(bpf_program* program, bpf_prog_load_opts* options, long) {
    if (current_ == nullptr) return 0;
    for (const plan::Program& planned : current_->programs) {
      if (planned.symbol != bpf_program__name(program)) continue;
      if (planned.type != plan::ProgramType::kTracing) return 0;
      options->expected_attach_type = AttachType(planned.tracing_target);
      options->attach_btf_id = planned.attach_btf_id;
      if (!planned.attach_module.empty()) {
        // Lives as long as the handler, which outlives the load.
        auto module = kernel::OpenModuleBtf(planned.attach_module);
        if (!module.ok()) return -ENOENT;
        modules_.push_back(std::move(module).value());
        options->attach_btf_obj_fd = modules_.back().get();
      }
      return bpf_program__set_type(program, BPF_PROG_TYPE_TRACING);
    }
    return 0;
  }
  static inline const plan::Plan* current_ = nullptr;
  static inline bool is_registered_ = false;
  static inline std::vector<UniqueFd> modules_;
};

Result<Done> Configure(const plan::Plan& plan, bpf_object* object) {
  for (const plan::Program& planned : plan.programs) {
    bpf_program* program = bpf_object__find_program_by_name(object, planned.symbol.c_str());
    if (program == nullptr) {
      return Error(ErrorKind::kInvalid, "the object has no program " + planned.symbol);
    }
    bpf_program__set_type(program, TypeAtOpen(planned.type));
    if (planned.type == plan::ProgramType::kKprobeMulti) {
      bpf_program__set_expected_attach_type(program, BPF_TRACE_KPROBE_MULTI);
    }
    if (planned.type == plan::ProgramType::kUprobeMulti) {
      bpf_program__set_expected_attach_type(
          program, static_cast<bpf_attach_type>(kernel::kTraceUprobeMulti));
    }
  }
  std::string ring(plan::kRingMap), state(plan::kStateSection);
  if (bpf_map* map = bpf_object__find_map_by_name(object, ring.c_str())) {
    bpf_map__set_max_entries(map, plan.config.ring_size);
  }
  if (bpf_map* map = bpf_object__find_map_by_name(object, state.c_str())) {
    // libbpf sets the flag itself only when the section's variables are described in BTF.
    bpf_map__set_map_flags(map, bpf_map__map_flags(map) | BPF_F_MMAPABLE);
  }
  return Done{};
}

// The program in "prog 'NAME': BPF program load failed"; null when no program was refused.
const plan::Program* RefusedProgram(const plan::Plan& plan, const std::string& text) {
  for (const plan::Program& program : plan.programs) {
    if (text.find("prog '" + program.symbol + "': BPF program load failed") != text.npos) {
      return &program;
    }
  }
  return nullptr;
}

std::string ProbeOf(const plan::Plan& plan, const plan::Program& program) {
  for (const plan::Probe& probe : plan.probes) {
    if (&plan.programs[probe.program] == &program) return probe.name;
  }
  return program.symbol;
}

Error LoadError(const plan::Plan& plan, int error_number, const std::string& text,
                const char* log) {
  const plan::Program* program = RefusedProgram(plan, text);
  if (program != nullptr && log[0] != '\0') {
    Rejection rejection = ReadVerifierLog(log);
    std::string message = "load " + ProbeOf(plan, *program) +
                          ": the kernel's verifier refused line " +
                          std::to_string(rejection.line != 0 ? rejection.line : program->line);
    if (!rejection.source.empty()) message += " (" + rejection.source + ")";
    if (!rejection.messages.empty()) rejection.messages.pop_back();
    return Error(ErrorKind::kRejected, message + "\n" + rejection.messages);
  }
  std::string what = program != nullptr ? "load " + ProbeOf(plan, *program) : "load";
  Error error = Error::FromErrno(what, error_number);
  if (error.kind() == ErrorKind::kPermission) {
    return Error(error.kind(), error.message() + "; needs root, or CAP_BPF and CAP_PERFMON");
  }
  // The first thing that libbpf complained about says most; the rest follows from it.
  std::string first = text.substr(0, text.find('\n'));
  return first.empty() ? error : Error(error.kind(), error.message() + " (" + first + ")");
}

}  // namespace

void Loaded::Close::operator()(bpf_object* object) const { bpf_object__close(object); }

int Loaded::map_fd(std::string_view symbol) const {
  return bpf_object__find_map_fd_by_name(object_.get(), std::string(symbol).c_str());
}

Result<Loaded> Load(const plan::Plan& plan, std::string_view elf) {
  Messages messages;
  TracingHandler tracing(plan);
  std::unique_ptr<char[]> log(new char[kLogSize]);  // not zeroed: pages come as they are used
  log[0] = '\0';

  LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "memtrace", .kernel_log_buf = log.get(),
              .kernel_log_size = kLogSize);
  Loaded loaded;
  loaded.object_.reset(bpf_object__open_mem(elf.data(), elf.size(), &options));
  if (loaded.object_ == nullptr) return LoadError(plan, errno, messages.text(), log.get());
  MT_RETURN_IF_ERROR(Configure(plan, loaded.object_.get()));
  int status = bpf_object__load(loaded.object_.get());
  if (status != 0) return LoadError(plan, -status, messages.text(), log.get());

  for (const plan::Program& planned : plan.programs) {
    loaded.program_fds_.push_back(bpf_program__fd(
        bpf_object__find_program_by_name(loaded.object_.get(), planned.symbol.c_str())));
  }
  return loaded;
}

}  // namespace memtrace::bpf
