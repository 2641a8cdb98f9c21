// Driver: from the command line to an exit status.
#pragma once

#include <string>
#include <vector>

namespace memtrace::driver {

// `arguments` without the program's name.
int Main(const std::vector<std::string>& arguments);

}  // namespace memtrace::driver
