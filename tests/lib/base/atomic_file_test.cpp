// SPDX-License-Identifier: Apache-2.0
#include "lib/base/atomic_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "tests/support/temp_dir.hpp"

namespace muster {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string content_of(const fs::path& file) {
  std::ostringstream content;
  content << std::ifstream(file).rdbuf();
  return content.str();
}

fs::perms mode_of(const fs::path& file) { return fs::status(file).permissions(); }

TEST(ReplaceFileTest, ReplacesTheContentAndKeepsTheMode) {
  const TempDir dir;
  dir.write("state", "old");
  fs::permissions(dir.path() / "state", fs::perms{0640});
  ASSERT_TRUE(replace_file(dir.path() / "state", "new", 0666));
  EXPECT_EQ(content_of(dir.path() / "state"), "new");
  EXPECT_EQ(mode_of(dir.path() / "state"), fs::perms{0640});
  EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), {}), 1) << "nothing is left behind";
}

TEST(ReplaceFileTest, AppliesTheUmaskToANewFile) {
  const TempDir dir;
  const auto before = ::umask(027);
  const auto shared = replace_file(dir.path() / "shared", "x", 0666);
  const auto secret = replace_file(dir.path() / "secret", "x", 0600);
  ::umask(before);
  ASSERT_TRUE(shared && secret);
  EXPECT_EQ(mode_of(dir.path() / "shared"), fs::perms{0640});
  EXPECT_EQ(mode_of(dir.path() / "secret"), fs::perms{0600});
}

TEST(ReplaceFileTest, NamesAMissingFolder) {
  const TempDir dir;
  const auto result = replace_file(dir.path() / "none/state", "x", 0600);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("none/state.*: No such file or directory"));
}

TEST(ReplaceFileTest, KeepsAFileThatCannotBeReplaced) {
  const TempDir dir;
  dir.write("folder/file", "x");
  const auto result = replace_file(dir.path() / "folder", "y", 0600);
  ASSERT_FALSE(result);
  EXPECT_EQ(content_of(dir.path() / "folder/file"), "x");
}

TEST(FileReplacementTest, ReplacesTheContentAtTheEnd) {
  const TempDir dir;
  dir.write("report", "old");
  auto replacement = FileReplacement::begin(dir.path() / "report", 0666);
  ASSERT_TRUE(replacement && replacement->append("new ") && replacement->append("text"));
  EXPECT_EQ(content_of(dir.path() / "report"), "old");
  ASSERT_TRUE(replacement->finish());
  EXPECT_EQ(content_of(dir.path() / "report"), "new text");
}

TEST(FileReplacementTest, ChangesNothingUnlessFinished) {
  const TempDir dir;
  dir.write("report", "old");
  {
    auto replacement = FileReplacement::begin(dir.path() / "report", 0666);
    ASSERT_TRUE(replacement && replacement->append("new"));
  }
  EXPECT_EQ(content_of(dir.path() / "report"), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), {}), 1);
}

TEST(ReplaceFileTest, WritesDirectlyToADevice) {
  EXPECT_TRUE(replace_file("/dev/null", "x", 0600));
  const auto full = replace_file("/dev/full", "x", 0600);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().message, "write /dev/full: No space left on device");
}

}  // namespace
}  // namespace muster
