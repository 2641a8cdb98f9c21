#include "tests/support/unified_diff.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace memtrace::test {
namespace {

constexpr size_t kContext = 3;

// The table of the longest common subsequence has the product of both sizes; above this the middle
// is shown as replaced as a whole.
constexpr size_t kMaxTable = 4'000'000;

// More lines than this help nobody who reads a test's log.
constexpr size_t kMaxPrinted = 400;

struct Edit {
  char kind;  // ' ', '-' or '+'
  std::string_view text;
};

std::vector<std::string_view> Lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

void DiffMiddle(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b,
                size_t first, size_t a_end, size_t b_end, std::vector<Edit>& edits) {
  size_t rows = a_end - first;
  size_t columns = b_end - first;
  bool small = rows * columns <= kMaxTable;
  std::vector<uint32_t> table(small ? (rows + 1) * (columns + 1) : 0);
  auto at = [&](size_t i, size_t j) -> uint32_t& { return table[i * (columns + 1) + j]; };
  if (small) {
    for (size_t i = rows; i-- > 0;) {
      for (size_t j = columns; j-- > 0;) {
        at(i, j) = a[first + i] == b[first + j] ? at(i + 1, j + 1) + 1
                                                : std::max(at(i + 1, j), at(i, j + 1));
      }
    }
  }
  size_t i = 0;
  size_t j = 0;
  while (i < rows || j < columns) {
    if (small && i < rows && j < columns && a[first + i] == b[first + j]) {
      edits.push_back({' ', a[first + i]});
      ++i;
      ++j;
    } else if (i < rows && (j == columns || !small || at(i + 1, j) >= at(i, j + 1))) {
      edits.push_back({'-', a[first + i++]});
    } else {
      edits.push_back({'+', b[first + j++]});
    }
  }
}

std::vector<Edit> Diff(const std::vector<std::string_view>& a,
                       const std::vector<std::string_view>& b) {
  size_t first = 0;
  while (first < a.size() && first < b.size() && a[first] == b[first]) ++first;
  size_t a_end = a.size();
  size_t b_end = b.size();
  while (a_end > first && b_end > first && a[a_end - 1] == b[b_end - 1]) {
    --a_end;
    --b_end;
  }
  std::vector<Edit> edits;
  for (size_t i = 0; i < first; ++i) edits.push_back({' ', a[i]});
  DiffMiddle(a, b, first, a_end, b_end, edits);
  for (size_t i = a_end; i < a.size(); ++i) edits.push_back({' ', a[i]});
  return edits;
}

void AppendVisible(std::string_view line, std::string& out) {
  bool ends = line.ends_with('\n');
  if (ends) line.remove_suffix(1);
  for (char c : line) {
    if (static_cast<unsigned char>(c) < 0x20 && c != '\t') {
      constexpr char kHex[] = "0123456789abcdef";
      out += "\\x";
      out += kHex[c >> 4];
      out += kHex[c & 15];
    } else {
      out += c;
    }
  }
  if (line.ends_with(' ') || line.ends_with('\t')) out += "⏎";
  out += '\n';
  if (!ends) out += "\\ no newline at the end\n";
}

}  // namespace

std::string UnifiedDiff(std::string_view expected, std::string_view observed) {
  if (expected == observed) return "";
  std::vector<Edit> edits = Diff(Lines(expected), Lines(observed));

  std::vector<bool> shown(edits.size());
  for (size_t i = 0; i < edits.size(); ++i) {
    if (edits[i].kind == ' ') continue;
    size_t end = std::min(edits.size(), i + kContext + 1);
    for (size_t j = i < kContext ? 0 : i - kContext; j < end; ++j) shown[j] = true;
  }

  std::string out;
  size_t printed = 0;
  size_t expected_line = 1;
  size_t observed_line = 1;
  for (size_t i = 0; i < edits.size(); ++i) {
    if (shown[i]) {
      if (++printed > kMaxPrinted) return out + "(more differences left out)\n";
      if (i == 0 || !shown[i - 1]) {
        out +=
            "@@ -" + std::to_string(expected_line) + " +" + std::to_string(observed_line) + " @@\n";
      }
      out += edits[i].kind;
      AppendVisible(edits[i].text, out);
    }
    if (edits[i].kind != '+') ++expected_line;
    if (edits[i].kind != '-') ++observed_line;
  }
  return out;
}

}  // namespace memtrace::test
