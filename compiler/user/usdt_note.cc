#include "compiler/user/usdt_note.h"

#include <cstring>

namespace memtrace::user {
namespace {

constexpr std::string_view kOwner("stapsdt\0", 8);
constexpr uint32_t kProbeType = 3;
// An ELF note: three u32 (sizes of owner and content, type), owner and content padded to 4 bytes.
constexpr size_t kNoteHeader = 12;
constexpr size_t kAddresses = 3 * sizeof(uint64_t);  // location, base, semaphore

uint32_t Word(std::string_view bytes, size_t offset) {
  uint32_t value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

uint64_t Address(std::string_view bytes, size_t index) {
  uint64_t value;
  std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
  return value;
}

size_t Padded(size_t size) { return (size + 3) / 4 * 4; }

// Takes the text up to the next NUL off `bytes`; false when there is none.
bool TakeText(std::string_view& bytes, std::string& text) {
  size_t end = bytes.find('\0');
  if (end == std::string_view::npos) return false;
  text = bytes.substr(0, end);
  bytes.remove_prefix(end + 1);
  return true;
}

bool ParseContent(std::string_view content, uint64_t base, UsdtNote& note) {
  if (content.size() < kAddresses) return false;
  note.address = Address(content, 0);
  uint64_t linked_base = Address(content, 1);
  note.semaphore = Address(content, 2);
  if (base != 0 && linked_base != 0) {
    note.address += base - linked_base;
    if (note.semaphore != 0) note.semaphore += base - linked_base;
  }
  content.remove_prefix(kAddresses);
  return TakeText(content, note.provider) && TakeText(content, note.name) &&
         TakeText(content, note.arguments);
}

}  // namespace

Result<std::vector<UsdtNote>> ParseUsdtNotes(std::string_view bytes, uint64_t base) {
  std::vector<UsdtNote> notes;
  while (bytes.size() >= kNoteHeader) {
    size_t owner = Word(bytes, 0), content = Word(bytes, 4);
    uint32_t type = Word(bytes, 8);
    bytes.remove_prefix(kNoteHeader);
    size_t owner_end = Padded(owner);
    if (owner_end > bytes.size() || content > bytes.size() - owner_end) {
      return Error(ErrorKind::kInvalid, "the notes of static probes are cut off");
    }
    UsdtNote note;
    if (type == kProbeType && bytes.substr(0, owner) == kOwner) {
      if (!ParseContent(bytes.substr(owner_end, content), base, note)) {
        return Error(ErrorKind::kInvalid, "a note of a static probe is cut off");
      }
      notes.push_back(std::move(note));
    }
    bytes.remove_prefix(std::min(bytes.size(), owner_end + Padded(content)));
  }
  return notes;
}

}  // namespace memtrace::user
