// Diagnostics: what is wrong with the user's program, collected while a stage goes on.
//
// A stage reports here and continues with an error type, so that one run shows every mistake. The
// message says what was seen: lower case, no full stop. The rule or the remedy is a note. Codes are
// the rows of codes.def; each has a golden case.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/source.h"

namespace memtrace::diag {

enum class Code : uint16_t {
#define MT_CODE(name) name,
#include "compiler/diag/codes.def"
};

enum class Severity : uint8_t { kError, kWarning };

// A second place with a few words, printed under its own excerpt or on the same line.
struct Label {
  Span span;
  std::string text;
};

struct Diagnostic {
  Severity severity;
  Code code;
  Span span;
  std::string message;
  std::string hint;           // printed behind the caret: "did you mean `comm`?"
  std::vector<Label> labels;  // "this is a string", "first used here as int64"
  std::vector<std::string> notes;
};

// Filled in fluently: diagnostics.Error(…).Note("…").Hint("…").
class DiagnosticBuilder {
 public:
  explicit DiagnosticBuilder(Diagnostic& diagnostic) : diagnostic_(diagnostic) {}
  DiagnosticBuilder& Hint(std::string text) {
    diagnostic_.hint = std::move(text);
    return *this;
  }
  DiagnosticBuilder& Label(Span span, std::string text) {
    diagnostic_.labels.push_back({span, std::move(text)});
    return *this;
  }
  DiagnosticBuilder& Note(std::string text) {
    diagnostic_.notes.push_back(std::move(text));
    return *this;
  }

 private:
  Diagnostic& diagnostic_;  // valid until the next report
};

class Diagnostics {
 public:
  DiagnosticBuilder Error(Code code, Span span, std::string message);
  DiagnosticBuilder Warning(Code code, Span span, std::string message);

  bool has_errors() const { return error_count_ > 0; }
  size_t error_count() const { return error_count_; }
  const std::vector<Diagnostic>& all() const { return all_; }

  // Of each severity; what is reported after that is counted, not kept.
  static constexpr size_t kMaxKept = 50;

 private:
  DiagnosticBuilder Report(Severity severity, Code code, Span span, std::string message);
  std::vector<Diagnostic> all_;
  Diagnostic discarded_;
  size_t error_count_ = 0;
};

// `text` with every byte that a terminal must not get (controls, invalid UTF-8, signs that change
// the direction of writing) as an escape: `\n`, `\x1b`.
std::string Printable(std::string_view text);

// All of `diagnostics` as text in the order of their place in the source: message, excerpt with
// line number, caret and tildes, hint, labels, notes ("  = …"). Long lines are cut around the
// caret; bytes that are not printable are shown as escapes. Ends with "N errors, nothing attached"
// when there is more than one error. A message about a file begins with FILE:LINE:COLUMN; one about
// text from the command line (names that begin with '-') does not.
std::string Render(const Diagnostics& diagnostics, const SourceMap& sources, bool color);

// The candidate that a mistyped `name` most likely meant (edit distance at most a third of its
// length, transpositions count once), or an empty view.
std::string_view ClosestName(std::string_view name,
                             const std::vector<std::string_view>& candidates);

}  // namespace memtrace::diag
