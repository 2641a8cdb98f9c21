// The container: header, index of types, names. What the types mean is in btf_types.cc.
#include "compiler/kernel/btf.h"

#include <algorithm>
#include <cstring>

#include <sys/mman.h>
#include <sys/stat.h>

#include "compiler/base/file.h"

namespace memtrace::kernel {
namespace {

constexpr uint16_t kMagic = 0xeb9f;
constexpr size_t kHeaderSize = 24;
constexpr size_t kTypeSize = 12;

Error Malformed(std::string_view what) {
  return Error(ErrorKind::kInvalid, "BTF: " + std::string(what));
}

// Bytes that follow the first 12 of a type, or -1 for a kind that is not known: without its size
// the next type cannot be found.
int64_t RestSize(BtfKind kind, uint32_t length) {
  switch (kind) {
    case BtfKind::kPtr:
    case BtfKind::kFwd:
    case BtfKind::kTypedef:
    case BtfKind::kVolatile:
    case BtfKind::kConst:
    case BtfKind::kRestrict:
    case BtfKind::kFunc:
    case BtfKind::kFloat:
    case BtfKind::kTypeTag:
      return 0;
    case BtfKind::kInt:
    case BtfKind::kVar:
    case BtfKind::kDeclTag:
      return 4;
    case BtfKind::kArray:
      return 12;
    case BtfKind::kEnum:
    case BtfKind::kFuncProto:
      return 8 * int64_t{length};
    case BtfKind::kStruct:
    case BtfKind::kUnion:
    case BtfKind::kDatasec:
    case BtfKind::kEnum64:
      return 12 * int64_t{length};
    case BtfKind::kUnknown:
      break;
  }
  return -1;
}

}  // namespace

void Unmap::operator()(const char* address) const { ::munmap(const_cast<char*>(address), size); }

Result<Btf> Btf::Parse(std::string data, types::TypeTable& types, Btf* base) {
  if (data.size() < kHeaderSize) return Malformed("shorter than its header");
  Btf btf;
  btf.types_ = &types;
  btf.base_ = base;
  btf.storage_ = std::move(data);
  btf.data_ = btf.storage_;
  return Index(std::move(btf));
}

Result<Btf> Btf::Open(const std::filesystem::path& path, types::TypeTable& types, Btf* base) {
  MT_ASSIGN_OR_RETURN(UniqueFd fd, OpenForRead(path));
  struct stat status{};
  if (::fstat(fd.get(), &status) == 0 && status.st_size >= static_cast<off_t>(kHeaderSize)) {
    size_t size = status.st_size;
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd.get(), 0);
    if (address != MAP_FAILED) {
      Btf btf;
      btf.types_ = &types;
      btf.base_ = base;
      btf.mapping_ = {static_cast<const char*>(address), Unmap{size}};
      btf.data_ = std::string_view(static_cast<const char*>(address), size);
      return Index(std::move(btf)).WithContext(path.string());
    }
  }
  MT_ASSIGN_OR_RETURN(std::string data, ReadFile(path));
  return Parse(std::move(data), types, base).WithContext(path.string());
}

// Checks the header and notes where each type begins.
Result<Btf> Btf::Index(Btf btf) {
  uint16_t magic;
  std::memcpy(&magic, btf.data_.data(), sizeof magic);
  if (magic != kMagic) return Malformed("wrong magic number");
  if (btf.data_[2] != 1) return Malformed("unknown version");
  uint64_t header_size = btf.Word(4);
  uint64_t types_begin = header_size + btf.Word(8);
  uint64_t types_end = types_begin + btf.Word(12);
  uint64_t strings_begin = header_size + btf.Word(16);
  uint64_t strings_end = strings_begin + btf.Word(20);
  if (header_size < kHeaderSize) return Malformed("header too short");
  if (types_end > btf.data_.size() || strings_end > btf.data_.size() || types_end > UINT32_MAX) {
    return Malformed("a section reaches beyond the end");
  }
  if (strings_end > strings_begin && btf.data_[strings_end - 1] != '\0') {
    return Malformed("the last string has no end");
  }
  btf.strings_begin_ = strings_begin;
  btf.strings_size_ = strings_end - strings_begin;
  if (btf.base_ != nullptr) {
    btf.first_id_ = btf.base_->type_count();
    btf.first_string_ = btf.base_->first_string_ + btf.base_->strings_size_;
  }
  // The kernel's own average is 28 bytes a type.
  btf.positions_.reserve((types_end - types_begin) / 24);
  for (uint64_t at = types_begin; at < types_end;) {
    if (types_end - at < kTypeSize) return Malformed("the last type is cut off");
    RawType raw = btf.RawAt(at);
    int64_t rest = RestSize(raw.kind, raw.length);
    if (rest < 0) {
      return Malformed("unknown kind " + std::to_string(static_cast<int>(raw.kind)) + " of type " +
                       std::to_string(btf.type_count()));
    }
    if (types_end - at < kTypeSize + rest) return Malformed("the last type is cut off");
    btf.positions_.push_back(at);
    at += kTypeSize + rest;
  }
  return btf;
}

uint32_t Btf::Word(size_t offset) const {
  uint32_t word;
  std::memcpy(&word, data_.data() + offset, sizeof word);
  return word;
}

std::string_view Btf::Text(uint32_t offset) const {
  if (offset < first_string_) return base_->Text(offset);
  offset -= first_string_;
  if (offset >= strings_size_) return {};
  // The section ends with a NUL (checked when it was opened).
  return data_.data() + strings_begin_ + offset;
}

Btf::RawType Btf::RawAt(size_t offset) const {
  uint32_t info = Word(offset + 4);
  return {.name = Word(offset),
          .kind = static_cast<BtfKind>((info >> 24) & 0x1f),
          .kind_flag = (info >> 31) != 0,
          .length = info & 0xffff,
          .size_or_type = Word(offset + 8),
          .rest = offset + kTypeSize};
}

// `id` must be this object's own or unknown (then the kind is kUnknown).
Btf::RawType Btf::Raw(uint32_t id) const {
  if (id < first_id_ || id >= type_count()) return {};
  return RawAt(positions_[id - first_id_]);
}

uint32_t Btf::type_count() const { return first_id_ + static_cast<uint32_t>(positions_.size()); }

// Calls `visit(id, name_offset)` for this object's types of `kind` until it returns false.
template <typename Visit>
void Btf::ForEach(BtfKind kind, Visit visit) const {
  for (size_t i = 0; i < positions_.size(); ++i) {
    if (((Word(positions_[i] + 4) >> 24) & 0x1f) != static_cast<uint32_t>(kind)) continue;
    if (!visit(first_id_ + static_cast<uint32_t>(i), Word(positions_[i]))) return;
  }
}

uint32_t Btf::FindId(std::string_view name, BtfKind kind) const {
  if (name.empty()) return 0;
  std::string key(1, static_cast<char>(kind));
  key += name;
  if (auto found = found_ids_.find(key); found != found_ids_.end()) return found->second;
  uint32_t result = ScanFor(name, kind);
  if (result == 0 && base_ != nullptr) result = base_->FindId(name, kind);
  found_ids_.emplace(std::move(key), result);
  return result;
}

uint32_t Btf::ScanFor(std::string_view name, BtfKind kind) const {
  // A scan takes about a millisecond, the table about ten.
  constexpr uint32_t kManyScans = 8;
  if (kind == BtfKind::kFunc && functions_.empty() && ++function_scans_ > kManyScans) {
    ForEach(kind, [&](uint32_t id, uint32_t text) {
      functions_.emplace(Text(text), id);
      return true;
    });
  }
  if (kind == BtfKind::kFunc && !functions_.empty()) {
    auto found = functions_.find(name);
    return found == functions_.end() ? 0 : found->second;
  }
  uint32_t result = 0;
  ForEach(kind, [&](uint32_t id, uint32_t text) {
    if (Text(text) != name) return true;
    result = id;
    return false;
  });
  return result;
}

std::vector<std::string_view> Btf::NamesOf(BtfKind kind) const {
  std::vector<std::string_view> names;
  if (base_ != nullptr) names = base_->NamesOf(kind);
  ForEach(kind, [&](uint32_t, uint32_t text) {
    if (std::string_view name = Text(text); !name.empty()) names.push_back(name);
    return true;
  });
  return names;
}

std::vector<std::string> Btf::RawTracepoints() const {
  constexpr std::string_view kPrefix = "btf_trace_";
  std::vector<std::string> names;
  for (std::string_view name : NamesOf(BtfKind::kTypedef)) {
    if (name.starts_with(kPrefix)) names.emplace_back(name.substr(kPrefix.size()));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::vector<std::string> Btf::Functions() const {
  std::vector<std::string> names;
  for (std::string_view name : NamesOf(BtfKind::kFunc)) names.emplace_back(name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

const Btf::FoundEnumerator* Btf::FindEnumerator(std::string_view name) {
  if (name.empty()) return nullptr;
  std::string key(name);
  if (auto found = enumerators_.find(key); found != enumerators_.end()) return found->second.get();
  std::unique_ptr<FoundEnumerator> result;
  for (BtfKind kind : {BtfKind::kEnum, BtfKind::kEnum64}) {
    size_t stride = kind == BtfKind::kEnum ? 8 : 12;
    ForEach(kind, [&](uint32_t id, uint32_t) {
      RawType raw = Raw(id);
      for (uint32_t i = 0; i < raw.length; ++i) {
        if (Text(Word(raw.rest + i * stride)) != name) continue;
        types::Type type = TypeOf(id);
        result = std::make_unique<FoundEnumerator>(
            FoundEnumerator{.type = type, .value = type->enumerators[i].value});
        return false;
      }
      return true;
    });
    if (result) break;
  }
  if (!result && base_ != nullptr) {
    if (const FoundEnumerator* found = base_->FindEnumerator(name)) {
      result = std::make_unique<FoundEnumerator>(*found);
    }
  }
  return enumerators_.emplace(std::move(key), std::move(result)).first->second.get();
}

}  // namespace memtrace::kernel
