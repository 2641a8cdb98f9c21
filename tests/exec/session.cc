#include "tests/exec/session.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include "compiler/codegen/lower.h"
#include "compiler/diag/diagnostics.h"
#include "compiler/syntax/parser.h"
#include "compiler/syntax/token.h"
#include "tests/exec/event.h"
#include "tests/exec/reader.h"
#include "tests/support/exec_case.h"

namespace memtrace::exec {
namespace {

Error Invalid(std::string message) { return Error(ErrorKind::kInvalid, std::move(message)); }

// Events of one case in progress.
class Session {
 public:
  Session(Prepared& prepared, Reader& reader) : prepared_(prepared), reader_(reader) {
    prepared_.machine->on_helper = [this](std::string_view helper) { OnHelper(helper); };
  }

  Result<Done> Run(const std::vector<EventLine>& lines) {
    prepared_.machine->SetStateWord(prepared_.plan.start_time_offset, prepared_.world->time);
    MT_RETURN_IF_ERROR(RunAll(plan::AttachKind::kBegin));
    for (const EventLine& line : lines) {
      if (reader_.exit_status()) break;
      MT_RETURN_IF_ERROR(Take(line).WithContext("events, line " + std::to_string(line.line)));
    }
    // Nothing after an exit() is shown but what end says.
    if (reader_.exit_status()) {
      reader_.Skip();
    } else {
      reader_.Drain();
    }
    return RunAll(plan::AttachKind::kEnd);
  }

 private:
  Result<Done> Take(const EventLine& line) {
    switch (line.kind) {
      case EventLine::Kind::kEvent:
        for (uint32_t i = 0; i < line.times && !reader_.exit_status(); ++i) {
          MT_RETURN_IF_ERROR(Happen(line));
        }
        armed_.reset();
        return Done{};
      case EventLine::Kind::kDuring:
        armed_ = line;
        return Done{};
      case EventLine::Kind::kWorld:
        for (const Assignment& assignment : line.assignments) {
          if (!prepared_.world->Set(assignment.field, assignment.value)) {
            return Invalid("no such thing in the world: " + assignment.field);
          }
        }
        return Done{};
      case EventLine::Kind::kDrain:
        drain_ = line.drain;
        if (drain_) reader_.Drain();
        return Done{};
    }
    return Done{};
  }

  // Runs every program that the event is for, in the order of attaching.
  Result<Done> Happen(const EventLine& event) {
    bool is_known = false;
    for (const plan::Probe& probe : prepared_.plan.probes) {
      if (!Serves(probe, event.probe)) continue;
      is_known = true;
      MT_ASSIGN_OR_RETURN(std::string context,
                          MakeContext(*prepared_.kernel, probe, event, prepared_.world->memory));
      const std::vector<plan::Index>& swaps = prepared_.plan.programs[probe.program].swaps;
      if (depth_ == 0 && drain_) reader_.Drain();
      reader_.Swap(swaps);
      uint64_t interrupted = std::exchange(prepared_.world->cookie, CookieOf(probe, event.probe));
      RunProgram(probe.program, context);
      prepared_.world->cookie = interrupted;
      if (depth_ == 0 && drain_) reader_.Drain(swaps);
      if (reader_.exit_status()) break;
    }
    if (!is_known) return Invalid("nothing is attached to " + event.probe);
    return Done{};
  }

  // What the attachment gives a program to know the event by (plan::Function).
  uint64_t CookieOf(const plan::Probe& probe, std::string_view event) const {
    for (const plan::Function& function : probe.functions) {
      if (prepared_.plan.probe_names[function.cookie & UINT32_MAX] == event) return function.cookie;
    }
    return 0;
  }

  Result<Done> RunAll(plan::AttachKind kind) {
    for (const plan::Probe& probe : prepared_.plan.probes) {
      if (probe.kind != kind) continue;
      RunProgram(probe.program, std::string(1024, '\0'));
      reader_.Drain();
    }
    return Done{};
  }

  void RunProgram(plan::Index program, std::string context) {
    std::vector<uint64_t> aligned((context.size() + 7) / 8);
    memcpy(aligned.data(), context.data(), context.size());
    prepared_.world->memory.AddHost(aligned.data(), context.size());
    prepared_.machine->Run(program, aligned.data());
    prepared_.world->memory.RemoveHost(aligned.data());
  }

  void OnHelper(std::string_view helper) {
    if (!armed_ || armed_->helper != helper || depth_ >= armed_->times) return;
    EventLine event = *armed_;
    if (depth_ + 1 == armed_->times) armed_.reset();
    ++depth_;
    auto done = Happen(event);
    MT_CHECK(done.ok(),
             "an event that arrives during another is one that programs are attached to");
    --depth_;
  }

  Prepared& prepared_;
  Reader& reader_;
  std::optional<EventLine> armed_;
  uint32_t depth_ = 0;  // of events inside of events
  bool drain_ = true;
};

Result<test::Observed> Observe(const test::TextCase& text_case) {
  MT_ASSIGN_OR_RETURN(CaseProgram program, ProgramOf(text_case));
  MT_ASSIGN_OR_RETURN(std::unique_ptr<Prepared> prepared, Prepare(program.script, program.options));
  test::Observed observed;
  observed.err = prepared->diagnostics;
  if (prepared->machine == nullptr) {
    observed.exit_status = 1;
    return observed;
  }

  MT_ASSIGN_OR_RETURN(std::vector<Assignment> world, ParseAssignments(text_case.Words("world")));
  for (const Assignment& assignment : world) {
    if (!prepared->world->Set(assignment.field, assignment.value)) {
      return Invalid("no such thing in the world: " + assignment.field);
    }
  }
  if (const test::Section* memory = text_case.Find("memory")) {
    MT_RETURN_IF_ERROR(ParseMemory(memory->body, *prepared->kernel, prepared->world->memory)
                           .WithContext("memory"));
  }
  std::vector<EventLine> events;
  if (const test::Section* section = text_case.Find("events")) {
    MT_ASSIGN_OR_RETURN(events, ParseEvents(section->body).WithContext("events"));
  }

  Reader reader(prepared->plan, *prepared->machine, {.raw_numbers = program.raw_numbers});
  MT_RETURN_IF_ERROR(Session(*prepared, reader).Run(events));
  prepared->machine->on_helper = nullptr;
  reader.PrintMapsAtExit();
  observed.out = reader.Output();
  observed.err += reader.ErrorOutput() + reader.Losses();
  observed.exit_status = reader.exit_status().value_or(0);
  return observed;
}

}  // namespace

Result<CaseProgram> ProgramOf(const test::TextCase& text_case) {
  CaseProgram program;
  const test::Section* script = text_case.Find("program");
  if (script == nullptr) return Invalid("the case has no program");
  program.script = script->body;
  if (!program.script.empty()) program.script.pop_back();

  test::ExecArguments arguments = test::ExecArgumentsOf(text_case);
  program.options.positional = std::move(arguments.positional);
  const std::vector<std::string>& options = arguments.options;
  for (size_t i = 0; i < options.size(); ++i) {
    if (options[i] == "--raw") {
      program.raw_numbers = true;
    } else if (options[i] == "--unsafe") {
      program.options.allow_unsafe = true;
    } else if (options[i] == "--config" && i + 1 < options.size()) {
      const std::string& setting = options[++i];
      size_t equals = setting.find('=');
      if (equals == setting.npos) return Invalid("--config NAME=VALUE");
      program.options.config.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
    } else {
      return Invalid("not an option of this lane: " + options[i]);
    }
  }
  return program;
}

Result<std::unique_ptr<Prepared>> Prepare(const std::string& script,
                                          const sema::CheckOptions& options) {
  auto prepared = std::make_unique<Prepared>();
  prepared->kernel = std::make_unique<kernel::Kernel>(
      kernel::Roots::Fixture(MT_SOURCE_DIR "/tests/fixture"), prepared->types);
  prepared->world = std::make_unique<World>();

  diag::SourceMap sources;
  diag::Diagnostics diagnostics;
  diag::Span text = sources.Add("-e", script);
  syntax::TokenBuffer tokens = syntax::Lex(sources, text, diagnostics);
  syntax::Ast ast = syntax::Parse(sources, tokens, diagnostics);
  sema::TypedProgram program = sema::Check(ast, sources, *prepared->kernel, options, diagnostics);
  prepared->diagnostics = diag::Render(diagnostics, sources, /*color=*/false);
  if (diagnostics.has_errors()) return prepared;

  prepared->plan = sema::BuildPlan(program, sources);
  auto context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> module = codegen::Lower(program, prepared->plan, sources, *context);
  codegen::Optimise(*module);
  MT_ASSIGN_OR_RETURN(prepared->machine, Machine::Create(std::move(context), std::move(module),
                                                         prepared->plan, *prepared->world));
  return prepared;
}

test::RunResult RunCase(const test::TextCase& text_case) {
  test::RunResult result;
  Result<test::Observed> observed = Observe(text_case);
  if (observed.ok()) {
    result.observed = std::move(observed).value();
  } else {
    result.failure = observed.error().message();
  }
  return result;
}

}  // namespace memtrace::exec
