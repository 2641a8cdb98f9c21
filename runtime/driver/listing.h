// Listing: -l and -lv.
#pragma once

#include <string>
#include <string_view>

#include "compiler/base/result.h"
#include "compiler/kernel/kernel.h"
#include "compiler/user/programs.h"

namespace memtrace::driver {

struct Listing {
  std::string text;
  std::string left_out;  // which kinds of probes can't be listed and why, when all were asked for
};

// Probes that match `pattern` ("tracepoint:kmem:*", "kmem:*page*", "uprobe:libc:mem*"; empty: all
// of the kernel's), one a line; with `with_arguments` each is followed by its fields. An empty text
// means that nothing matches.
Result<Listing> ListProbes(kernel::Kernel& kernel, user::Programs& programs,
                           const std::string& pattern, bool with_arguments);

// A line of -lv: "    struct file *file", "    uint64 count".
std::string Declared(types::Type type, std::string_view name);

}  // namespace memtrace::driver
