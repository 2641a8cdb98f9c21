#include "runtime/bpf/verifier_log.h"

#include <string>

#include <gtest/gtest.h>

namespace memtrace::bpf {
namespace {

TEST(VerifierLog, NamesTheLineThatWasReachedLast) {
  Rejection rejection = ReadVerifierLog(
      "; @a = 1 @ x.mt:2\n0: (b7) r0 = 1\n; @b[1 @ 2] @ x.mt:13\n1: (61) r0 = *(u32 *)(r0 +0)\n"
      "R0 invalid mem access 'scalar'\nprocessed 2 insns (limit 1000000)\n");
  EXPECT_EQ(rejection.line, 13u);
  EXPECT_EQ(rejection.source, "@b[1 @ 2]");
  EXPECT_TRUE(rejection.messages.ends_with("  R0 invalid mem access 'scalar'\n"));
}

TEST(VerifierLog, OlderKernelsGiveOnlyTheText) {
  Rejection rejection = ReadVerifierLog("; @a = \"x @ y\"\n0: (b7) r0 = 1\nR0 !read_ok\n");
  EXPECT_EQ(rejection.line, 0u);
  EXPECT_EQ(rejection.source, "@a = \"x @ y\"");
}

TEST(VerifierLog, KeepsTheEndOfALongLog) {
  std::string log;
  for (int i = 0; i < 100; ++i) log += std::to_string(i) + ": instruction\n";
  Rejection rejection =
      ReadVerifierLog(log + "too many\nverification time 5 usec\nstack depth 0\n");
  EXPECT_TRUE(rejection.messages.starts_with("  89: instruction\n"));
  EXPECT_TRUE(rejection.messages.ends_with("  too many\n"));
}

TEST(VerifierLog, AnEmptyLogGivesNothing) {
  EXPECT_EQ(ReadVerifierLog("").messages, "");
  EXPECT_EQ(ReadVerifierLog("\n\n").messages, "");
}

}  // namespace
}  // namespace memtrace::bpf
