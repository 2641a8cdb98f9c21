// Values as text for people: what maps, print() and %s show.
//
// `(a, b)`, `(a = 1)`, `{ .a = 1, .b = 2 }`, `[1,2,3]`; a stack is a block of lines that begins
// with a new line, one frame on each line.
#pragma once

#include <string>

#include "runtime/events/value.h"
#include "runtime/output/escape.h"
#include "runtime/symbols/symbolizer.h"

namespace memtrace::output {

struct TextStyle {
  bool raw_numbers = false;
  int stack_indent = 4;  // 4 in maps, 8 elsewhere
  Escape escape = Escape::kAll;
};

void AppendText(std::string& out, const events::Value& value, const TextStyle& style,
                symbols::Symbolizer& symbolizer);

// The lines of a histogram with their bars, without a heading.
void AppendHistogram(std::string& out, const events::Histogram& histogram, bool raw_numbers);

}  // namespace memtrace::output
