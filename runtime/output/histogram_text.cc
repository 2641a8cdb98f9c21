#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/output/number.h"
#include "runtime/output/value_text.h"

namespace memtrace::output {
namespace {

constexpr size_t kBarWidth = 52;
constexpr size_t kLabelWidth = 16;
constexpr size_t kCountWidth = 8;

using Bucket = events::Histogram::Bucket;

std::string Label(const events::Histogram& histogram, const Bucket& bucket, bool raw) {
  plan::Unit unit = raw ? plan::Unit::kNone : histogram.unit;
  bool scaled = unit == histogram.unit;
  // In unsigned arithmetic: a bucket may be wider than an int64.
  uint64_t width = static_cast<uint64_t>(bucket.high) - static_cast<uint64_t>(bucket.low);
  bool is_open = bucket.low == INT64_MIN || bucket.high == INT64_MAX;
  bool kilo = scaled && (!histogram.is_linear || (!is_open && width % 1024 == 0));
  auto append = [&](std::string& label, int64_t edge) {
    AppendEdge(label, edge, unit, histogram.is_linear, kilo);
  };

  std::string label;
  if (bucket.low == INT64_MIN) {
    label += "(...";
  } else {
    label += '[';
    append(label, bucket.low);
    if (!histogram.is_linear && width == 1 && !is_open) return label + "]";
  }
  label += ", ";
  if (bucket.high == INT64_MAX) {
    label += "...";
  } else {
    append(label, bucket.high);
  }
  return label + ")";
}

}  // namespace

void AppendHistogram(std::string& out, const events::Histogram& histogram, bool raw_numbers) {
  std::vector<std::string> labels, counts;
  size_t label_width = kLabelWidth, count_width = kCountWidth;
  uint64_t most = 1;
  for (const Bucket& bucket : histogram.buckets) {
    labels.push_back(Label(histogram, bucket, raw_numbers));
    counts.push_back(std::to_string(bucket.count));
    label_width = std::max(label_width, labels.back().size());
    count_width = std::max(count_width, counts.back().size() + 1);
    most = std::max(most, bucket.count);
  }
  for (size_t i = 0; i < labels.size(); ++i) {
    out += labels[i];
    out.append(label_width - labels[i].size() + count_width - counts[i].size(), ' ');
    out += counts[i];
    out += " |";
    using Wide = unsigned __int128;
    auto bar = static_cast<size_t>(Wide{histogram.buckets[i].count} * kBarWidth / most);
    out.append(bar, '@');
    out.append(kBarWidth - bar, ' ');
    out += "|\n";
  }
}

}  // namespace memtrace::output
