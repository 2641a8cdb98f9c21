#include "tests/exec/event.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "compiler/kernel/raw_args.h"
#include "compiler/kernel/registers.h"
#include "compiler/kernel/syscalls.h"
#include "compiler/probes/attach_plan.h"
#include "compiler/probes/raw_fields.h"
#include "tests/support/text_case.h"

namespace memtrace::exec {
namespace {

Error Invalid(std::string message) { return Error(ErrorKind::kInvalid, std::move(message)); }

// Takes `× N` off the end of `words`.
Result<uint32_t> TakeTimes(std::vector<std::string>& words) {
  if (words.size() < 2 || words[words.size() - 2] != "×") return 1u;
  uint64_t times = 0;
  if (!ParseNumber(words.back(), times)) return Invalid("not a number: " + words.back());
  words.resize(words.size() - 2);
  return static_cast<uint32_t>(times);
}

Result<EventLine> ParseEvent(const std::string& text) {
  EventLine event;
  std::vector<std::string> words = test::SplitWords(text);
  if (words.empty()) return Invalid("an empty line");
  if (words[0] == "drain" && words.size() == 2) {
    event.kind = EventLine::Kind::kDrain;
    event.drain = words[1] == "on";
    return event;
  }
  if (words[0] == "during") {
    event.kind = EventLine::Kind::kDuring;
    auto colon = std::find_if(words.begin(), words.end(),
                              [](const std::string& word) { return word.ends_with(':'); });
    if (colon == words.end()) return Invalid("during HELPER: PROBE");
    std::vector<std::string> head(words.begin() + 1, colon + 1);
    head.back().pop_back();
    words.erase(words.begin(), colon + 1);
    MT_ASSIGN_OR_RETURN(event.times, TakeTimes(head));
    if (head.size() != 1 || words.empty()) return Invalid("during HELPER: PROBE");
    event.helper = head[0];
  } else {
    if (words[0] == "world") event.kind = EventLine::Kind::kWorld;
    MT_ASSIGN_OR_RETURN(event.times, TakeTimes(words));
  }
  event.probe = words[0];
  words.erase(words.begin());
  MT_ASSIGN_OR_RETURN(event.assignments, ParseAssignments(words));
  return event;
}

Result<std::string> ParseContent(std::vector<std::string> words, kernel::Kernel& kernel) {
  std::string kind = words.empty() ? "" : words[0];
  if (kind == "string") {
    MT_ASSIGN_OR_RETURN(uint32_t times, TakeTimes(words));
    std::string bytes;
    for (uint32_t i = 0; words.size() > 1 && i < times; ++i) bytes += words[1];
    return bytes + '\0';
  }
  if (kind == "struct" && words.size() > 1) {
    std::string name = words[1];
    words.erase(words.begin(), words.begin() + 2);
    MT_ASSIGN_OR_RETURN(std::vector<Assignment> assignments, ParseAssignments(words));
    return MakeStruct(kernel, name, assignments);
  }
  static constexpr std::pair<std::string_view, size_t> kSizes[] = {
      {"u8", 1}, {"u16", 2}, {"u32", 4}, {"u64", 8}};
  for (auto [name, size] : kSizes) {
    if (name != kind) continue;
    std::string bytes;
    for (size_t i = 1; i < words.size(); ++i) {
      uint64_t number = 0;
      if (!ParseNumber(words[i], number)) return Invalid("not a number: " + words[i]);
      bytes.append(reinterpret_cast<const char*>(&number), size);
    }
    return bytes;
  }
  return Invalid("no content is called \"" + kind + "\"");
}

template <typename Visit>
Result<Done> ForEachLine(std::string_view body, Visit visit) {
  for (int line = 1; !body.empty(); ++line) {
    std::string text(body.substr(0, body.find('\n')));
    body.remove_prefix(std::min(body.size(), text.size() + 1));
    MT_RETURN_IF_ERROR(visit(line, text).WithContext("line " + std::to_string(line)));
  }
  return Done{};
}

// ---- Raw contexts -------------------------------------------------------------------------------

// A tracepoint has at most 12 arguments (MAX_BPF_FUNC_ARGS); regions for what they point to lie far
// from what cases use.
constexpr size_t kMaxArguments = 12;
constexpr uint64_t kPointees = 0xffff'fa00'0000'0000;
constexpr size_t kPointeeSize = 4096;

class RawContext {
 public:
  explicit RawContext(Memory& memory) : memory_(memory) {}

  // Argument `index` points to memory; these are its bytes.
  std::string& Pointee(uint32_t index) {
    uint64_t address = kPointees + index * kPointeeSize;
    if (arguments_[index] != address) {
      arguments_[index] = address;
      memory_.Add(address, types::Space::kKernel, std::string(kPointeeSize, '\0'));
    }
    return *memory_.Region(address);
  }
  void Set(uint32_t index, uint64_t value) { arguments_[index] = value; }
  std::string bytes() const {
    return {reinterpret_cast<const char*>(arguments_), sizeof(arguments_)};
  }

 private:
  Memory& memory_;
  uint64_t arguments_[kMaxArguments] = {};
};

Result<Done> WriteSyscallField(RawContext& context, const probes::Field& field,
                               std::string_view value) {
  uint64_t number = 0;
  if (!ParseNumber(value, number)) return Invalid("not a number: " + std::string(value));
  if (field.from == probes::From::kArgument) {
    context.Set(field.index, number);
    return Done{};
  }
  // A program that passes an int leaves the upper half of the register zero.
  types::Member member{.name = field.name, .type = field.type, .offset = field.offset};
  return Write(context.Pointee(0), member, value);
}

Result<std::string> MakeSyscallContext(kernel::Kernel& kernel, const kernel::TracepointName& name,
                                       const EventLine& event, Memory& memory) {
  bool is_enter = name.event.starts_with("sys_enter_");
  std::string_view call = std::string_view(name.event).substr(is_enter ? 10 : 9);
  std::optional<uint32_t> number = kernel::SyscallNumber(call);
  if (!number) return Invalid("no number is known of the system call " + std::string(call));
  MT_ASSIGN_OR_RETURN(const kernel::TracepointFormat* format, kernel.Format(name));
  std::vector<probes::Field> fields;
  for (const types::Member& member : format->members) {
    fields.push_back({.name = member.name, .type = member.type, .offset = member.offset});
  }
  if (!probes::SyscallFields(is_enter, kernel.architecture(), fields)) {
    return Invalid("the registers of system calls are not known");
  }
  RawContext context(memory);
  context.Pointee(0);
  if (is_enter) context.Set(1, *number);
  for (probes::Field& field : fields) {
    // Registers are 8 bytes wide, and the one with the number is always set.
    if (field.name == "__syscall_nr") {
      MT_RETURN_IF_ERROR(WriteSyscallField(context, field, std::to_string(*number)));
    }
    for (const Assignment& assignment : event.assignments) {
      if (assignment.field != field.name) continue;
      MT_RETURN_IF_ERROR(WriteSyscallField(context, field, assignment.value));
    }
  }
  return context.bytes();
}

// Writes a field of the record where the row says that the raw tracepoint has it.
Result<Done> WriteRow(RawContext& context, const kernel::ResolvedRawField& field,
                      std::string_view value) {
  uint64_t number = 0;
  switch (field.source) {
    case kernel::RawSource::kArgument:
      if (!ParseNumber(value, number)) return Invalid("not a number: " + std::string(value));
      context.Set(field.argument, number);
      return Done{};
    case kernel::RawSource::kMember:
      return Write(context.Pointee(field.argument), field.member, value);
    case kernel::RawSource::kConstant:
      return Done{};
  }
  return Done{};
}

Result<std::string> MakeRawContext(kernel::Kernel& kernel, const kernel::TracepointName& name,
                                   const EventLine& event, Memory& memory) {
  RawContext context(memory);
  kernel::ResolvedRawRow row;
  if (const kernel::RawRow* known = kernel::FindRawRow(name)) {
    MT_ASSIGN_OR_RETURN(kernel::Btf * btf, kernel.LoadBtf());
    MT_ASSIGN_OR_RETURN(row, kernel::ResolveRawRow(*known, *btf));
  }
  for (const Assignment& assignment : event.assignments) {
    uint64_t index = 0, number = 0;
    if (assignment.field.starts_with("arg") && ParseNumber(assignment.field.substr(3), index) &&
        index < kMaxArguments) {
      if (!ParseNumber(assignment.value, number)) return Invalid(assignment.value);
      context.Set(static_cast<uint32_t>(index), number);
      continue;
    }
    // A field that the row has not: a program that is served raw cannot use it.
    if (const kernel::ResolvedRawField* field = row.Find(assignment.field)) {
      MT_RETURN_IF_ERROR(WriteRow(context, *field, assignment.value));
    }
  }
  return context.bytes();
}

// Registers of a function's entry or return: arg0=… of those that arguments are passed in, sp=…,
// retval=….
Result<std::string> MakeRegisters(const std::vector<Assignment>& assignments) {
  std::string registers(1024, '\0');
  for (const Assignment& assignment : assignments) {
    uint64_t index = 0, number = 0;
    uint32_t offset = 0;
    const std::string& field = assignment.field;
    if (field == "sp") {
      offset = kernel::kStackPointer;
    } else if (field == "retval") {
      offset = kernel::kResultRegister;
    } else if (field.starts_with("arg") && ParseNumber(field.substr(3), index) &&
               index < kernel::kArgumentRegisterCount) {
      offset = kernel::kArgumentRegisters[index];
    } else {
      return Invalid("no such register: " + field);
    }
    if (!ParseNumber(assignment.value, number)) return Invalid(assignment.value);
    std::memcpy(&registers[offset], &number, sizeof number);
  }
  return registers;
}

}  // namespace

Result<std::vector<EventLine>> ParseEvents(std::string_view body) {
  std::vector<EventLine> events;
  MT_RETURN_IF_ERROR(ForEachLine(body, [&](int line, const std::string& text) -> Result<Done> {
    MT_ASSIGN_OR_RETURN(EventLine event, ParseEvent(text));
    event.line = line;
    events.push_back(std::move(event));
    return Done{};
  }));
  return events;
}

Result<Done> ParseMemory(std::string_view body, kernel::Kernel& kernel, Memory& memory) {
  return ForEachLine(body, [&](int, const std::string& text) -> Result<Done> {
    std::vector<std::string> words = test::SplitWords(text);
    uint64_t address = 0;
    if (words.size() < 3 || !ParseNumber(words[0], address))
      return Invalid("ADDRESS SPACE CONTENT");
    if (words[1] != "kernel" && words[1] != "user")
      return Invalid("kernel or user, not " + words[1]);
    types::Space space = words[1] == "user" ? types::Space::kUser : types::Space::kKernel;
    words.erase(words.begin(), words.begin() + 2);
    MT_ASSIGN_OR_RETURN(std::string bytes, ParseContent(std::move(words), kernel));
    memory.Add(address, space, std::move(bytes));
    return Done{};
  });
}

bool Serves(const plan::Probe& probe, std::string_view name) {
  return probe.name == name ||
         std::find(probe.covers.begin(), probe.covers.end(), name) != probe.covers.end();
}

Result<std::string> MakeContext(kernel::Kernel& kernel, const plan::Probe& probe,
                                const EventLine& event, Memory& memory) {
  kernel::TracepointName name;
  if (event.probe.starts_with("tracepoint:")) {
    size_t begin = event.probe.find(':') + 1, colon = event.probe.find(':', begin);
    if (colon == std::string::npos) return Invalid("tracepoint:CATEGORY:EVENT");
    name = {.category = event.probe.substr(begin, colon - begin),
            .event = event.probe.substr(colon + 1)};
  }
  // A function's arguments are all 0.
  if (probe.kind == plan::AttachKind::kTracing && name.category.empty()) {
    return std::string(1024, '\0');
  }
  switch (probe.kind) {
    case plan::AttachKind::kTracepoint:
      return MakeTracepointRecord(kernel, name, event.assignments);
    case plan::AttachKind::kRawTracepoint:
    case plan::AttachKind::kTracing:
      if (name.category == "syscalls") return MakeSyscallContext(kernel, name, event, memory);
      return MakeRawContext(kernel, name, event, memory);
    case plan::AttachKind::kBegin:
    case plan::AttachKind::kEnd:
    case plan::AttachKind::kInterval:
    case plan::AttachKind::kIterator:
    case plan::AttachKind::kSignal:
    case plan::AttachKind::kSoftware:
    case plan::AttachKind::kProfile:
    case plan::AttachKind::kHardware:
    case plan::AttachKind::kWatchpoint:
      return std::string(1024, '\0');
    case plan::AttachKind::kKprobe:
    case plan::AttachKind::kKretprobe:
    case plan::AttachKind::kKprobeMulti:
    case plan::AttachKind::kKretprobeMulti:
    case plan::AttachKind::kUprobe:
    case plan::AttachKind::kUretprobe:
    case plan::AttachKind::kUprobeMulti:
    case plan::AttachKind::kUretprobeMulti:
      return MakeRegisters(event.assignments);
  }
  return Invalid("no context is known");
}

}  // namespace memtrace::exec
