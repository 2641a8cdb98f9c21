// printf and errorf: the format is read here, once, and checked against the arguments.
#include <optional>

#include <fmt/format.h>

#include "compiler/builtins/rows/rows.h"

namespace memtrace::sema {

using diag::Code;
using types::Kind;

namespace {

constexpr std::string_view kConversions = "diuxXopsc";
// All are computed before the record is reserved and wait on the BPF stack of 512 bytes.
constexpr uint32_t kMaxArguments = 40;
constexpr int32_t kMaxWidth = 4096;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Reads one format into pieces. The arguments are numbered in the order of their conversions.
class FormatReader {
 public:
  FormatReader(Checker& checker, Span span, std::string_view text)
      : checker_(checker), span_(span), text_(text) {}

  bool Read() {
    while (at_ < text_.size()) {
      size_t percent = text_.find('%', at_);
      literal_ += text_.substr(at_, percent - at_);
      if (percent == std::string_view::npos) break;
      at_ = percent + 1;
      if (Take('%')) {
        literal_ += '%';
      } else if (!ReadConversion()) {
        return false;
      }
    }
    EndLiteral();
    return true;
  }

  std::vector<plan::FormatPiece> pieces;
  uint32_t argument_count = 0;

 private:
  bool Take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void EndLiteral() {
    if (literal_.empty()) return;
    pieces.push_back({.text = std::move(literal_)});
    literal_.clear();
  }

  void ReadFlags(plan::FormatPiece& piece) {
    while (true) {
      if (Take('-')) {
        piece.left = true;
      } else if (Take('0')) {
        piece.zero = true;
      } else if (Take('+')) {
        piece.plus = true;
      } else if (Take(' ')) {
        piece.space = true;
      } else if (Take('#')) {
        piece.alternate = true;
      } else if (!Take('\'')) {
        return;
      }
    }
  }

  int32_t ReadNumber() {
    int32_t number = 0;
    while (at_ < text_.size() && IsDigit(text_[at_])) {
      if (number <= kMaxWidth) number = number * 10 + (text_[at_] - '0');
      ++at_;
    }
    return number;
  }

  bool ReadConversion() {
    size_t begin = at_ - 1;
    EndLiteral();
    plan::FormatPiece piece;
    ReadFlags(piece);
    if (Take('*')) {
      piece.width_argument = argument_count++;
    } else if (at_ < text_.size() && IsDigit(text_[at_])) {
      piece.width = ReadNumber();
    }
    if (Take('.')) piece.precision = ReadNumber();
    if (piece.width > kMaxWidth || piece.precision > kMaxWidth) {
      checker_.Error(Code::kBadFormatString, span_,
                     fmt::format("a width is at most {}", kMaxWidth));
      return false;
    }
    while (at_ < text_.size() &&
           std::string_view("hljztL").find(text_[at_]) != std::string_view::npos) {
      ++at_;
    }
    if (at_ >= text_.size()) {
      checker_.Error(Code::kBadFormatString, span_, "the format ends within a conversion")
          .Note("a percent sign is written %%");
      return false;
    }
    char conversion = text_[at_++];
    if (kConversions.find(conversion) == std::string_view::npos) {
      checker_
          .Error(Code::kBadFormatString, span_,
                 fmt::format("no conversion `{}`", text_.substr(begin, at_ - begin)))
          .Note("there are %d %u %x %X %o %p %c %s; a percent sign is written %%");
      return false;
    }
    piece.conversion = conversion == 'i' ? 'd' : conversion;
    piece.argument = argument_count++;
    pieces.push_back(std::move(piece));
    return true;
  }

  Checker& checker_;
  Span span_;  // of the format
  std::string_view text_;
  size_t at_ = 0;
  std::string literal_;
};

bool FitsString(types::Type type) {
  return type.IsScalar() || type.Is(Kind::kString) || type.IsTuple() || type.IsStack() ||
         type.Is(Kind::kUserSymbol) || type.Is(Kind::kBuffer);
}

bool Fits(char conversion, types::Type type) {
  if (conversion == 's') return FitsString(type);
  bool is_number = type.IsInteger() || type.IsPointer();
  if (conversion == 'c') return type.IsInteger();
  if (conversion == 'p') return is_number || type.Is(Kind::kKernelSymbol);
  return is_number || type.Is(Kind::kTimestamp) || type.Is(Kind::kUserName) ||
         type.Is(Kind::kKernelSymbol);
}

// `char *`: %s would print the address, and nobody means that.
bool PointsToCharacters(types::Type type) {
  return type.IsPointer() && (type->target.Is(Kind::kString) ||
                              (type->target.Is(Kind::kInt) && type->target->size == 1));
}

void ReportMisfit(Checker& checker, Span span, char conversion, types::Type type) {
  std::string_view kind = conversion == 's'   ? "text"
                          : conversion == 'c' ? "a character"
                          : conversion == 'p' ? "an address"
                                              : "a number";
  auto builder =
      checker.Error(Code::kFormatMismatch, span,
                    fmt::format("%{} prints {}, this is {}", conversion, kind, type.Name()));
  if (conversion != 's' && FitsString(type)) {
    builder.Note("%s prints it");
  } else {
    builder.Note("print its fields or elements");
  }
}

// Converts the argument for `piece`; null after an error.
Expr* CheckConverted(Checker& checker, const syntax::Expr& argument, char conversion) {
  Expr* value = checker.CheckValue(argument);
  if (value->type.IsError()) return nullptr;
  if (value->type.IsStruct()) {
    if (Expr* integer = checker.AsInteger(value)) value = integer;
  }
  if (conversion == 's' && PointsToCharacters(value->type)) {
    checker
        .Error(Code::kFormatMismatch, argument.span,
               fmt::format("%s prints text, this is {}", value->type.Name()))
        .Note("str(…) reads the string it points to; %p prints the address");
    return nullptr;
  }
  if (Fits(conversion, value->type)) return value;
  ReportMisfit(checker, argument.span, conversion, value->type);
  return nullptr;
}

bool CheckArguments(Checker& checker, const FormatReader& format,
                    const std::vector<const syntax::Expr*>& arguments, Call& node,
                    ActionSite& site) {
  bool fine = true;
  std::vector<char> conversions(format.argument_count, 'd');  // a width is a number
  for (const plan::FormatPiece& piece : format.pieces) {
    if (piece.argument != plan::kNoIndex) conversions[piece.argument] = piece.conversion;
  }
  for (size_t i = 0; i < conversions.size(); ++i) {
    Expr* value = CheckConverted(checker, *arguments[i + 1], conversions[i]);
    fine = fine && value != nullptr;
    if (value == nullptr) continue;
    node.arguments.push_back(value);
    site.arguments.push_back(value->type);
  }
  return fine;
}

Expr* CheckFormatted(Checker& checker, const Row& row, const CallSyntax& call,
                     plan::ActionKind kind) {
  if (!checker.CheckCount(call, row, 1, SIZE_MAX)) return checker.ErrorExpr(call.span);
  auto arguments = Checker::Positional(call);
  std::string_view name = Spelling(row.function);
  const std::string* text =
      checker.CheckLiteral(*arguments[0], fmt::format("the format of {}()", name));
  if (text == nullptr) return checker.ErrorExpr(call.span);
  FormatReader format(checker, arguments[0]->span, *text);
  if (!format.Read()) return checker.ErrorExpr(call.span);
  if (format.argument_count != arguments.size() - 1) {
    size_t given = arguments.size() - 1;
    checker.Error(Code::kFormatCount, call.span,
                  fmt::format("the format has {} conversion{}, and there {} {} argument{}",
                              format.argument_count, format.argument_count == 1 ? "" : "s",
                              given == 1 ? "is" : "are", given, given == 1 ? "" : "s"));
    return checker.ErrorExpr(call.span);
  }
  if (format.argument_count > kMaxArguments) {
    checker.Error(
        Code::kOutOfRange, call.span,
        fmt::format("{}() takes {} arguments after its format at most", name, kMaxArguments));
    return checker.ErrorExpr(call.span);
  }
  Call* node = checker.NewCall(row, call, checker.types().None());
  ActionSite site{.kind = kind, .span = call.span, .format = *text};
  if (!CheckArguments(checker, format, arguments, *node, site)) return checker.ErrorExpr(call.span);
  site.pieces = std::move(format.pieces);
  node->action = checker.AddAction(std::move(site));
  return node;
}

Expr* CheckPrintf(Checker& checker, const Row& row, const CallSyntax& call) {
  return CheckFormatted(checker, row, call, plan::ActionKind::kPrintf);
}

Expr* CheckErrorf(Checker& checker, const Row& row, const CallSyntax& call) {
  return CheckFormatted(checker, row, call, plan::ActionKind::kErrorf);
}

}  // namespace

constinit const Row kPrintfRow = {
    Function::kPrintf,
    RowKind::kFunction,
    "printf(string format, …)",
    "Prints as printf(3) does: %d %u %x %X %o %p %c %s. %s prints everything in its own way, a "
    "number "
    "with a unit scaled.",
    "tracepoint:kmem:mm_page_alloc { printf(\"%s %d\\n\", comm, args.order); }",
    CheckPrintf};
constinit const Row kErrorfRow = {Function::kErrorf,
                                  RowKind::kFunction,
                                  "errorf(string format, …)",
                                  "The same, to standard error, with the line of the script.",
                                  "end { errorf(\"done after %d s\\n\", elapsed / 1000000000); }",
                                  CheckErrorf};

}  // namespace memtrace::sema
