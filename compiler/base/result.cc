#include "compiler/base/result.h"

#include <cerrno>
#include <cstring>

namespace memtrace {

static ErrorKind KindOf(int error_number) {
  switch (error_number) {
    case EPERM:
    case EACCES:
      return ErrorKind::kPermission;
    case ENOENT:
    case ESRCH:
      return ErrorKind::kNotFound;
    case ENOSYS:
    case EOPNOTSUPP:
    case 524:  // ENOTSUPP: the kernel's internal code leaks out of the BPF system call
      return ErrorKind::kUnsupported;
    case EAGAIN:
    case EBUSY:
      return ErrorKind::kBusy;
    default:
      return ErrorKind::kOther;
  }
}

Error Error::FromErrno(std::string_view what) { return FromErrno(what, errno); }

Error Error::FromErrno(std::string_view what, int error_number) {
  std::string message(what);
  message += ": ";
  message += error_number == 524 ? "Operation not supported by this kernel" : std::strerror(error_number);
  return Error(KindOf(error_number), std::move(message));
}

}  // namespace memtrace
