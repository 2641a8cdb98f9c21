// Programs: the one door to what is known of programs and libraries on this machine.
//
// Opens files once, as the process of -p sees them or as we do. What it gives lives as long as it
// does. Attaching is not here (runtime).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/types/type.h"
#include "compiler/user/binary.h"
#include "compiler/user/locate.h"

namespace memtrace::user {

class Programs {
 public:
  // `process`: the one of -p, 0: none. `root`: before all paths where they are not the machine's
  // own (a fixture). `types` must outlive it.
  Programs(types::TypeTable& types, uint32_t process, std::string root = "")
      : types_(types), process_(process), root_(std::move(root)) {}

  uint32_t process() const { return process_; }
  // What stands before the paths of what the process of -p, or a fixture, sees; empty: nothing.
  std::string root();
  // By a name as scripts have it (locate.h).
  Result<Binary*> Open(const std::string& name);
  // The files that a path with `*` in it fits, in the order of their names.
  Result<std::vector<Binary*>> Matching(const std::string& pattern);
  // What the process has mapped to run code from; kInvalid without one. Files that cannot be read
  // are left out.
  Result<std::vector<Binary*>> Mapped();
  // Fills in a struct that came from debug information; false when it is not from there.
  bool Complete(types::Type type);

 private:
  Result<const View*> LookAround();
  Result<Binary*> OpenPath(const std::string& path);

  types::TypeTable& types_;
  uint32_t process_;
  std::string root_;
  std::optional<View> view_;
  std::map<std::string, std::unique_ptr<Binary>> binaries_;  // by path
};

}  // namespace memtrace::user
