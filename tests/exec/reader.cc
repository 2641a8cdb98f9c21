#include "tests/exec/reader.h"

#include <algorithm>
#include <cstring>
#include <ctime>

#include <sys/mman.h>
#include <unistd.h>

#include "bpf-headers/memtrace/record.h"
#include "compiler/base/check.h"
#include "runtime/events/bytes.h"
#include "runtime/session/losses.h"

namespace memtrace::exec {
namespace {

// Before each value in mt_state lies a u64 that says whether it was ever written.
constexpr uint32_t kPresenceSize = 8;

bool IsState(const plan::Map& map) {
  return map.storage == plan::Storage::kState || map.storage == plan::Storage::kStatePerCpu;
}

}  // namespace

Reader::Reader(const plan::Plan& plan, Machine& machine, const Options& options)
    : plan_(plan),
      machine_(machine),
      output_(memfd_create("output", MFD_CLOEXEC)),
      raw_numbers_(options.raw_numbers) {
  MT_CHECK(output_.valid(), "there is memory for the output");
  sink_ = output::NewTextSink({.fd = output_.get(), .raw_numbers = raw_numbers_}, symbolizer_);
}

void Reader::Drain(std::span<const plan::Index> aside) {
  std::string record;
  bool was_over = exit_status_.has_value();  // then only end has something to say, and all of it
  while ((was_over || !exit_status_) && machine_.ring().Take(record)) {
    mt_record_header header;
    MT_CHECK(record.size() >= sizeof(header), "a record begins with its header");
    memcpy(&header, record.data(), sizeof(header));
    MT_CHECK(header.action < plan_.actions.size(), "a record names an action of the plan");
    const plan::Action& action = plan_.actions[header.action];
    MT_CHECK(header.size == action.record_size && record.size() >= header.size,
             "a record is as long as the plan says");
    bool is_aside = std::find(aside.begin(), aside.end(), action.map) != aside.end();
    switch (action.kind) {
      case plan::ActionKind::kPrintMap:
        PrintMap(action.map, is_aside, action.top, action.div);
        break;
      case plan::ActionKind::kClear:
        Erase(action.map, is_aside, /*keep_keys=*/false);
        break;
      case plan::ActionKind::kZero:
        Erase(action.map, is_aside, /*keep_keys=*/true);
        break;
      default:
        Act(action, events::AsBytes(record));
    }
  }
}

void Reader::Skip() {
  std::string record;
  while (machine_.ring().Take(record)) {
  }
}

void Reader::Act(const plan::Action& action, events::Bytes record) {
  std::vector<events::Value> arguments;
  for (const plan::Field& field : action.arguments) {
    arguments.push_back(
        events::Decode(plan_, field.type, events::From(record, field.offset), *this));
  }
  switch (action.kind) {
    case plan::ActionKind::kPrintf:
    case plan::ActionKind::kErrorf: {
      std::string text;
      output::FormatInto(text, action, arguments, symbolizer_, raw_numbers_);
      if (action.kind == plan::ActionKind::kPrintf) {
        sink_->Text(text);
      } else {
        errors_ += text;
      }
      break;
    }
    case plan::ActionKind::kTime: {
      char text[256];
      time_t now = static_cast<time_t>(machine_.world().time / 1'000'000'000);
      tm utc;
      size_t size = strftime(text, sizeof(text), action.format.c_str(), gmtime_r(&now, &utc));
      sink_->Text({text, size});
      break;
    }
    case plan::ActionKind::kPrintValue:
      sink_->Print(arguments[0]);
      break;
    case plan::ActionKind::kExit:
      exit_status_ = static_cast<int>(std::get<events::Integer>(arguments[0].data).bits & 0xff);
      break;
    case plan::ActionKind::kJoin:
    case plan::ActionKind::kCat:
    case plan::ActionKind::kPrintMap:
    case plan::ActionKind::kClear:
    case plan::ActionKind::kZero:
      MT_UNREACHABLE("an action that the exec lane does not know");
  }
}

// ---- Maps ---------------------------------------------------------------------------------------

uint32_t Reader::CopyOf(const plan::Map& map, bool aside) const {
  return map.is_swapped ? machine_.Window(map) ^ (aside ? 1 : 0) : 0;
}

std::vector<events::RawEntry> Reader::Entries(const plan::Map& map, uint32_t copy,
                                              uint32_t& stride) {
  std::vector<events::RawEntry> entries;
  if (!IsState(map)) {
    FakeMap& fake = *machine_.map(map.symbols[copy]);
    stride = fake.value_stride();
    for (auto& [key, value] : fake.Entries()) entries.push_back({.key = key, .value = value});
    return entries;
  }
  stride = kPresenceSize + (map.value_size + 7) / 8 * 8;
  uint32_t slots = map.storage == plan::Storage::kState ? 1 : plan_.cpu_slots;
  bool present = false;
  std::string value;
  for (uint32_t slot = 0; slot < slots; ++slot) {
    uint32_t at = map.offset + copy * map.copy_size + slot * map.slot_size;
    present |= machine_.StateWord(at) != 0;
    value.append(reinterpret_cast<const char*>(machine_.state().data()) + at, stride);
  }
  if (present) entries.push_back({.key = "", .value = std::move(value)});
  return entries;
}

void Reader::PrintMap(plan::Index index, bool aside, int64_t top, int64_t div) {
  const plan::Map& map = plan_.maps[index];
  uint32_t stride = 0;
  std::vector<events::RawEntry> entries = Entries(map, CopyOf(map, aside), stride);
  sink_->Print(events::DecodeMap(plan_, map, entries, stride, top, div, *this));
}

void Reader::Erase(plan::Index index, bool aside, bool keep_keys) {
  const plan::Map& map = plan_.maps[index];
  uint32_t copy = CopyOf(map, aside);
  if (!IsState(map)) {
    FakeMap& fake = *machine_.map(map.symbols[copy]);
    if (!keep_keys) return fake.Clear();
    fake.Zero();
    if (!map.is_swapped) return;
    // The keys stay, also in the next window.
    std::string zero(map.value_size, '\0');
    for (const auto& [key, value] : fake.Entries()) {
      machine_.map(map.symbols[copy ^ 1])->Update(key.data(), zero.data(), /*flags=*/1, 0);
    }
    return;
  }
  uint32_t slots = map.storage == plan::Storage::kState ? 1 : plan_.cpu_slots;
  for (uint32_t slot = 0; slot < slots; ++slot) {
    std::byte* at =
        machine_.state().data() + map.offset + copy * map.copy_size + slot * map.slot_size;
    if (!keep_keys) memset(at, 0, kPresenceSize);
    memset(at + kPresenceSize, 0, map.value_size);
  }
}

void Reader::Swap(std::span<const plan::Index> maps) {
  std::vector<uint32_t> windows;
  for (plan::Index index : maps) {
    uint32_t offset = plan_.maps[index].window_offset;
    if (offset == plan::kNoIndex) offset = plan_.window_offset;
    if (std::find(windows.begin(), windows.end(), offset) == windows.end()) {
      windows.push_back(offset);
      machine_.FlipWindow(offset);
    }
  }
}

std::vector<uint64_t> Reader::StackFrames(uint64_t hash) {
  const void* found = machine_.map(plan::kStackMap)->Lookup(&hash, 0);
  if (found == nullptr) return {};
  const auto* entry = static_cast<const mt_stack_entry*>(found);
  return {entry->frames, entry->frames + entry->count};
}

void Reader::PrintMapsAtExit() {
  if (!plan_.config.print_maps_on_exit) return;
  for (size_t i = 0; i < plan_.maps.size(); ++i) {
    if (plan_.maps[i].printed_at_exit) {
      PrintMap(static_cast<plan::Index>(i), /*aside=*/false, 0, 0);
    }
  }
}

std::string Reader::Losses() const {
  std::vector<uint64_t> counts;
  for (size_t i = 0; i < plan_.loss_sites.size(); ++i) {
    counts.push_back(machine_.StateWord(plan_.losses_offset + static_cast<uint32_t>(i * 8)));
  }
  std::vector<session::Loss> losses = session::GroupLosses(plan_, counts, {});
  return losses.empty() ? "" : session::LossLine(losses) + "\n";
}

std::string Reader::Output() {
  sink_->Flush();
  std::string text(static_cast<size_t>(lseek(output_.get(), 0, SEEK_END)), '\0');
  ssize_t size = pread(output_.get(), text.data(), text.size(), 0);
  text.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
  return text;
}

}  // namespace memtrace::exec
