// The difference of two texts by lines, for test failures.
#pragma once

#include <string>
#include <string_view>

namespace memtrace::test {

// Lines only in `expected` are prefixed by `-`, those only in `observed` by `+`, and up to three
// unchanged lines around them by a space; each hunk starts with `@@ -LINE +LINE @@`. Empty when the
// texts are equal. Control characters and trailing blanks are made visible.
std::string UnifiedDiff(std::string_view expected, std::string_view observed);

}  // namespace memtrace::test
