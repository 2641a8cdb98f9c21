// Small plans and bytes for tests of what the runtime reads: types are added one by one, and values
// are laid out by hand.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "compiler/plan/plan.h"
#include "runtime/events/decode.h"

namespace memtrace::test {

// The bytes of numbers of any size, one after the other.
template <typename... Numbers>
std::string Pack(Numbers... numbers) {
  std::string bytes;
  (bytes.append(reinterpret_cast<const char*>(&numbers), sizeof numbers), ...);
  return bytes;
}

// `text` with its NUL, padded with NULs to `size`.
inline std::string PackText(std::string text, size_t size) {
  text.resize(size, '\0');
  return text;
}

inline plan::Index AddType(plan::Plan& plan, plan::Type type) {
  plan.types.push_back(std::move(type));
  return static_cast<plan::Index>(plan.types.size() - 1);
}

inline plan::Index AddType(plan::Plan& plan, plan::TypeKind kind, uint32_t size,
                           bool is_signed = false, plan::Unit unit = plan::Unit::kNone) {
  plan::Type type;
  type.kind = kind;
  type.size = size;
  type.is_signed = is_signed;
  type.unit = unit;
  return AddType(plan, std::move(type));
}

inline plan::Field FieldAt(plan::Index type, uint32_t offset, std::string name = "") {
  plan::Field field;
  field.name = std::move(name);
  field.type = type;
  field.offset = offset;
  return field;
}

// Knows stacks that it was told, and names everything else by its number.
class FakeResolver : public events::Resolver {
 public:
  std::map<uint64_t, std::vector<uint64_t>> stacks;

  std::vector<uint64_t> StackFrames(uint64_t hash) override { return stacks[hash]; }
  std::string UserName(uint32_t uid) override { return "user" + std::to_string(uid); }
  std::string GroupName(uint32_t gid) override { return "group" + std::to_string(gid); }
  std::string CgroupPath(uint64_t id) override { return "/cg" + std::to_string(id); }
  std::string MemcgPath(uint64_t id) override { return "/memcg" + std::to_string(id); }
  std::string LoadAverage() override { return "0.50 0.25 0.12"; }
  uint64_t WallClock(uint64_t boot_ns) override { return boot_ns + 1'700'000'000'000'000'000; }
};

}  // namespace memtrace::test
