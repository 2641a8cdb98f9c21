#include "compiler/user/programs.h"

namespace memtrace::user {

Result<const View*> Programs::LookAround() {
  if (!view_) {
    MT_ASSIGN_OR_RETURN(View view, ViewOf(process_));
    view_ = std::move(view);
  }
  return &*view_;
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
