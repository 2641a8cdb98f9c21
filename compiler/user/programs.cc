#include "compiler/user/programs.h"

#include <algorithm>

#include <glob.h>

namespace memtrace::user {

Result<const View*> Programs::LookAround() {
  if (!view_) {
    MT_ASSIGN_OR_RETURN(View view, ViewOf(process_));
    if (!root_.empty()) view.root = root_;
    view_ = std::move(view);
  }
  return &*view_;
}

std::string Programs::root() {
  auto view = LookAround();
  return view.ok() ? view.value()->root : "";
}

Result<Binary*> Programs::OpenPath(const std::string& path) {
  std::unique_ptr<Binary>& binary = binaries_[path];
  if (binary == nullptr) {
    MT_ASSIGN_OR_RETURN(binary, Binary::Open(path, types_));
  }
  return binary.get();
}

Result<Binary*> Programs::Open(const std::string& name) {
  MT_ASSIGN_OR_RETURN(const View* view, LookAround());
  MT_ASSIGN_OR_RETURN(std::string path, Locate(*view, name));
  return OpenPath(path);
}

Result<std::vector<Binary*>> Programs::Matching(const std::string& pattern) {
  MT_ASSIGN_OR_RETURN(const View* view, LookAround());
  std::string below = pattern.starts_with('/') ? view->root + pattern : pattern;
  glob_t found = {};
  std::vector<Binary*> binaries;
  if (::glob(below.c_str(), 0, nullptr, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc; ++i) {
      // Of a folder's files some are programs; those that are not were not meant.
      auto binary = Open(std::string(found.gl_pathv[i]).substr(below.size() - pattern.size()));
      bool is_new = binary.ok() &&
                    std::find(binaries.begin(), binaries.end(), binary.value()) == binaries.end();
      if (is_new) binaries.push_back(binary.value());
    }
  }
  ::globfree(&found);
  return binaries;
}

Result<std::vector<Binary*>> Programs::Mapped() {
  if (process_ == 0) return Error(ErrorKind::kInvalid, "which programs is only known with -p PID");
  MT_ASSIGN_OR_RETURN(const View* view, LookAround());
  std::vector<Binary*> binaries;
  for (const std::string& path : MappedFiles(*view)) {
    if (auto binary = OpenPath(path); binary.ok()) binaries.push_back(binary.value());
  }
  return binaries;
}

bool Programs::Complete(types::Type type) {
  for (auto& [path, binary] : binaries_) {
    if (binary != nullptr && binary->Complete(type)) return true;
  }
  return false;
}

}  // namespace memtrace::user
