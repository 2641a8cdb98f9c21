#include <string>

#include <gtest/gtest.h>

#include "compiler/syntax/token.h"

namespace memtrace::syntax {
namespace {

// The tokens of `text` without their places, one blank between them; then the errors' messages.
std::string Tokens(std::string text) {
  diag::SourceMap sources;
  diag::Diagnostics diagnostics;
  const diag::Span span = sources.Add("-e", std::move(text));
  std::string out;
  for (const Token& token : Lex(sources, span, diagnostics).tokens) {
    if (token.kind == TokenKind::kEnd) continue;
    const std::string kind(Spelling(token.kind));
    const std::string spelled(sources.Text(token.span));
    out += (out.empty() ? "" : " ") + (kind == spelled ? kind : kind + "<" + spelled + ">");
  }
  for (const diag::Diagnostic& diagnostic : diagnostics.all()) out += " !" + diagnostic.message;
  return out;
}

TEST(Lexer, DumpHasPlacesKindsAndTexts) {
  diag::SourceMap sources;
  diag::Diagnostics diagnostics;
  const diag::Span span = sources.Add("-e", "begin {\n  @x = 1;\n}");
  EXPECT_EQ(Dump(Lex(sources, span, diagnostics), sources),
            "1:1 probe begin\n"
            "1:7 {\n"
            "2:3 map @x\n"
            "2:6 =\n"
            "2:8 integer 1\n"
            "2:9 ;\n"
            "3:1 }\n"
            "3:2 end of the script\n");
}

TEST(Lexer, ProbesAreOneToken) {
  EXPECT_EQ(Tokens("BEGIN{}"), "probe<BEGIN> { }");
  EXPECT_EQ(Tokens("kprobe:a*,\n tracepoint:x:*_y {}"),
            "probe<kprobe:a*> , probe<tracepoint:x:*_y> { }");
  EXPECT_EQ(Tokens("kprobe:a | kprobe:b? {}"), "probe<kprobe:a> | probe<kprobe:b?> { }");
  EXPECT_EQ(Tokens("profile:hz:99{} interval:1s{}"),
            "probe<profile:hz:99> { } probe<interval:1s> { }");
  EXPECT_EQ(Tokens("uprobe:a:\"f(int, {x|y})+1\" {}"), "probe<uprobe:a:\"f(int, {x|y})+1\"> { }");
  EXPECT_EQ(Tokens("kprobe:f+0x10 {}"), "probe<kprobe:f+0x10> { }");
  EXPECT_EQ(Tokens("watchpoint:0x1000:8:rw {}"), "probe<watchpoint:0x1000:8:rw> { }");
}

TEST(Lexer, SlashesBelongToPathsOrPredicates) {
  EXPECT_EQ(Tokens("kprobe:f /x/ {}"),
            "probe<kprobe:f> predicate begin</> name<x> predicate end</> { }");
  EXPECT_EQ(Tokens("kprobe:f/x/{}"),
            "probe<kprobe:f> predicate begin</> name<x> predicate end</> { }");
  EXPECT_EQ(Tokens("uprobe:/bin/sh:main/x/{}"),
            "probe<uprobe:/bin/sh:main> predicate begin</> name<x> predicate end</> { }");
  EXPECT_EQ(Tokens("u:./a/b:main /x/ {}"),
            "probe<u:./a/b:main> predicate begin</> name<x> predicate end</> { }");
  EXPECT_EQ(Tokens("uprobe:/lib/*/x.so:f {}"), "probe<uprobe:/lib/*/x.so:f> { }");
  EXPECT_EQ(Tokens("iter:task:/sys/fs/bpf/x {}"), "probe<iter:task:/sys/fs/bpf/x> { }");
  EXPECT_EQ(
      Tokens("k:f / a / 2 == 1 / // why\n {}"),
      "probe<k:f> predicate begin</> name<a> / integer<2> == integer<1> predicate end</> { }");
  EXPECT_EQ(Tokens("k:f /comm == \"a/{\"/ {}"),
            "probe<k:f> predicate begin</> name<comm> == string<\"a/{\"> predicate end</> { }");
}

TEST(Lexer, CommentsAndTheFirstLineAreSkipped) {
  EXPECT_EQ(Tokens("#!/usr/bin/memtrace -q\n// a\n/* b\n * c */ begin /* d */ { /**/ }"),
            "probe<begin> { }");
  EXPECT_EQ(Tokens("begin { } /* open"),
            "probe<begin> { } !the comment that begins here has no end");
}

TEST(Lexer, DefinitionsAreKnownByTheirShape) {
  EXPECT_EQ(Tokens("config = { a = 1 }"), "name<config> = { name<a> = integer<1> }");
  EXPECT_EQ(Tokens("let @m = hash(1); begin {}"),
            "let map<@m> = name<hash> ( integer<1> ) ; probe<begin> { }");
  EXPECT_EQ(Tokens("#define A \\\n 1\nbegin {}"), "directive<#define A \\\n 1> probe<begin> { }");
  // The same words can be probes.
  EXPECT_EQ(Tokens("span:x {} every {} live, fn {}"),
            "probe<span:x> { } probe<every> { } probe<live> , probe<fn> { }");
}

TEST(Lexer, CodeHasWordsNumbersAndSigns) {
  EXPECT_EQ(Tokens("begin { $x $1 $# @ @a_1 if iff in 4KiB 0x1f 1e6 }"),
            "probe<begin> { variable<$x> positional parameter<$1> $# map<@> map<@a_1> if "
            "name<iff> name<in> integer<4KiB> integer<0x1f> integer<1e6> }");
  EXPECT_EQ(Tokens("begin { <<= << <= < ->- ?? ? .. . ++ += 1..2 }"),
            "probe<begin> { <<= << <= < -> - ?? ? .. . ++ += integer<1> .. integer<2> }");
  EXPECT_EQ(Tokens("begin { $t.0.1 }"), "probe<begin> { variable<$t> . integer<0> . integer<1> }");
  EXPECT_EQ(Tokens(R"(begin { "a\"b" "\\" })"), R"(probe<begin> { string<"a\"b"> string<"\\"> })");
}

TEST(Lexer, AClauseInABodyEndsTheBody) {
  EXPECT_EQ(Tokens("k:f { @x = 1; k:g { } BEGIN { } }"),
            "probe<k:f> { map<@x> = integer<1> ; probe<k:g> { } probe<BEGIN> { } }");
  EXPECT_EQ(Tokens("k:f { $x ? y:z; }"), "probe<k:f> { variable<$x> ? name<y> : name<z> ; }");
}

TEST(Lexer, StrayBytesAreReportedOncePerRun) {
  EXPECT_EQ(Tokens("begin { \x01\xff @ \\ }"),
            "probe<begin> { map<@> } !`\\x01\\xff` is not part of the language "
            "!`\\` is not part of the language");
  EXPECT_EQ(Tokens(std::string("begin { \0 }", 11)), " !a script holds no NUL bytes");
  EXPECT_EQ(Tokens("begin { # old habit }\n }"), "probe<begin> { } !`#` begins nothing here");
}

TEST(Lexer, ForeignOperatorsAreReadAsMeant) {
  EXPECT_EQ(Tokens("begin { a === b }"),
            "probe<begin> { name<a> ==<===> name<b> } !`===` is not an operator");
}

}  // namespace
}  // namespace memtrace::syntax
