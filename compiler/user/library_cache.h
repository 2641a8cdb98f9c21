// The loader's cache of libraries (/etc/ld.so.cache) as a list.
//
// A pure parser of the file's bytes; which file that is knows locate.h. Understands the format of
// glibc 2.2 and later ("glibc-ld.so.cache1.1"), alone or behind the older table that some systems
// keep in front of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/result.h"

namespace memtrace::user {

struct CachedLibrary {
  std::string name;  // "libc.so.6"
  std::string path;  // "/lib/x86_64-linux-gnu/libc.so.6"
};

// Libraries for `architecture` ("x86_64", "aarch64") in the loader's order of preference; those
// that need a special CPU come last, because whether the loader takes them is not known here.
Result<std::vector<CachedLibrary>> ParseLibraryCache(std::string_view bytes,
                                                     std::string_view architecture);

}  // namespace memtrace::user
