// The lexer proper. It knows three places: outside of clauses (probes, definitions), a predicate,
// and code. In a predicate `/` ends it when a body or nothing follows, and divides otherwise: a
// brace can't follow a division.
#include <algorithm>
#include <cctype>
#include <string>

#include "compiler/syntax/probe_text.h"
#include "compiler/syntax/token.h"

namespace memtrace::syntax {
namespace {

using diag::Code;
using diag::Span;

struct Spelled {
  std::string_view text;
  TokenKind kind;
};
constexpr Spelled kPunctuation[] = {
#define MT_TOKEN(name, spelling)
#define MT_KEYWORD(name, spelling)
#define MT_PUNCTUATION(name, spelling) {spelling, TokenKind::name},
#include "compiler/syntax/token.def"
};
constexpr Spelled kKeywords[] = {
#define MT_TOKEN(name, spelling)
#define MT_KEYWORD(name, spelling) {spelling, TokenKind::name},
#define MT_PUNCTUATION(name, spelling)
#include "compiler/syntax/token.def"
};

// What other languages write, and what is meant by it.
struct ForeignOperator {
  std::string_view text;
  std::string_view meant;
  TokenKind kind;
};
constexpr ForeignOperator kForeignOperators[] = {
    {"&&&", "&&", TokenKind::kAndAnd},      {"|||", "||", TokenKind::kOrOr},
    {"===", "==", TokenKind::kEqual},       {"!==", "!=", TokenKind::kNotEqual},
    {"<>", "!=", TokenKind::kNotEqual},     {"=<", "<=", TokenKind::kLessEqual},
    {"=>", ">=", TokenKind::kGreaterEqual}, {":=", "=", TokenKind::kAssign},
    {"=~", "==", TokenKind::kEqual},
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsWordByte(char c) { return IsLetter(c) || IsDigit(c); }
bool IsBlank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// More than this many runs of stray bytes are noise: the file is no script.
constexpr size_t kMaxStrayRuns = 8;

class Lexer {
 public:
  Lexer(std::string_view text, uint32_t base, diag::Diagnostics& diagnostics)
      : text_(text), base_(base), diagnostics_(diagnostics) {}

  TokenBuffer Run() {
    if (const size_t nul = text_.find('\0'); nul != text_.npos) {
      diagnostics_.Error(Code::kStrayByte, SpanOf(nul, nul + 1), "a script holds no NUL bytes")
          .Note("is this a text file?");
      at_ = text_.size();
    }
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // the byte order mark of some editors
    if (text_.substr(at_).starts_with("#!")) SkipLine();
    while (SkipBlanks(), at_ < text_.size()) {
      if (mode_ == Mode::kOutside) {
        LexOutside();
      } else {
        LexInside();
      }
    }
    Push(TokenKind::kEnd, at_);
    return std::move(buffer_);
  }

 private:
  enum class Mode : uint8_t { kOutside, kPredicate, kCode };

  char At(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool Sees(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  Span SpanOf(size_t begin, size_t end) const {
    return {base_ + static_cast<uint32_t>(begin), base_ + static_cast<uint32_t>(end)};
  }
  TokenKind last() const {
    return buffer_.tokens.empty() ? TokenKind::kEnd : buffer_.tokens.back().kind;
  }
  // The token that began at `begin` ends here.
  void Push(TokenKind kind, size_t begin) {
    buffer_.tokens.push_back({.kind = kind, .span = SpanOf(begin, at_)});
  }
  void Advance(TokenKind kind, size_t bytes) {
    at_ += bytes;
    Push(kind, at_ - bytes);
  }
  void SkipLine() { at_ = std::min(text_.find('\n', at_), text_.size()); }
  size_t EndOfWord(size_t from) const {
    while (from < text_.size() && IsWordByte(text_[from])) ++from;
    return from;
  }
  size_t EndOfBlanks(size_t from) const {
    while (from < text_.size() && IsBlank(text_[from])) ++from;
    return from;
  }

  // The first place from `at` on that is neither white space nor comment.
  size_t AfterBlanks(size_t at) const {
    while (true) {
      at = EndOfBlanks(at);
      const std::string_view rest = text_.substr(at);
      if (rest.starts_with("//")) {
        at = std::min(text_.find('\n', at), text_.size());
      } else if (rest.starts_with("/*")) {
        const size_t end = text_.find("*/", at + 2);
        if (end == std::string_view::npos) return at;
        at = end + 2;
      } else {
        return at;
      }
    }
  }

  void SkipBlanks() {
    at_ = AfterBlanks(at_);
    if (!Sees("/*")) return;
    diagnostics_
        .Error(Code::kUnterminatedComment, SpanOf(at_, at_ + 2),
               "the comment that begins here has no end")
        .Hint("`*/` is missing");
    at_ = text_.size();
  }

  // Outside of clauses.

  void LexOutside() {
    const bool fresh = buffer_.tokens.empty() || last() == TokenKind::kRightBrace ||
                       last() == TokenKind::kSemicolon || last() == TokenKind::kDirective;
    switch (At()) {
      case '{':
        return OpenBrace();
      case '}':
        return Advance(TokenKind::kRightBrace, 1);
      case ';':
        return Advance(TokenKind::kSemicolon, 1);
      case ',':
        return Advance(TokenKind::kComma, 1);
      case '|':
        return Advance(TokenKind::kPipe, 1);
      case '/':
        mode_ = Mode::kPredicate;
        return Advance(TokenKind::kPredicateBegin, 1);
      case '#':
        return LexDirective();
      default:
        break;
    }
    if (fresh && BeginsDefinition()) {
      mode_ = Mode::kCode;
      in_definition_ = true;
      return LexInside();
    }
    const ProbeExtent extent = MeasureProbe(text_.substr(at_));
    if (extent.bytes == 0) return LexStrayBytes();
    if (extent.open_quote) {
      diagnostics_
          .Error(Code::kUnterminatedString, SpanOf(at_ + extent.quote, at_ + extent.bytes),
                 "the quoted part of a probe has no end")
          .Hint("`\"` is missing");
    }
    Advance(TokenKind::kProbe, extent.bytes);
  }

  // Whether a definition begins here and not a probe of the same name.
  bool BeginsDefinition() const {
    const size_t end = EndOfWord(at_);
    const std::string_view word = text_.substr(at_, end - at_);
    const size_t next = AfterBlanks(end);
    const std::string_view rest = text_.substr(next);
    if (word == "config") return rest.starts_with("=") && !rest.starts_with("==");
    if (word == "import") return rest.starts_with("\"") || rest.starts_with("'");
    if (rest.empty() || next == end) return false;
    if (word == "let") return true;
    constexpr std::string_view kBeforeName[] = {"macro", "fn",   "struct",
                                                "union", "enum", "typedef"};
    constexpr std::string_view kBeforeAny[] = {"every", "span", "live"};
    const bool before_name = std::count(std::begin(kBeforeName), std::end(kBeforeName), word) > 0;
    const bool before_any = std::count(std::begin(kBeforeAny), std::end(kBeforeAny), word) > 0;
    if (before_name)
      return IsLetter(rest[0]) || (rest[0] == '{' && word != "fn" && word != "macro");
    return before_any && (IsWordByte(rest[0]) || rest[0] == '@');
  }

  // A preprocessor line with its continuations. Anything else behind `#` is a comment of another
  // language.
  void LexDirective() {
    constexpr std::string_view kWords[] = {"include", "define", "undef", "if",
                                           "ifdef",   "ifndef", "else",  "elif",
                                           "endif",   "pragma", "error", "line"};
    const size_t word = EndOfBlanks(at_ + 1);
    const std::string_view name = text_.substr(word, EndOfWord(word) - word);
    if (std::count(std::begin(kWords), std::end(kWords), name) == 0) return LexStrayBytes();
    const size_t begin = at_;
    do {
      SkipLine();
      const bool continued = at_ < text_.size() && text_[at_ - 1] == '\\';
      if (!continued) break;
      ++at_;
    } while (at_ < text_.size());
    Push(TokenKind::kDirective, begin);
  }

  // Predicates, bodies and definitions.

  void OpenBrace() {
    mode_ = Mode::kCode;
    ++depth_;
    Advance(TokenKind::kLeftBrace, 1);
  }

  void CloseBrace() {
    Advance(TokenKind::kRightBrace, 1);
    if (mode_ == Mode::kCode && depth_ > 0) --depth_;
    if (depth_ == 0) LeaveCode();
  }

  void LeaveCode() {
    mode_ = Mode::kOutside;
    in_definition_ = false;
  }

  void LexInside() {
    const char c = At();
    if (c == '{') return OpenBrace();
    if (c == '}') return CloseBrace();
    if (c == '/' && mode_ == Mode::kPredicate && EndsPredicate()) {
      mode_ = Mode::kOutside;
      return Advance(TokenKind::kPredicateEnd, 1);
    }
    if (IsLetter(c)) {
      if (IsForgottenBrace()) {
        depth_ = 0;
        return LeaveCode();
      }
      return LexWord();
    }
    if (IsDigit(c)) return LexNumber();
    if (c == '"' || c == '\'') return LexString();
    if (c == '$') return LexVariable();
    if (c == '@') return Advance(TokenKind::kMap, EndOfMapName() - at_);
    if (!LexPunctuation()) return LexStrayBytes();
    if (last() == TokenKind::kSemicolon && depth_ == 0 && mode_ == Mode::kCode) LeaveCode();
  }

  bool EndsPredicate() const {
    const size_t next = AfterBlanks(at_ + 1);
    return next == text_.size() || text_[next] == '{';
  }

  // A clause that begins where a statement should: no statement looks like `name:name`, so the
  // brace before it was forgotten. Lexing it as a clause keeps one mistake from becoming twenty.
  bool IsForgottenBrace() const {
    const bool statement = last() == TokenKind::kSemicolon || last() == TokenKind::kRightBrace ||
                           last() == TokenKind::kLeftBrace;
    if (!statement || in_definition_ || mode_ != Mode::kCode) return false;
    const size_t end = EndOfWord(at_);
    const std::string_view word = text_.substr(at_, end - at_);
    const char after = end < text_.size() ? text_[end] : '\0';
    const char second = end + 1 < text_.size() ? text_[end + 1] : '\0';
    if (after == ':') {
      return IsWordByte(second) ||
             (second != '\0' && std::string_view("*/.\"$").find(second) != std::string_view::npos);
    }
    if (word != "BEGIN" && word != "END" && word != "begin" && word != "end") return false;
    const size_t next = AfterBlanks(end);
    return next < text_.size() && text_[next] == '{';
  }

  void LexWord() {
    const size_t end = EndOfWord(at_);
    const std::string_view word = text_.substr(at_, end - at_);
    const auto* keyword = std::find_if(std::begin(kKeywords), std::end(kKeywords),
                                       [&](const Spelled& row) { return row.text == word; });
    const bool found = keyword != std::end(kKeywords);
    Advance(found ? keyword->kind : TokenKind::kName, end - at_);
  }

  void LexNumber() {
    const size_t begin = at_;
    const bool member = last() == TokenKind::kDot;
    at_ = EndOfWord(at_);
    if (!member && At() == '.' && IsDigit(At(1))) {
      at_ = EndOfWord(at_ + 1);
      diagnostics_.Error(Code::kBadNumber, SpanOf(begin, at_), "a number has no fraction here")
          .Note("use a smaller unit, as in `1500us` for 1.5 ms");
      // What follows is read as if the number had been whole.
      buffer_.tokens.push_back({.kind = TokenKind::kInteger, .span = SpanOf(begin, begin + 1)});
      return;
    }
    Push(TokenKind::kInteger, begin);
  }

  // A string ends at its quote or, when that is missing, with the line.
  void LexString() {
    const size_t begin = at_;
    const char quote = At();
    ++at_;
    while (at_ < text_.size() && At() != quote && At() != '\n') {
      at_ += At() == '\\' && at_ + 1 < text_.size() && At(1) != '\n' ? 2 : 1;
    }
    const bool closed = at_ < text_.size() && At() == quote;
    if (closed) ++at_;
    if (quote == '\'') {
      diagnostics_.Error(Code::kSingleQuotes, SpanOf(begin, at_), "text in single quotes")
          .Note("a string stands in double quotes; a character is a number, as in 0x41");
    } else if (!closed) {
      diagnostics_.Error(Code::kUnterminatedString, SpanOf(begin, at_), "the string has no end")
          .Hint("`\"` is missing");
    }
    Push(TokenKind::kString, begin);
  }

  void LexVariable() {
    if (At(1) == '#') return Advance(TokenKind::kPositionalCount, 2);
    size_t end = at_ + 1;
    if (IsDigit(At(1))) {
      while (end < text_.size() && IsDigit(text_[end])) ++end;
      return Advance(TokenKind::kPositional, end - at_);
    }
    end = EndOfWord(end);
    if (end == at_ + 1) {
      diagnostics_.Error(Code::kBadName, SpanOf(at_, end), "`$` without a name")
          .Note("`$name` is a variable, `$1` the first argument of the script, `$#` their number");
    }
    Advance(TokenKind::kVariable, end - at_);
  }

  size_t EndOfMapName() {
    if (!IsDigit(At(1))) return EndOfWord(at_ + 1);
    const size_t end = EndOfWord(at_ + 1);
    diagnostics_.Error(Code::kBadName, SpanOf(at_, end), "a map's name begins with a letter");
    return end;
  }

  bool LexPunctuation() {
    for (const ForeignOperator& foreign : kForeignOperators) {
      if (!Sees(foreign.text)) continue;
      diagnostics_
          .Error(Code::kBadOperator, SpanOf(at_, at_ + foreign.text.size()),
                 "`" + std::string(foreign.text) + "` is not an operator")
          .Hint("did you mean `" + std::string(foreign.meant) + "`?");
      Advance(foreign.kind, foreign.text.size());
      return true;
    }
    const Spelled* best = nullptr;
    for (const Spelled& row : kPunctuation) {
      if (Sees(row.text) && (best == nullptr || row.text.size() > best->text.size())) best = &row;
    }
    if (best == nullptr) return false;
    Advance(best->kind, best->text.size());
    return true;
  }

  // Reports a run of bytes that begin no token, once, and skips it. A comment in another language's
  // style goes to the end of its line.
  void LexStrayBytes() {
    const size_t begin = at_;
    if (At() == '#') {
      const Span sign = SpanOf(at_, at_ + 1);
      SkipLine();
      diagnostics_.Error(Code::kStrayByte, sign, "`#` begins nothing here")
          .Hint("a comment begins with `//`");
      return;
    }
    do {
      ++at_;
    } while (at_ < text_.size() && !IsBlank(At()) && !(At() > ' ' && At() < 0x7f));
    ReportStrayBytes(begin);
  }

  void ReportStrayBytes(size_t begin) {
    if (++stray_runs_ > kMaxStrayRuns) return;
    const std::string_view bytes = text_.substr(begin, at_ - begin);
    constexpr size_t kShown = 12;
    const bool cut = bytes.size() > kShown;
    auto error = diagnostics_.Error(Code::kStrayByte, SpanOf(begin, at_),
                                    "`" + diag::Printable(cut ? bytes.substr(0, kShown) : bytes) +
                                        (cut ? "…" : "") + "` is not part of the language");
    if (bytes.find("\xe2\x80\x9c") != bytes.npos || bytes.find("\xe2\x80\x9d") != bytes.npos) {
      error.Note("typographic quotes; a string stands in plain double quotes");
    } else if (bytes.find("\xc2\xa0") != bytes.npos) {
      error.Note("a blank that must not break a line (U+00A0); use an ordinary one");
    }
  }

  std::string_view text_;
  uint32_t base_;
  diag::Diagnostics& diagnostics_;
  TokenBuffer buffer_;
  size_t at_ = 0;
  size_t depth_ = 0;       // open braces
  size_t stray_runs_ = 0;  // of bytes that fit nothing
  Mode mode_ = Mode::kOutside;
  bool in_definition_ = false;
};

}  // namespace

std::string_view Spelling(TokenKind kind) {
  switch (kind) {
#define MT_TOKEN(name, spelling) \
  case TokenKind::name:          \
    return spelling;
#include "compiler/syntax/token.def"
  }
  return "";
}

TokenBuffer Lex(const diag::SourceMap& sources, diag::Span text, diag::Diagnostics& diagnostics) {
  return Lexer(sources.Text(text), text.begin, diagnostics).Run();
}

std::string Dump(const TokenBuffer& tokens, const diag::SourceMap& sources) {
  std::string out;
  for (const Token& token : tokens.tokens) {
    const diag::Position position = sources.PositionOf(token.span.begin);
    const std::string_view kind = Spelling(token.kind);
    const std::string_view text = sources.Text(token.span);
    out += std::to_string(position.line) + ":" + std::to_string(position.column) + " ";
    out += kind;
    if (!text.empty() && text != kind) out += " " + diag::Printable(text);
    out += "\n";
  }
  return out;
}

}  // namespace memtrace::syntax
