#include "compiler/kernel/syscall_arguments.h"

namespace memtrace::kernel {
namespace {

struct Row {
  std::string_view call;  // empty: every call
  std::string_view argument;
  bool is_signed;
};

// Numbers in brackets are sections of the manual.
constexpr Row kRows[] = {
    // A file descriptor is an int everywhere; the kernel says unsigned int in half of its calls
    // (read,
    // write, close …) and unsigned long in mmap, readv and relatives. [read(2), mmap(2), readv(2)]
    {"", "fd", true},
    // void *mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset) [mmap(2)]
    {"mmap", "prot", true},
    {"mmap", "flags", true},
    // int mprotect(void *addr, size_t size, int prot) [mprotect(2)]
    {"mprotect", "prot", true},
    {"pkey_mprotect", "prot", true},
    // void *mremap(void *old, size_t old_size, size_t new_size, int flags, …) [mremap(2)]
    {"mremap", "flags", true},
    // int remap_file_pages(void *addr, size_t size, int prot, size_t pgoff, int flags)
    // [remap_file_pages(2)]
    {"remap_file_pages", "prot", true},
    {"remap_file_pages", "flags", true},
    // ssize_t readv(int fd, const struct iovec *iov, int iovcnt) [readv(2)]
    {"readv", "vlen", true},
    {"writev", "vlen", true},
    {"preadv", "vlen", true},
    {"preadv2", "vlen", true},
    {"pwritev", "vlen", true},
    {"pwritev2", "vlen", true},
    // long mbind(void *addr, unsigned long size, int mode, …) [mbind(2)]
    {"mbind", "mode", true},
    // int pkey_alloc(unsigned int flags, unsigned int access_rights) [pkey_alloc(2)]
    {"pkey_alloc", "flags", false},
    {"pkey_alloc", "init_val", false},
    // int unshare(int flags) [unshare(2)]
    {"unshare", "unshare_flags", true},
};

}  // namespace

types::Type SyscallArgumentType(std::string_view call, std::string_view argument,
                                types::TypeTable& types) {
  for (const Row& row : kRows) {
    if (row.argument == argument && (row.call.empty() || row.call == call)) {
      return types.Int(4, row.is_signed);
    }
  }
  return {};
}

}  // namespace memtrace::kernel
