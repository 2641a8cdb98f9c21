// LiveResolver: what decoding needs from the machine that is traced.
//
// Names of users come from /etc/passwd directly: getpwuid would load name service modules.
// Everything is read on first use and kept.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/base/file.h"
#include "runtime/bpf/maps.h"
#include "runtime/events/decode.h"

namespace memtrace::session {

class LiveResolver : public events::Resolver {
 public:
  // `store` must outlive the resolver.
  explicit LiveResolver(bpf::MapStore& store) : store_(store) {}

  std::vector<uint64_t> StackFrames(uint64_t hash) override { return store_.StackFrames(hash); }
  std::string UserName(uint32_t uid) override;
  std::string GroupName(uint32_t gid) override;
  std::string CgroupPath(uint64_t id) override;
  std::string MemcgPath(uint64_t id) override;
  std::string LoadAverage() override;
  uint64_t WallClock(uint64_t boot_ns) override;

 private:
  using Names = std::unordered_map<uint32_t, std::string>;
  bpf::MapStore& store_;
  std::optional<Names> users_, groups_;
  // One hierarchy of cgroups: its root, and the paths that were asked for.
  struct Hierarchy {
    std::string mount;  // empty: there is none
    UniqueFd root;
    std::unordered_map<uint64_t, std::string> paths;
  };
  static std::string PathIn(Hierarchy& hierarchy, uint64_t id);
  void FindMounts();
  std::optional<Hierarchy> unified_, memory_;
};

}  // namespace memtrace::session
