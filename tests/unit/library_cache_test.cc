#include "compiler/user/library_cache.h"

#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "compiler/user/locate.h"

namespace memtrace::user {
namespace {

struct Entry {
  uint32_t flags;
  std::string name, path;
  uint64_t hwcap = 0;
};

template <typename T>
void Append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// A cache file as ldconfig writes it.
std::string Cache(const std::vector<Entry>& entries) {
  std::string bytes = "glibc-ld.so.cache1.1";
  std::string strings;
  uint32_t strings_at = static_cast<uint32_t>(48 + 24 * entries.size());
  Append(bytes, static_cast<uint32_t>(entries.size()));
  bytes.append(24, '\0');  // length of the strings, flags, extensions, unused
  for (const Entry& entry : entries) {
    Append(bytes, entry.flags);
    Append(bytes, static_cast<uint32_t>(strings_at + strings.size()));
    strings += entry.name + '\0';
    Append(bytes, static_cast<uint32_t>(strings_at + strings.size()));
    strings += entry.path + '\0';
    Append(bytes, uint32_t{0});
    Append(bytes, entry.hwcap);
  }
  return bytes + strings;
}

const std::vector<Entry> kEntries = {
    {0x0303, "libc.so.6", "/lib/hwcaps/libc.so.6", 1}, {0x0003, "libc.so.6", "/lib32/libc.so.6"},
    {0x0303, "libc.so.6", "/lib64/libc.so.6"},         {0x0a03, "libc.so.6", "/arm/libc.so.6"},
    {0x0303, "libz.so.1", "/lib64/libz.so.1"},
};

std::string Paths(std::string_view bytes, std::string_view architecture) {
  auto libraries = ParseLibraryCache(bytes, architecture);
  if (!libraries.ok()) return libraries.error().message();
  std::string text;
  for (const CachedLibrary& library : libraries.value()) text += library.path + " ";
  return text;
}

TEST(LibraryCache, GivesTheLibrariesOfOneArchitecture) {
  EXPECT_EQ(Paths(Cache(kEntries), "x86_64"),
            "/lib64/libc.so.6 /lib64/libz.so.1 /lib/hwcaps/libc.so.6 ");
  EXPECT_EQ(Paths(Cache(kEntries), "aarch64"), "/arm/libc.so.6 ");
}

TEST(LibraryCache, MayStandBehindTheOldTable) {
  EXPECT_EQ(Paths("ld.so-1.7.0" + std::string(37, '\0') + Cache(kEntries), "aarch64"),
            "/arm/libc.so.6 ");
}

TEST(LibraryCache, SurvivesDamage) {
  std::string whole = Cache(kEntries);
  for (size_t size = 0; size < whole.size(); ++size) Paths(whole.substr(0, size), "x86_64");
  EXPECT_EQ(Paths("", "x86_64"), "the cache of the loader has an unknown format");
  EXPECT_EQ(Paths(whole.substr(0, 100), "x86_64"), "the cache of the loader is cut off");
}

TEST(Locate, FindsLibrariesAndProgramsOfThisMachine) {
  auto view = ViewOf(0);
  ASSERT_TRUE(view.ok());
  for (const char* name : {"libc", "libc.so.6"}) {
    auto path = Locate(view.value(), name);
    ASSERT_TRUE(path.ok()) << path.error().message();
    EXPECT_TRUE(path.value().ends_with("/libc.so.6")) << path.value();
  }
  auto shell = Locate(view.value(), "sh");
  ASSERT_TRUE(shell.ok()) << shell.error().message();
  EXPECT_TRUE(shell.value().ends_with("/sh"));
}

TEST(Locate, SaysWhereItLooked) {
  auto view = ViewOf(0);
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(Locate(view.value(), "libnothing").error().message(),
            "no library libnothing: neither in the loader's cache nor in its folders");
  EXPECT_EQ(Locate(view.value(), "no-such-program").error().message(),
            "no program no-such-program in PATH");
  EXPECT_EQ(Locate(view.value(), "./nothing").error().message(),
            "./nothing: No such file or directory");
  EXPECT_EQ(Locate(view.value(), "/tmp").error().message(), "/tmp is not a file");
}

TEST(Locate, TakesWhatTheProcessHasMapped) {
  View view{.root = "/somewhere",
            .maps =
                "1000-2000 r-xp 00000000 08:01 12 /usr/lib/libc-2.31.so\n"
                "2000-3000 r--p 00001000 08:01 12 /usr/lib/libdata.so\n"
                "3000-4000 r-xp 00000000 08:01 13 /usr/lib/libold.so (deleted)\n",
            .path = "",
            .architecture = "x86_64"};
  EXPECT_EQ(MappedFiles(view), std::vector<std::string>{"/somewhere/usr/lib/libc-2.31.so"});
  auto path = Locate(view, "libc");
  ASSERT_TRUE(path.ok());
  EXPECT_EQ(path.value(), "/somewhere/usr/lib/libc-2.31.so");
}

}  // namespace
}  // namespace memtrace::user
