// Text from the traced machine made safe to show: a comm or a file name must not drive the
// terminal, and a JSON line must be valid.
//
// In all three forms a byte that is no part of valid UTF-8 becomes the four characters \xNN. A
// backslash in the text is not doubled for people, so text that holds these four characters looks
// the same; names stay readable at that price.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace memtrace::output {

enum class Escape {
  kAll,         // keys and values: control characters, new lines included, as \n, \t or \xNN
  kKeepLayout,  // printf: the same, but new lines and tabs stay
};
void AppendEscaped(std::string& out, std::string_view text, Escape escape);

// With its quotes.
void AppendJsonString(std::string& out, std::string_view text);

// Bytes of the UTF-8 character that `text` begins with; 0: none (or `text` is empty).
size_t Utf8Length(std::string_view text);

}  // namespace memtrace::output
