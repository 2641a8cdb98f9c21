// Mounts of cgroups in the text of mountinfo, and the ids of directories.
#include "compiler/kernel/cgroups.h"

#include <filesystem>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace memtrace::kernel {
namespace {

TEST(CgroupMounts, MemoryIsOfTheUnifiedHierarchyWithoutVersionOne) {
  CgroupMounts mounts = ParseCgroupMounts(
      "24 30 0:22 / /proc rw,nosuid - proc proc rw\n"
      "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
  EXPECT_EQ(mounts.unified, "/sys/fs/cgroup");
  EXPECT_EQ(mounts.memory, "/sys/fs/cgroup");
}

TEST(CgroupMounts, MemoryOfVersionOneHasAHierarchyOfItsOwn) {
  CgroupMounts mounts = ParseCgroupMounts(
      "30 24 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
      "31 24 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
      "32 24 0:28 / /sys/fs/cgroup/uni\\040fied rw - cgroup2 cgroup2 rw\n"
      "33 24 0:28 / /mnt/again rw - cgroup2 cgroup2 rw\n");
  EXPECT_EQ(mounts.memory, "/sys/fs/cgroup/memory");
  EXPECT_EQ(mounts.unified, "/sys/fs/cgroup/uni fied");
}

TEST(CgroupMounts, LinesThatAreCutShortAreNoMounts) {
  CgroupMounts mounts = ParseCgroupMounts("30 24 0:26 / /a\n - cgroup2\n\n31 - cgroup");
  EXPECT_EQ(mounts.memory, "");
}

class CgroupPaths : public testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::temp_directory_path() / ("cgroups." + std::to_string(::getpid()));
    std::filesystem::create_directories(root_ / "memory/pods/web");
    std::filesystem::create_directories(root_ / "unified/pods/web");
    std::filesystem::create_directories(root_ / "unified/user");
    mounts_ = {.unified = root_ / "unified", .memory = root_ / "memory"};
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  uint64_t NumberOf(const std::string& path) const {
    struct stat status = {};
    EXPECT_EQ(::stat((root_ / path).c_str(), &status), 0);
    return status.st_ino;
  }
  std::filesystem::path root_;
  CgroupMounts mounts_;
};

TEST_F(CgroupPaths, MemoryComesFirst) {
  Result<FoundCgroup> found = FindCgroup(mounts_, "/pods/web");
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found.value().is_unified);
  EXPECT_EQ(found.value().id, NumberOf("memory/pods/web"));
}

TEST_F(CgroupPaths, WhatOnlyTheUnifiedHierarchyHasIsFoundThere) {
  Result<FoundCgroup> found = FindCgroup(mounts_, "user");
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found.value().is_unified);
  EXPECT_EQ(found.value().id, NumberOf("unified/user"));
}

TEST_F(CgroupPaths, APathOfTheFileSystemSaysWhichHierarchy) {
  Result<FoundCgroup> found = FindCgroup(mounts_, root_ / "unified/pods/web/");
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found.value().is_unified);
  EXPECT_EQ(found.value().id, NumberOf("unified/pods/web"));
}

TEST_F(CgroupPaths, SaysWhereItLooked) {
  Result<FoundCgroup> found = FindCgroup(mounts_, "/no/such");
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().message(),
            "no cgroup /no/such below " + mounts_.memory + " or " + mounts_.unified);
}

}  // namespace
}  // namespace memtrace::kernel
