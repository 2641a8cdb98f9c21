#include "compiler/kernel/module_btf.h"

#include <cerrno>
#include <cstring>
#include <string>

#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace memtrace::kernel {
namespace {

int Bpf(int command, bpf_attr& attributes) {
  return static_cast<int>(::syscall(SYS_bpf, command, &attributes, sizeof attributes));
}

bpf_attr Zero() {
  bpf_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  return attributes;
}

}  // namespace

Result<UniqueFd> OpenModuleBtf(std::string_view module) {
  for (uint32_t id = 0;;) {
    bpf_attr next = Zero();
    next.start_id = id;
    if (Bpf(BPF_BTF_GET_NEXT_ID, next) != 0) {
      if (errno != ENOENT) return Error::FromErrno("list the kernel's BTF objects");
      return Error(ErrorKind::kNotFound, "no BTF of module " + std::string(module));
    }
    id = next.next_id;
    bpf_attr open = Zero();
    open.btf_id = id;
    UniqueFd fd(Bpf(BPF_BTF_GET_FD_BY_ID, open));
    if (!fd.valid()) continue;  // gone meanwhile
    char name[64] = {};
    bpf_btf_info info = {};
    info.name = reinterpret_cast<uint64_t>(name);
    info.name_len = sizeof name;
    bpf_attr ask = Zero();
    ask.info.bpf_fd = static_cast<uint32_t>(fd.get());
    ask.info.info = reinterpret_cast<uint64_t>(&info);
    ask.info.info_len = sizeof info;
    if (Bpf(BPF_OBJ_GET_INFO_BY_FD, ask) == 0 && info.kernel_btf != 0 && name == module) return fd;
  }
}

}  // namespace memtrace::kernel
