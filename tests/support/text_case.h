// Reads and rewrites `.test` files, the text cases of the golden, exec and kernel lanes.
//
// This knows the format only: what a case runs is the lane's business (text_case_runner.h). A file
// is one or more cases, separated by a line of `====`:
//
//     a number above 64 bits is an error
//     -- args: --check
//     -- program
//     begin { print(99999999999999999999) }
//     -- stderr
//     error: number does not fit in 64 bits
//     -- exit: 1
//     ====
//     the next case says what it shows in one sentence, too
//     …
//
// The first line is the case's sentence and its name. A section starts with `-- NAME` or
// `-- NAME: VALUE`; the lines below it, exactly as they stand, are its body. So that a typo cannot
// hide in a body, every line that starts with `-- ` or `====` is read as a section or a separator;
// a body that needs such a line puts a backslash before it, and before a backslash in first place.
//
// Sections that every lane knows:
//   args      words for the command line; quotes '…' and "…" group. In VALUE, in the body, or both.
//   program   the program, passed by -e without its last newline.
//   file: F   a file F in the case's working directory, any number of times.
//   program-generator: KIND SIZE   a program too large to keep (generators.h), passed as a file.
//   stdin, stdout, stderr          exact text; absent means empty.
//   exit: N   the exit status; absent means 0.
//   sysroot: D                     another fixture root than tests/fixture, relative to tests/.
// VALUE of stdout and stderr may be
//   match       lines may hold {{REGEX}}, and a line `...` stands for any number of lines;
//   no-newline  the text does not end in a newline.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace memtrace::test {

struct Section {
  std::string name;
  std::string value;  // what stands behind the colon, or empty
  std::string body;   // unescaped; every line ends in a newline
  int line;           // of the section's heading in its file, from 1
};

struct TextCase {
  std::string sentence;
  std::vector<Section> sections;
  int line;  // of the sentence, from 1

  // The first section called `name`, or null.
  const Section* Find(std::string_view name) const;
  // VALUE and body of the section `name` as words; empty when there is none.
  std::vector<std::string> Words(std::string_view name) const;
  // Value, if there is one, or else the first line of the body. For sections that hold one thing.
  std::string Value(std::string_view name) const;
};

struct TextCaseFile {
  std::vector<TextCase> cases;
  std::string error;  // "LINE: what is wrong"; empty when the text was understood
};

// Parses `text`. Sections other than those above have to be in `more_sections`.
TextCaseFile ParseTextCases(std::string_view text, std::span<const std::string_view> more_sections);

// The text that parses to `cases`.
std::string FormatTextCases(std::span<const TextCase> cases);

// What a case printed and how it ended.
struct Observed {
  std::string out;
  std::string err;
  int exit_status = 0;
};

// How `observed` differs from what `text_case` expects, for a human to read; nullopt when it does
// not.
std::optional<std::string> Mismatch(const TextCase& text_case, const Observed& observed);

// Makes `observed` the expectation of `text_case`. Sections marked `match` are left as they are: a
// pattern is somebody's thought, and only they can mend it.
void Expect(TextCase& text_case, const Observed& observed);

// Splits `text` at white space outside of quotes. There are no escapes.
std::vector<std::string> SplitWords(std::string_view text);

}  // namespace memtrace::test
