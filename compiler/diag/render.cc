#include <algorithm>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/diag/excerpt.h"

namespace memtrace::diag {
namespace {

struct Palette {
  std::string_view error, warning, message, mark, gutter, reset;
};
constexpr Palette kPlain{};
constexpr Palette kColored{.error = "\x1b[1;31m",
                           .warning = "\x1b[1;33m",
                           .message = "\x1b[1m",
                           .mark = "\x1b[32m",
                           .gutter = "\x1b[34m",
                           .reset = "\x1b[0m"};

class Renderer {
 public:
  Renderer(const SourceMap& sources, const Palette& palette)
      : sources_(sources), palette_(palette) {}

  void Add(const Diagnostic& diagnostic) {
    AddHeadline(diagnostic);
    gutter_ = GutterWidth(diagnostic);
    AddPrimary(diagnostic);
    for (const std::string& note : diagnostic.notes) {
      Append(palette_.gutter, "  = ");
      out_ += Printable(note) + "\n";
    }
  }

  void AddSummary(size_t errors) {
    out_ += std::to_string(errors) + " errors, nothing attached";
    if (errors > Diagnostics::kMaxKept) {
      out_ += " (the first " + std::to_string(Diagnostics::kMaxKept) + " are shown)";
    }
    out_ += "\n";
  }

  std::string Take() { return std::move(out_); }

 private:
  void Append(std::string_view style, std::string_view text) {
    out_ += style;
    out_ += text;
    if (!style.empty()) out_ += palette_.reset;
  }

  void AddHeadline(const Diagnostic& diagnostic) {
    const Position position = sources_.PositionOf(diagnostic.span.begin);
    if (!position.file.starts_with('-')) {
      out_ += Printable(position.file) + ":" + std::to_string(position.line) + ":" +
              std::to_string(position.column) + ": ";
    }
    const bool is_error = diagnostic.severity == Severity::kError;
    Append(is_error ? palette_.error : palette_.warning, is_error ? "error:" : "warning:");
    out_ += " ";
    Append(palette_.message, Printable(diagnostic.message));
    out_ += "\n";
  }

  size_t GutterWidth(const Diagnostic& diagnostic) const {
    uint32_t last = sources_.PositionOf(diagnostic.span.begin).line;
    for (const Label& label : diagnostic.labels) {
      last = std::max(last, sources_.PositionOf(label.span.begin).line);
    }
    return std::to_string(last).size();
  }

  bool SameLine(Span a, Span b) const {
    return sources_.LineStart(a.begin) == sources_.LineStart(b.begin);
  }

  // A line of the excerpt; number 0 leaves the gutter blank.
  void AddLine(uint32_t number, std::string_view style, std::string_view text) {
    const std::string digits = number == 0 ? "" : std::to_string(number);
    Append(palette_.gutter, "  " + std::string(gutter_ - digits.size(), ' ') + digits + " |");
    if (!text.empty()) out_ += " ";
    Append(style, text);
    out_ += "\n";
  }

  Excerpt ExcerptFor(Span span) const {
    const uint32_t start = sources_.LineStart(span.begin);
    return Excerpt(sources_.LineAt(span.begin), span.begin - start, span.end - start);
  }

  void Mark(const Excerpt& excerpt, std::string& row, Span span, char first) const {
    const uint32_t start = sources_.LineStart(span.begin);
    const size_t end = std::max(span.end, span.begin) - start;
    excerpt.Mark(row, span.begin - start, end, first, '~');
  }

  // The line of the mistake with its marks, then the labels: without text on the caret's own row,
  // with text on a row of their own, under their own line where that is another one.
  void AddPrimary(const Diagnostic& diagnostic) {
    const Excerpt excerpt = ExcerptFor(diagnostic.span);
    const uint32_t start = sources_.LineStart(diagnostic.span.begin);
    AddLine(sources_.PositionOf(start).line, {}, excerpt.text());
    std::string row;
    std::vector<const Label*> near, far;
    for (const Label& label : diagnostic.labels) {
      const bool visible =
          SameLine(label.span, diagnostic.span) && excerpt.Shows(label.span.begin - start);
      if (!visible) {
        far.push_back(&label);
      } else if (label.text.empty()) {
        Mark(excerpt, row, label.span, '~');
      } else {
        near.push_back(&label);
      }
    }
    Mark(excerpt, row, diagnostic.span, '^');
    if (!diagnostic.hint.empty()) row += " " + Printable(diagnostic.hint);
    AddLine(0, palette_.mark, row);
    for (const Label* label : near) AddLabelRow(excerpt, *label);
    for (const Label* label : far) AddFarLabel(diagnostic, *label);
  }

  void AddLabelRow(const Excerpt& excerpt, const Label& label) {
    std::string row;
    Mark(excerpt, row, label.span, '~');
    if (!label.text.empty()) row += " " + Printable(label.text);
    AddLine(0, palette_.mark, row);
  }

  void AddFarLabel(const Diagnostic& diagnostic, const Label& label) {
    const Position position = sources_.PositionOf(label.span.begin);
    if (position.file.data() != sources_.PositionOf(diagnostic.span.begin).file.data()) {
      out_ += "  in " + Printable(position.file) + ":\n";
    }
    const Excerpt excerpt = ExcerptFor(label.span);
    AddLine(position.line, {}, excerpt.text());
    AddLabelRow(excerpt, label);
  }

  const SourceMap& sources_;
  const Palette& palette_;
  size_t gutter_ = 1;
  std::string out_;
};

}  // namespace

std::string Render(const Diagnostics& diagnostics, const SourceMap& sources, bool color) {
  std::vector<const Diagnostic*> order;
  for (const Diagnostic& diagnostic : diagnostics.all()) order.push_back(&diagnostic);
  std::stable_sort(order.begin(), order.end(), [](const Diagnostic* a, const Diagnostic* b) {
    return a->span.begin < b->span.begin;
  });
  Renderer renderer(sources, color ? kColored : kPlain);
  for (const Diagnostic* diagnostic : order) renderer.Add(*diagnostic);
  if (diagnostics.error_count() > 1) renderer.AddSummary(diagnostics.error_count());
  return renderer.Take();
}

}  // namespace memtrace::diag
