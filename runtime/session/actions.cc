#include "runtime/session/actions.h"

#include <cstring>
#include <ctime>

#include <unistd.h>

#include "bpf-headers/memtrace/record.h"

namespace memtrace::session {

Actions::Actions(const plan::Plan& plan, bpf::MapStore& store, events::Resolver& resolver,
                 symbols::Symbolizer& symbolizer, output::Sink& sink, bool raw_numbers)
    : plan_(plan),
      store_(store),
      resolver_(resolver),
      symbolizer_(symbolizer),
      sink_(sink),
      raw_numbers_(raw_numbers) {}

void Actions::Handle(events::Bytes record) {
  mt_record_header header;
  MT_CHECK(record.size() >= sizeof header, "a record has a header");
  std::memcpy(&header, record.data(), sizeof header);
  MT_CHECK(header.action < plan_.actions.size(), "a record names an action of the plan");
  const plan::Action& action = plan_.actions[header.action];
  Decode(action, record);
  Run(action, action.closed_window ? bpf::Copy::kAside : bpf::Copy::kCurrent);
}

void Actions::Decode(const plan::Action& action, events::Bytes record) {
  arguments_.clear();
  for (const plan::Field& field : action.arguments) {
    arguments_.push_back(
        events::Decode(plan_, field.type, record.subspan(field.offset), resolver_));
  }
}

static std::string LocalTime(const std::string& format) {
  std::time_t now = std::time(nullptr);
  std::tm local;
  ::localtime_r(&now, &local);
  char text[256];
  return {text, std::strftime(text, sizeof text, format.c_str(), &local)};
}

static void WriteToStderr(std::string_view text) {
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

void Actions::Format(const plan::Action& action) {
  text_.clear();
  output::FormatInto(text_, action, arguments_, symbolizer_, raw_numbers_);
}

void Actions::Run(const plan::Action& action, bpf::Copy copy) {
  auto check = [this](const Result<Done>& done) {
    if (!done.ok()) Complain(done.error());
  };
  switch (action.kind) {
    case plan::ActionKind::kPrintf:
      Format(action);
      sink_.Text(text_);
      break;
    case plan::ActionKind::kErrorf:
      Format(action);
      WriteToStderr(text_);
      break;
    case plan::ActionKind::kTime:
      sink_.Text(LocalTime(action.format));
      break;
    case plan::ActionKind::kPrintMap:
      PrintMap(action.map, copy, action.top, action.div);
      break;
    case plan::ActionKind::kPrintValue:
      sink_.Print(arguments_[0]);
      break;
    case plan::ActionKind::kClear:
      return check(store_.Clear(action.map, copy));
    case plan::ActionKind::kZero:
      return check(store_.Zero(action.map, copy));
    case plan::ActionKind::kExit: {
      const auto* status =
          arguments_.empty() ? nullptr : std::get_if<events::Integer>(&arguments_[0].data);
      Exit(status != nullptr ? static_cast<int>(status->bits & 0xff) : 0);
      return;
    }
    case plan::ActionKind::kJoin: {
      text_.clear();
      for (size_t i = 0; i < arguments_.size(); ++i) {
        if (i > 0) text_ += action.format;
        if (const auto* word = std::get_if<std::string>(&arguments_[i].data)) text_ += *word;
      }
      sink_.Text(text_ + "\n");
      break;
    }
    case plan::ActionKind::kCat: {
      Result<std::string> content = ReadFile(action.format);
      if (!content.ok()) return Complain(content.error());
      sink_.Text(content.value());
      break;
    }
  }
  ++printed_;
}

void Actions::PrintMap(plan::Index index, bpf::Copy copy, int64_t top, int64_t div) {
  Result<bpf::Snapshot> snapshot = store_.Read(index, copy);
  if (!snapshot.ok()) return Complain(snapshot.error());
  if (snapshot.value().entries.empty()) return;
  sink_.Print(events::DecodeMap(plan_, plan_.maps[index], snapshot.value().entries,
                                snapshot.value().value_stride, top, div, resolver_));
}

void Actions::Complain(const Error& error) { WriteToStderr("memtrace: " + error.message() + "\n"); }

}  // namespace memtrace::session
