// The text of one probe: where it ends, and how it falls into parts.
//
// The lexer asks the first, the parser the second; both follow the same rules about quotes and
// paths, which is why they live together. What the parts mean is not known here.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "compiler/diag/source.h"
#include "compiler/syntax/ast.h"

namespace memtrace::syntax {

struct ProbeExtent {
  size_t bytes;     // 0: no probe begins here
  bool open_quote;  // a quoted part is not closed on its line; then `quote` is where it begins
  size_t quote;
};

// Measures the probe at the beginning of `text`. It ends at white space, a sign that can't belong
// to it, or a predicate. A slash belongs to the probe in a part that begins with one and in the
// file name of a probe on a binary (uprobe:./a.out:main); anywhere else it begins the predicate.
ProbeExtent MeasureProbe(std::string_view text);

// Splits at the colons that are not in quotes, and removes quotes.
std::vector<ProbePart> SplitProbe(std::string_view text, diag::Span span);

}  // namespace memtrace::syntax
