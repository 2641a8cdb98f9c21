#include "compiler/syntax/parser.h"

#include <string>

#include <gtest/gtest.h>

namespace memtrace::syntax {
namespace {

struct Parsed {
  std::string tree;
  std::string errors;
};

Parsed ParseText(std::string text) {
  diag::SourceMap sources;
  diag::Diagnostics diagnostics;
  const diag::Span span = sources.Add("-e", std::move(text));
  const TokenBuffer tokens = Lex(sources, span, diagnostics);
  const Ast ast = Parse(sources, tokens, diagnostics);
  return {Dump(ast), Render(diagnostics, sources, false)};
}

// `tree` in one line: (children in parentheses), which is how the tests below write trees.
std::string OneLine(std::string_view tree) {
  std::string out;
  size_t depth = 0;
  while (!tree.empty()) {
    const size_t end = tree.find('\n');
    const size_t blanks = tree.find_first_not_of(' ');
    const size_t level = blanks / 2;
    if (level > depth) out += "(";
    for (size_t i = level; i < depth; ++i) out += ")";
    if (level <= depth && !out.empty()) out += ", ";
    out += tree.substr(blanks, end - blanks);
    depth = level;
    tree.remove_prefix(end + 1);
  }
  return out + std::string(depth, ')');
}

constexpr std::string_view kClause = "clause(probe \"begin\", block(";

// The statements of `body`, or the errors.
std::string Body(const std::string& body) {
  const Parsed parsed = ParseText("begin { " + body + " }");
  if (!parsed.errors.empty()) return parsed.errors;
  std::string text = OneLine(parsed.tree);
  EXPECT_TRUE(text.starts_with(kClause)) << text;
  text = text.substr(kClause.size());
  return text.substr(0, text.size() - 2);
}

std::string ExprTree(const std::string& expr) {
  const std::string body = Body("$r = " + expr + ";");
  constexpr std::string_view kAssign = "assign =(variable $r, ";
  if (!body.starts_with(kAssign)) return body;
  return body.substr(kAssign.size(), body.size() - kAssign.size() - 1);
}

std::string Top(const std::string& text) {
  const Parsed parsed = ParseText(text);
  return parsed.errors.empty() ? OneLine(parsed.tree) : parsed.errors;
}

// The first line of what is reported.
std::string ErrorOf(const std::string& text) {
  const std::string errors = ParseText(text).errors;
  return errors.substr(0, errors.find('\n'));
}

TEST(Parser, DumpIsAnIndentedTree) {
  EXPECT_EQ(ParseText("k:f /pid == 1/ { @[comm] = count(); }").tree,
            "clause\n"
            "  probe \"k\" \"f\"\n"
            "  predicate\n"
            "    binary ==\n"
            "      name pid\n"
            "      integer 1\n"
            "  block\n"
            "    assign =\n"
            "      map @\n"
            "        name comm\n"
            "      call count\n");
}

TEST(Parser, Probes) {
  EXPECT_EQ(Top("t:a:b*, END {}"), "clause(probe \"t\" \"a\" \"b*\", probe \"END\", block)");
  EXPECT_EQ(Top("k:a | k:b? | k:c {}"),
            "clause(probe \"k\" \"a\"(or \"k\" \"b\" optional, or \"k\" \"c\"), block)");
  EXPECT_EQ(Top("u:/a/b:\"f(int, x::y)\" {}"),
            "clause(probe \"u\" \"/a/b\" \"f(int, x::y)\", block)");
  EXPECT_EQ(Top("interval: {}"), "clause(probe \"interval\" \"\", block)");
  EXPECT_EQ(Top("self:signal:USR1 {}"), "clause(probe \"self\" \"signal\" \"USR1\", block)");
  EXPECT_EQ(Top("BEGIN{}profile:hz:99{}"),
            "clause(probe \"BEGIN\", block), clause(probe \"profile\" \"hz\" \"99\", block)");
}

TEST(Parser, ConfigAndMapDeclarations) {
  EXPECT_EQ(Top("config = { a = 4KiB; b = \"x\"; c = on }"),
            "config a(integer 4096 bytes), config b(string \"x\"), config c(name on)");
  EXPECT_EQ(Top("let @m = hash(100); let @n = lruhash();"),
            "map @m hash(integer 100), map @n lruhash");
}

TEST(Parser, Integers) {
  EXPECT_EQ(ExprTree("1_000"), "integer 1000");
  EXPECT_EQ(ExprTree("0x1F"), "integer 31");
  EXPECT_EQ(ExprTree("0b101"), "integer 5");
  EXPECT_EQ(ExprTree("0755"), "integer 493");
  EXPECT_EQ(ExprTree("0"), "integer 0");
  EXPECT_EQ(ExprTree("2e6"), "integer 2000000");
  EXPECT_EQ(ExprTree("10ULL"), "integer 10");
  EXPECT_EQ(ExprTree("18446744073709551615"), "integer 18446744073709551615");
  EXPECT_EQ(ErrorOf("begin { 18446744073709551616 }"), "error: the number needs more than 64 bits");
  EXPECT_EQ(ErrorOf("begin { 1e20 }"), "error: the number needs more than 64 bits");
  EXPECT_EQ(ErrorOf("begin { 17000000TiB }"), "error: the number needs more than 64 bits");
}

TEST(Parser, UnitsOfLiterals) {
  EXPECT_EQ(ExprTree("7ns"), "integer 7 ns");
  EXPECT_EQ(ExprTree("7us"), "integer 7000 ns");
  EXPECT_EQ(ExprTree("250ms"), "integer 250000000 ns");
  EXPECT_EQ(ExprTree("2s"), "integer 2000000000 ns");
  EXPECT_EQ(ExprTree("1m"), "integer 60000000000 ns");
  EXPECT_EQ(ExprTree("1h"), "integer 3600000000000 ns");
  EXPECT_EQ(ExprTree("1d"), "integer 86400000000000 ns");
  EXPECT_EQ(ExprTree("512B"), "integer 512 bytes");
  EXPECT_EQ(ExprTree("2MiB"), "integer 2097152 bytes");
  EXPECT_EQ(ExprTree("1GiB"), "integer 1073741824 bytes");
  EXPECT_EQ(ExprTree("1TiB"), "integer 1099511627776 bytes");
}

TEST(Parser, Strings) {
  EXPECT_EQ(ExprTree(R"("a\tb\n")"), R"(string "a\tb\n")");
  EXPECT_EQ(ExprTree(R"("\"\\")"), R"(string "\"\\")");
  EXPECT_EQ(ExprTree(R"("\x41\102\x7")"), R"(string "AB\x07")");
}

TEST(Parser, PrecedenceIsThatOfC) {
  EXPECT_EQ(ExprTree("1 + 2 * 3"), "binary +(integer 1, binary *(integer 2, integer 3))");
  EXPECT_EQ(ExprTree("1 - 2 - 3"), "binary -(binary -(integer 1, integer 2), integer 3)");
  EXPECT_EQ(ExprTree("(1 - 2) % 3"), "binary %(binary -(integer 1, integer 2), integer 3)");
  EXPECT_EQ(ExprTree("1 << 2 + 3 < 4"),
            "binary <(binary <<(integer 1, binary +(integer 2, integer 3)), integer 4)");
  EXPECT_EQ(ExprTree("1 & 2 == 3"), "binary &(integer 1, binary ==(integer 2, integer 3))");
  EXPECT_EQ(ExprTree("1 | 2 ^ 3 & 4"),
            "binary |(integer 1, binary ^(integer 2, binary &(integer 3, integer 4)))");
  EXPECT_EQ(ExprTree("1 || 2 && 3"), "binary ||(integer 1, binary &&(integer 2, integer 3))");
  EXPECT_EQ(ExprTree("-$x * !$y"), "binary *(unary -(variable $x), unary !(variable $y))");
  EXPECT_EQ(ExprTree("*$x.a"), "unary *(member .a(variable $x))");
  EXPECT_EQ(ExprTree("~ + & $x"), "unary ~(unary +(unary &(variable $x)))");
}

TEST(Parser, Conditionals) {
  EXPECT_EQ(ExprTree("1 ? 2 : 3 ? 4 : 5"),
            "conditional(integer 1, integer 2, conditional(integer 3, integer 4, integer 5))");
  EXPECT_EQ(ExprTree("a ?: 1"), "conditional ?:(name a, integer 1)");
  EXPECT_EQ(ExprTree("a.x ?? a.y >= 4"),
            "binary >=(binary ?\?(member .x(name a), member .y(name a)), integer 4)");
}

TEST(Parser, RangesAndUnits) {
  EXPECT_EQ(ExprTree("$a && $x in $b .. $b + 4KiB"),
            "binary &&(variable $a, in(variable $x, variable $b, "
            "binary +(variable $b, integer 4096 bytes)))");
  EXPECT_EQ(ExprTree("-$x as pages as bytes + 1"),
            "binary +(as bytes(as pages(unary -(variable $x))), integer 1)");
  EXPECT_EQ(ExprTree("$x / 1 as ns"), "binary /(variable $x, as ns(integer 1))");
  // The same words are names elsewhere.
  EXPECT_EQ(ExprTree("as + args.in"), "binary +(name as, member .in(name args))");
  EXPECT_EQ(ExprTree("len(live) + span"), "binary +(call len(name live), name span)");
}

TEST(Parser, MembersAndIndices) {
  EXPECT_EQ(ExprTree("curtask->mm.x"), "member .x(member ->mm(name curtask))");
  EXPECT_EQ(ExprTree("$t.0.1"), "member .1(member .0(variable $t))");
  EXPECT_EQ(ExprTree("args.struct"), "member .struct(name args)");
  EXPECT_EQ(ExprTree("$x[1][2]"), "index(index(variable $x, integer 1), integer 2)");
  EXPECT_EQ(ExprTree("@m[1, comm][2]"), "index(map @m(integer 1, name comm), integer 2)");
}

TEST(Parser, Casts) {
  EXPECT_EQ(ExprTree("(uint64)-1"), "cast uint64(unary -(integer 1))");
  EXPECT_EQ(ExprTree("(struct task_struct *)x.y"), "cast struct task_struct *(member .y(name x))");
  EXPECT_EQ(ExprTree("(task_struct **)x"), "cast task_struct **(name x)");
  EXPECT_EQ(ExprTree("(int8[4])x"), "cast int8[4](name x)");
  EXPECT_EQ(ExprTree("(int8[])x"), "cast int8[](name x)");
  EXPECT_EQ(ExprTree("(unsigned long long)x"), "cast unsigned long long(name x)");
  EXPECT_EQ(ExprTree("(gfp_t)$x"), "cast gfp_t(variable $x)");
  EXPECT_EQ(ExprTree("(enum e)1 + 2"), "binary +(cast enum e(integer 1), integer 2)");
  // Not casts.
  EXPECT_EQ(ExprTree("(pid) - 1"), "binary -(name pid, integer 1)");
  EXPECT_EQ(ExprTree("(pid) in 1 .. 2"), "in(name pid, integer 1, integer 2)");
  EXPECT_EQ(ExprTree("(a * b)"), "binary *(name a, name b)");
}

TEST(Parser, TuplesAndRecords) {
  EXPECT_EQ(ExprTree("(1)"), "integer 1");
  EXPECT_EQ(ExprTree("(1,)"), "tuple(integer 1)");
  EXPECT_EQ(ExprTree("(1, (2, 3), \"x\")"),
            "tuple(integer 1, tuple(integer 2, integer 3), string \"x\")");
  EXPECT_EQ(ExprTree("(a = 1, b = \"x\")"), "record(a =(integer 1), b =(string \"x\"))");
  EXPECT_EQ(ExprTree("(a == 1, 2)"), "tuple(binary ==(name a, integer 1), integer 2)");
}

TEST(Parser, CallsAndOperators) {
  EXPECT_EQ(ExprTree("f()"), "call f");
  EXPECT_EQ(ExprTree("f(1, g(@x),)"), "call f(integer 1, call g(map @x))");
  EXPECT_EQ(ExprTree("f(@m, top = 10, desc)"), "call f(map @m, top =(integer 10), name desc)");
  EXPECT_EQ(ExprTree("sizeof(struct a)"), "sizeof struct a");
  EXPECT_EQ(ExprTree("sizeof(uint64)"), "sizeof uint64");
  EXPECT_EQ(ExprTree("sizeof($x + 1)"), "sizeof(binary +(variable $x, integer 1))");
  EXPECT_EQ(ExprTree("sizeof(gfp_t)"), "sizeof(name gfp_t)");
  EXPECT_EQ(ExprTree("offsetof(struct a, b.c)"), "offsetof struct a, b.c");
  EXPECT_EQ(ExprTree("$1 + $#"), "binary +(positional 1, positional count)");
  EXPECT_EQ(ExprTree("true != false"), "binary !=(bool true, bool false)");
}

TEST(Parser, Increments) {
  EXPECT_EQ(Body("$x++"), "expression(postfix ++(variable $x))");
  EXPECT_EQ(Body("--@m[1]"), "expression(prefix --(map @m(integer 1)))");
  EXPECT_EQ(ExprTree("@a++ + ++@b"), "binary +(postfix ++(map @a), prefix ++(map @b))");
  EXPECT_EQ(ExprTree("$a - -$b"), "binary -(variable $a, unary -(variable $b))");
}

TEST(Parser, Assignments) {
  const std::pair<const char*, const char*> operators[] = {
      {"=", "="},   {"+=", "+="}, {"-=", "-="}, {"*=", "*="},   {"/=", "/="},  {"%=", "%="},
      {"&=", "&="}, {"|=", "|="}, {"^=", "^="}, {"<<=", "<<="}, {">>=", ">>="}};
  for (const auto& [written, dumped] : operators) {
    EXPECT_EQ(Body("@m[1] " + std::string(written) + " 2;"),
              "assign " + std::string(dumped) + "(map @m(integer 1), integer 2)");
  }
}

TEST(Parser, LetAndReturn) {
  EXPECT_EQ(Body("let $x"), "let $x");
  EXPECT_EQ(Body("let $x = 1; let $y : uint64 = 2"),
            "let $x(integer 1), let $y : uint64(integer 2)");
  EXPECT_EQ(Body("let $s : string[64]; let $p: struct a *"),
            "let $s : string[64], let $p : struct a *");
  EXPECT_EQ(Body("return; return 1"), "return, return(integer 1)");
}

TEST(Parser, Branches) {
  EXPECT_EQ(Body("if (1) { f() } else if ($x) { } else { g() }"),
            "if(integer 1, then(expression(call f)), else(if(variable $x, then, "
            "else(expression(call g)))))");
  EXPECT_EQ(Body("if pid == 1 { }"), "if(binary ==(name pid, integer 1), then)");
  EXPECT_EQ(Body("if (1) + 2 > 3 { }"),
            "if(binary >(binary +(integer 1, integer 2), integer 3), then)");
  EXPECT_EQ(Body("if ((uint64)$x == 1) { }"),
            "if(binary ==(cast uint64(variable $x), integer 1), then)");
  EXPECT_EQ(Body("if (a) && (b) { }"), "if(binary &&(name a, name b), then)");
}

TEST(Parser, Loops) {
  EXPECT_EQ(Body("while ($i < 3) { $i++; break; continue }"),
            "while(binary <(variable $i, integer 3), block(expression(postfix ++(variable $i)), "
            "break, continue))");
  EXPECT_EQ(Body("for ($kv : @m) { }"), "for $kv in map @m(block)");
  EXPECT_EQ(Body("for ($i : 0..$n + 1) { }"),
            "for $i in range(integer 0, binary +(variable $n, integer 1), block)");
  EXPECT_EQ(Body("unroll(3) { } unroll ($1) { }"),
            "unroll(integer 3, block), unroll(positional 1, block)");
}

TEST(Parser, Separators) {
  EXPECT_EQ(Body("f(); ; g()"), "expression(call f), expression(call g)");
  EXPECT_EQ(
      Body("if (1) { } f(); { g() } f();"),
      "if(integer 1, then), expression(call f), block(expression(call g)), expression(call f)");
}

// Recovery: one mistake, one message, and the rest of the program is still seen.

TEST(Parser, GoesOnBehindAMistake) {
  const Parsed parsed = ParseText("k:f { @a = ; @b = 1 }\nk:g { f(); ) ; g() }");
  EXPECT_EQ(
      OneLine(parsed.tree),
      "clause(probe \"k\" \"f\", block(assign =(map @a, error), assign =(map @b, integer 1))), "
      "clause(probe \"k\" \"g\", block(expression(call f), expression(call g)))");
  EXPECT_TRUE(parsed.errors.ends_with("2 errors, nothing attached\n")) << parsed.errors;
}

TEST(Parser, AForgottenBraceIsOneError) {
  const Parsed parsed = ParseText("k:f { if (1) { @a = 1;\n}\nk:g { @b = 1 }\n");
  EXPECT_EQ(OneLine(parsed.tree),
            "clause(probe \"k\" \"f\", block(if(integer 1, then(assign =(map @a, integer 1))))), "
            "clause(probe \"k\" \"g\", block(assign =(map @b, integer 1)))");
  EXPECT_EQ(parsed.errors,
            "error: `{` is not closed\n"
            "  2 | }\n"
            "    |  ^ `}` is missing\n"
            "  1 | k:f { if (1) { @a = 1;\n"
            "    |     ~ opened here\n");
}

TEST(Parser, DepthIsBounded) {
  const auto nested = [](size_t n) {
    return "begin { $x = " + std::string(n, '(') + "1" + std::string(n, ')') + "; }";
  };
  EXPECT_EQ(ErrorOf(nested(150)), "");
  EXPECT_EQ(ErrorOf(nested(10000)), "error: nested more than 200 levels deep");
  std::string sum = "begin { $x = 1", blocks, chain = "begin { if (1) { }", stars = "begin { $x = ";
  for (int i = 0; i < 50000; ++i) sum += "+1";
  for (int i = 0; i < 10000; ++i) {
    blocks += "{ ";
    chain += " else if (1) { }";
    stars += "- ";
  }
  EXPECT_EQ(ErrorOf(sum + " }"), "error: nested more than 200 levels deep");
  EXPECT_EQ(ErrorOf("begin { " + blocks), "error: nested more than 200 levels deep");
  EXPECT_EQ(ErrorOf(chain + " }"), "error: nested more than 200 levels deep");
  EXPECT_EQ(ErrorOf(stars + "1 }"), "error: nested more than 200 levels deep");
}

TEST(Parser, LongIsNotDeep) {
  std::string program = "begin { f(1";
  for (int i = 0; i < 50000; ++i) program += ",1";
  EXPECT_EQ(ErrorOf(program + ") }"), "");
}

}  // namespace
}  // namespace memtrace::syntax
