// Programs that nobody would write: token soup and mutations of real programs. The parser must not
// crash, hang, or point outside of the source; what it says about them doesn't matter here.
#include <cstdio>
#include <ctime>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "compiler/syntax/parser.h"

namespace memtrace::syntax {
namespace {

constexpr unsigned kSeed = 20240601;
constexpr int kRuns = 20000;

// Of CPU time: one quadratic step takes ten times as long as all of the linear ones.
#ifdef __SANITIZE_ADDRESS__
constexpr std::clock_t kSecondsAllowed = 60;
#else
constexpr std::clock_t kSecondsAllowed = 5;
#endif

constexpr std::string_view kPieces[] = {
#define MT_TOKEN(name, spelling)
#define MT_KEYWORD(name, spelling) spelling,
#define MT_PUNCTUATION(name, spelling) spelling,
#include "compiler/syntax/token.def"
    "{",         "}",         "(",       ")",
    ";",         "/",         "$x",      "@",
    "@m[",       "pid",       "count()", "1",
    "0x",        "4KiB",      "1.5",     "\"s\"",
    "\"",        "'",         "begin",   "kprobe:f",
    "k:a|",      "/* ",       "// \n",   "\n",
    "config =",  "let @m =",  "fn f(",   "macro m",
    "#if\n",     "struct s",  "in",      "as bytes",
    "uint64",    "(int8[4])", "(a = 1",  "u:/bin/x:\"",
    "every 1s",  "$1",        "\xff",    "\\",
    "print(@m,", "else if",   "BEGIN {", "99999999999999999999",
    "??",        "for ($i :", "unroll(", "\t",
};

constexpr std::string_view kPrograms[] = {
    "tracepoint:kmem:mm_page_alloc /args.order >= 4/ { @[comm, args.order] = count(); }",
    "config = { max_map_keys = 4KiB } let @m = lruhash(10); begin { if (1) { f(); } else { g() } }",
    "k:a | k:b?, u:./x/y:\"f(int)\" { for ($kv : @m) { print($kv.0, top = 10); } @x[1] <<= 2 }",
    "i:1s { $x = (uint8)-1 ?: a.b ?? c->d as ns; $y in 1 .. 2; (a = 1, b = (1, 2)); @++ }",
};

std::string Soup(std::mt19937& random) {
  std::string text = random() % 2 == 0 ? "begin { " : "";
  for (size_t i = random() % 40; i > 0; --i) {
    text += kPieces[random() % std::size(kPieces)];
    if (random() % 3 > 0) text += " ";
  }
  return text;
}

std::string Mutation(std::mt19937& random) {
  std::string text(kPrograms[random() % std::size(kPrograms)]);
  for (size_t i = 1 + random() % 4; i > 0; --i) {
    const size_t at = random() % (text.size() + 1);
    switch (random() % 4) {
      case 0:
        text.insert(at, kPieces[random() % std::size(kPieces)]);
        break;
      case 1:
        text.erase(at, 1 + random() % 8);
        break;
      case 2:
        text.insert(at, 1, static_cast<char>(random() % 256));
        break;
      case 3:
        text.insert(at, text.substr(random() % (text.size() + 1), random() % 20));
        break;
    }
  }
  return text;
}

class SpanChecker {
 public:
  explicit SpanChecker(diag::Span file) : file_(file) {}

  void Check(diag::Span span) {
    ok = ok && span.begin <= span.end && span.begin >= file_.begin && span.end <= file_.end;
  }
  void Check(const Clause& clause) {
    Check(clause.span);
    for (const ProbeSpec& probe : clause.probes) Check(probe);
    Check(clause.predicate);
    Check(clause.body);
  }

  bool ok = true;

 private:
  void Check(const ProbeSpec& probe) {
    Check(probe.span);
    for (const ProbePart& part : probe.parts) Check(part.span);
    for (const ProbeSpec& alternative : probe.alternatives) Check(alternative);
  }

  void Check(const Expr* expr) {
    if (expr == nullptr) return;
    Check(expr->span);
    ok = ok && expr->height >= 1 && expr->height <= kMaxDepth;
    if (expr->kind == ExprKind::kBinary) {
      const auto* binary = static_cast<const Binary*>(expr);
      Check(binary->op_span);
      Check(binary->left);
      Check(binary->right);
      ok = ok && binary->left->span.begin >= expr->span.begin &&
           binary->right->span.end <= expr->span.end;
    } else if (expr->kind == ExprKind::kMap) {
      for (const Expr* key : static_cast<const Map*>(expr)->keys) Check(key);
    } else if (expr->kind == ExprKind::kCall) {
      for (const Argument& argument : static_cast<const Call*>(expr)->arguments)
        Check(argument.value);
    }
  }

  void Check(const Stmt* stmt) {
    if (stmt == nullptr) return;
    Check(stmt->span);
    if (stmt->kind == StmtKind::kBlock) {
      for (const Stmt* inner : static_cast<const Block*>(stmt)->statements) Check(inner);
    } else if (stmt->kind == StmtKind::kExpression) {
      Check(static_cast<const ExpressionStmt*>(stmt)->expr);
    } else if (stmt->kind == StmtKind::kAssign) {
      Check(static_cast<const Assign*>(stmt)->target);
      Check(static_cast<const Assign*>(stmt)->value);
    } else if (stmt->kind == StmtKind::kIf) {
      Check(static_cast<const If*>(stmt)->condition);
      Check(static_cast<const If*>(stmt)->then);
      Check(static_cast<const If*>(stmt)->otherwise);
    }
  }

  diag::Span file_;
};

// Whether everything that comes of `text` lies within it.
bool SpansAreValid(const std::string& text) {
  diag::SourceMap sources;
  diag::Diagnostics diagnostics;
  sources.Add("first.mt", "begin { }");  // so that offsets aren't zero-based by accident
  const diag::Span file = sources.Add("-e", text);
  const TokenBuffer tokens = Lex(sources, file, diagnostics);
  SpanChecker checker(file);
  uint32_t end = file.begin;
  for (const Token& token : tokens.tokens) {
    checker.Check(token.span);
    checker.ok = checker.ok && token.span.begin >= end;
    end = token.span.end;
  }
  const Ast ast = Parse(sources, tokens, diagnostics);
  for (const Clause& clause : ast.clauses) checker.Check(clause);
  for (const diag::Diagnostic& diagnostic : diagnostics.all()) {
    checker.Check(diagnostic.span);
    for (const diag::Label& label : diagnostic.labels) checker.Check(label.span);
  }
  return checker.ok &&
         !(Dump(ast) + Dump(tokens, sources) + Render(diagnostics, sources, true)).empty();
}

TEST(SyntaxFuzz, NothingCrashesAndSpansAreValid) {
  std::mt19937 random(kSeed);
  std::printf("seed %u, %d runs\n", kSeed, kRuns);
  for (int i = 0; i < kRuns; ++i) {
    const std::string text = i % 2 == 0 ? Soup(random) : Mutation(random);
    ASSERT_TRUE(SpansAreValid(text)) << "run " << i << ": " << text;
  }
}

TEST(SyntaxFuzz, RandomBytesAreFewClearErrors) {
  std::mt19937 random(kSeed);
  for (int i = 0; i < 100; ++i) {
    std::string text(4096, ' ');
    for (char& c : text) c = static_cast<char>(i % 2 == 0 ? random() % 256 : 1 + random() % 255);
    ASSERT_TRUE(SpansAreValid(text)) << "run " << i;
  }
}

// Inputs that a careless look-ahead would make quadratic: 100 KB each, together far below a second.
TEST(SyntaxFuzz, LongLinesAreFast) {
  const std::clock_t begin = std::clock();
  for (std::string_view piece :
       {"(",      "if (",  "if (;", "(a*",  "@x[",       "f(",   "{", "1+", "a?b:",    "x ",
        "\"a\" ", "k:f /", "/*",    "u:/a", "struct s ", "1.5 ", "!", "'",  "$x = 1 ", "begin {"}) {
    std::string text = "begin { ";
    while (text.size() < 100'000) text += piece;
    ASSERT_TRUE(SpansAreValid(text)) << piece;
    text = text.substr(8);
    ASSERT_TRUE(SpansAreValid(text)) << piece;
  }
  EXPECT_LT((std::clock() - begin) / CLOCKS_PER_SEC, kSecondsAllowed);
}

}  // namespace
}  // namespace memtrace::syntax
