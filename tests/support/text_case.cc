#include "tests/support/text_case.h"

#include <algorithm>
#include <array>

#include <re2/re2.h>

#include "tests/support/unified_diff.h"

namespace memtrace::test {
namespace {

constexpr std::string_view kSeparator = "====";
constexpr std::string_view kHeading = "-- ";

constexpr std::array<std::string_view, 9> kSections = {
    "args", "program", "file", "program-generator", "stdin", "stdout", "stderr", "exit", "sysroot"};

std::string_view Trim(std::string_view text) {
  size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool NeedsEscape(std::string_view line) {
  return line.starts_with(kHeading) || line.starts_with(kSeparator) || line.starts_with('\\');
}

bool MayRepeat(std::string_view name, std::span<const std::string_view> more_sections) {
  return name == "file" || std::ranges::count(more_sections, name) > 0;
}

class Parser {
 public:
  explicit Parser(std::span<const std::string_view> more_sections)
      : more_sections_(more_sections) {}

  TextCaseFile Parse(std::string_view text) {
    while (!text.empty() && file_.error.empty()) {
      size_t end = text.find('\n');
      if (end == text.npos) {
        ++line_;
        Fail("the last line does not end in a newline");
        break;
      }
      ++line_;
      Line(text.substr(0, end));
      text.remove_prefix(end + 1);
    }
    if (file_.error.empty()) EndCase();
    return std::move(file_);
  }

 private:
  void Line(std::string_view line) {
    if (line.starts_with(kSeparator)) {
      if (line != kSeparator) return Fail("a separator is ==== and nothing else");
      EndCase();
      open_ = false;
    } else if (!open_) {
      if (line.empty() || NeedsEscape(line)) return Fail("a case starts with a sentence");
      file_.cases.push_back({.sentence = std::string(line), .sections = {}, .line = line_});
      open_ = true;
    } else if (line.starts_with(kHeading)) {
      Heading(line.substr(kHeading.size()));
    } else if (file_.cases.back().sections.empty()) {
      Fail("expected a section, `-- NAME`");
    } else {
      if (line.starts_with('\\')) line.remove_prefix(1);
      std::string& body = file_.cases.back().sections.back().body;
      body += line;
      body += '\n';
    }
  }

  void Heading(std::string_view heading) {
    size_t colon = heading.find(':');
    std::string name(Trim(heading.substr(0, colon)));
    std::string value(colon == heading.npos ? "" : Trim(heading.substr(colon + 1)));
    TextCase& current = file_.cases.back();
    if (std::ranges::count(kSections, name) == 0 && std::ranges::count(more_sections_, name) == 0) {
      return Fail("no section is called `" + name + "`");
    }
    if (current.Find(name) != nullptr && !MayRepeat(name, more_sections_)) {
      return Fail("second section `" + name + "` in one case");
    }
    current.sections.push_back({.name = name, .value = value, .body = "", .line = line_});
  }

  void EndCase() {
    if (!open_) return Fail("expected a case");
    const TextCase& ended = file_.cases.back();
    if (ended.sections.empty()) return Fail("a case needs a section");
    for (const TextCase& other : file_.cases) {
      if (&other != &ended && other.sentence == ended.sentence) {
        line_ = ended.line;
        return Fail("second case with this sentence");
      }
    }
  }

  void Fail(std::string_view what) {
    if (file_.error.empty()) file_.error = std::to_string(line_) + ": " + std::string(what);
  }

  std::span<const std::string_view> more_sections_;
  TextCaseFile file_;
  int line_ = 0;
  bool open_ = false;  // the current case has had its sentence
};

std::string EscapeBody(std::string_view body) {
  std::string escaped;
  while (!body.empty()) {
    size_t end = std::min(body.find('\n'), body.size() - 1) + 1;
    if (NeedsEscape(body)) escaped += '\\';
    escaped += body.substr(0, end);
    body.remove_prefix(end);
  }
  return escaped;
}

// The regular expression for a body in `match` mode.
std::string PatternOf(std::string_view body) {
  std::string pattern;
  while (!body.empty()) {
    std::string_view line = body.substr(0, body.find('\n'));
    body.remove_prefix(line.size() + 1);
    if (line == "...") {
      pattern += "(?:.*\n)*?";
      continue;
    }
    for (size_t open; (open = line.find("{{")) != line.npos;) {
      size_t close = line.find("}}", open);
      if (close == line.npos) break;
      pattern += re2::RE2::QuoteMeta(std::string(line.substr(0, open)));
      pattern += "(?:" + std::string(line.substr(open + 2, close - open - 2)) + ")";
      line.remove_prefix(close + 2);
    }
    pattern += re2::RE2::QuoteMeta(std::string(line)) + "\n";
  }
  return pattern;
}

std::string ExpectedText(const Section* section) {
  if (section == nullptr) return "";
  std::string text = section->body;
  if (section->value == "no-newline" && !text.empty()) text.pop_back();
  return text;
}

// Appends to `report` how the stream `name` differs.
void CompareStream(const TextCase& text_case, std::string_view name, const std::string& observed,
                   std::string& report) {
  const Section* section = text_case.Find(name);
  std::string heading = std::string(name) + ":\n";
  if (section != nullptr && section->value == "match") {
    re2::RE2 pattern(PatternOf(section->body), re2::RE2::Quiet);
    if (!pattern.ok()) {
      report += heading + "bad pattern: " + pattern.error() + "\n";
    } else if (!re2::RE2::FullMatch(observed, pattern)) {
      report += heading + "does not match; pattern against output:\n" +
                UnifiedDiff(section->body, observed);
    }
    return;
  }
  if (section != nullptr && !section->value.empty() && section->value != "no-newline") {
    report += heading + "`" + section->value + "` is neither match nor no-newline\n";
    return;
  }
  std::string expected = ExpectedText(section);
  if (expected != observed) report += heading + UnifiedDiff(expected, observed);
}

void ExpectStream(TextCase& text_case, std::string_view name, const std::string& observed) {
  auto section = std::ranges::find(text_case.sections, name, &Section::name);
  if (section != text_case.sections.end() && section->value == "match") return;
  if (observed.empty()) {
    if (section != text_case.sections.end()) text_case.sections.erase(section);
    return;
  }
  Section updated = {.name = std::string(name), .value = "", .body = observed, .line = 0};
  if (!observed.ends_with('\n')) {
    updated.value = "no-newline";
    updated.body += '\n';
  }
  if (section != text_case.sections.end()) {
    *section = std::move(updated);
  } else {
    text_case.sections.push_back(std::move(updated));
  }
}

}  // namespace

const Section* TextCase::Find(std::string_view name) const {
  auto found = std::ranges::find(sections, name, &Section::name);
  return found == sections.end() ? nullptr : &*found;
}

std::vector<std::string> TextCase::Words(std::string_view name) const {
  const Section* section = Find(name);
  if (section == nullptr) return {};
  return SplitWords(section->value + "\n" + section->body);
}

std::string TextCase::Value(std::string_view name) const {
  const Section* section = Find(name);
  if (section == nullptr) return "";
  if (!section->value.empty()) return section->value;
  return section->body.substr(0, section->body.find('\n'));
}

TextCaseFile ParseTextCases(std::string_view text,
                            std::span<const std::string_view> more_sections) {
  return Parser(more_sections).Parse(text);
}

std::string FormatTextCases(std::span<const TextCase> cases) {
  std::string text;
  for (const TextCase& text_case : cases) {
    if (!text.empty()) text += "====\n";
    text += text_case.sentence + "\n";
    for (const Section& section : text_case.sections) {
      text += "-- " + section.name;
      if (!section.value.empty()) text += ": " + section.value;
      text += "\n" + EscapeBody(section.body);
    }
  }
  return text;
}

std::optional<std::string> Mismatch(const TextCase& text_case, const Observed& observed) {
  std::string report;
  CompareStream(text_case, "stdout", observed.out, report);
  CompareStream(text_case, "stderr", observed.err, report);
  std::string expected_exit = text_case.Value("exit");
  if (expected_exit.empty()) expected_exit = "0";
  std::string exit = std::to_string(observed.exit_status);
  if (exit != expected_exit) {
    report += "exit status: expected " + expected_exit + ", was " + exit;
    if (observed.exit_status > 128) report += " (killed by a signal)";
    report += "\n";
  }
  if (report.empty()) return std::nullopt;
  return report;
}

void Expect(TextCase& text_case, const Observed& observed) {
  ExpectStream(text_case, "stdout", observed.out);
  ExpectStream(text_case, "stderr", observed.err);
  std::erase_if(text_case.sections, [](const Section& section) { return section.name == "exit"; });
  if (observed.exit_status != 0) {
    text_case.sections.push_back(
        {.name = "exit", .value = std::to_string(observed.exit_status), .body = "", .line = 0});
  }
}

std::vector<std::string> SplitWords(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (char c : text) {
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (in_word) words.push_back(std::move(word));
  return words;
}

}  // namespace memtrace::test
