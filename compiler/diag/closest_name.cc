#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostics.h"

namespace memtrace::diag {
namespace {

// Nobody mistypes a name of this length that a table holds; it bounds the quadratic work.
constexpr size_t kMaxNameLength = 128;

bool EqualExceptCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

// Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_previous;
  std::vector<size_t> previous(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    std::vector<size_t> row(b.size() + 1);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitution = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({previous[j] + 1, row[j - 1] + 1, substitution});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_previous[j - 2] + 1);
      }
    }
    before_previous = std::move(previous);
    previous = std::move(row);
  }
  return previous[b.size()];
}

}  // namespace

std::string_view ClosestName(std::string_view name,
                             const std::vector<std::string_view>& candidates) {
  if (name.size() > kMaxNameLength) return {};
  const size_t allowed = name.size() / 3;
  std::string_view best;
  size_t best_distance = allowed + 1;
  for (std::string_view candidate : candidates) {
    if (EqualExceptCase(name, candidate)) return candidate;
    if (candidate.size() > name.size() + allowed || candidate.size() + allowed < name.size()) {
      continue;
    }
    const size_t distance = EditDistance(name, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace memtrace::diag
