#include "compiler/diag/diagnostics.h"

#include <algorithm>

namespace memtrace::diag {

DiagnosticBuilder Diagnostics::Error(Code code, Span span, std::string message) {
  ++error_count_;
  return Report(Severity::kError, code, span, std::move(message));
}

DiagnosticBuilder Diagnostics::Warning(Code code, Span span, std::string message) {
  return Report(Severity::kWarning, code, span, std::move(message));
}

DiagnosticBuilder Diagnostics::Report(Severity severity, Code code, Span span,
                                      std::string message) {
  const auto kept = std::count_if(all_.begin(), all_.end(), [&](const Diagnostic& diagnostic) {
    return diagnostic.severity == severity;
  });
  Diagnostic diagnostic{.severity = severity,
                        .code = code,
                        .span = span,
                        .message = std::move(message),
                        .hint = {},
                        .labels = {},
                        .notes = {}};
  if (static_cast<size_t>(kept) >= kMaxKept) {
    discarded_ = std::move(diagnostic);
    return DiagnosticBuilder(discarded_);
  }
  all_.push_back(std::move(diagnostic));
  return DiagnosticBuilder(all_.back());
}

}  // namespace memtrace::diag
