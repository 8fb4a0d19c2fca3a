// SPDX-License-Identifier: Apache-2.0
#include "lib/base/files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster {
namespace {

namespace fs = std::filesystem;

fs::perms mode_of(const fs::path& file) { return fs::status(file).permissions(); }

constexpr ::uid_t kNobodyHere = 4'000'000;

class FilesTest : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path at(std::string_view name) const { return dir_.path() / name; }

  TempDir dir_;
};

TEST_F(FilesTest, ReplacesTheContentAndKeepsTheMode) {
  dir_.write("state", "old");
  fs::permissions(at("state"), fs::perms{0640});
  ASSERT_TRUE(replace_file(at("state"), "new", 0666));
  EXPECT_EQ(dir_.read("state"), "new");
  EXPECT_EQ(mode_of(at("state")), fs::perms{0640});
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_.path()), {}), 1) << "nothing is left behind";
}

TEST_F(FilesTest, AppliesTheUmaskToANewFile) {
  const auto before = ::umask(027);
  const auto shared = replace_file(at("shared"), "x", 0666);
  const auto secret = replace_file(at("secret"), "x", 0600);
  ::umask(before);
  ASSERT_TRUE(shared && secret);
  EXPECT_EQ(mode_of(at("shared")), fs::perms{0640});
  EXPECT_EQ(mode_of(at("secret")), fs::perms{0600});
}

std::string error_of(const Result<void>& result) {
  return result ? "fine" : result.error().message;
}

TEST_F(FilesTest, NamesAMissingFolder) {
  EXPECT_THAT(error_of(replace_file(at("none/state"), "x", 0600)),
              HasSubstr("none/state: No such file or directory"));
}

TEST_F(FilesTest, KeepsAFolder) {
  dir_.write("folder/file", "x");
  EXPECT_FALSE(replace_file(at("folder"), "y", 0600));
  EXPECT_EQ(dir_.read("folder/file"), "x");
}

TEST_F(FilesTest, ReplacesTheContentAtTheEnd) {
  dir_.write("report", "old");
  auto replacement = FileReplacement::begin(at("report"), 0666);
  ASSERT_TRUE(replacement && replacement->append("new ") && replacement->append("text"));
  EXPECT_EQ(dir_.read("report"), "old");
  ASSERT_TRUE(replacement->finish());
  EXPECT_EQ(dir_.read("report"), "new text");
}

TEST_F(FilesTest, ChangesNothingUnlessFinished) {
  dir_.write("report", "old");
  {
    auto replacement = FileReplacement::begin(at("report"), 0666);
    ASSERT_TRUE(replacement && replacement->append("new"));
  }
  EXPECT_EQ(dir_.read("report"), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_.path()), {}), 1);
}

TEST_F(FilesTest, WritesDirectlyToADevice) {
  EXPECT_TRUE(replace_file("/dev/null", "x", 0600));
  EXPECT_EQ(error_of(replace_file("/dev/full", "x", 0600)),
            "write /dev/full: No space left on device");
}

TEST_F(FilesTest, AcceptsOwnAndMissingFiles) {
  dir_.write("own", "");
  EXPECT_TRUE(check_own_folder(dir_.path()));
  EXPECT_TRUE(check_own_folder(at("nothing")));
  EXPECT_TRUE(check_own_file(at("own")));
  EXPECT_TRUE(check_own_file(at("nothing")));
}

TEST_F(FilesTest, RefusesAFolderThatOthersMayWrite) {
  fs::permissions(dir_.path(), fs::perms(0777));
  EXPECT_THAT(error_of(check_own_folder(dir_.path())),
              HasSubstr(" is writable by others (mode 0777): chmod go-w "));
  fs::permissions(dir_.path(), fs::perms(01777));
  EXPECT_FALSE(check_own_folder(dir_.path()));
  fs::permissions(dir_.path(), fs::perms(0755));
  EXPECT_TRUE(check_own_folder(dir_.path()));
}

TEST_F(FilesTest, RefusesALinkAsAFile) {
  dir_.link("link", "own");
  EXPECT_THAT(error_of(check_own_file(at("link"))), EndsWith("/link is a link: remove it"));
}

TEST_F(FilesTest, RefusesFilesOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  dir_.write("folder/theirs", "");
  ASSERT_EQ(::chown(at("folder/theirs").c_str(), kNobodyHere, 0), 0);
  EXPECT_THAT(error_of(check_own_file(at("folder/theirs"))),
              HasSubstr("/theirs belongs to user 4000000: chown 0 "));
  ASSERT_EQ(::chown(at("folder").c_str(), kNobodyHere, 0), 0);
  EXPECT_THAT(error_of(check_own_folder(at("folder"))),
              HasSubstr("/folder belongs to user 4000000"));
}

TEST_F(FilesTest, FindsAnotherUsersLinkAnywhereInAPath) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  dir_.write("real/file", "");
  dir_.link("ours", at("theirs").string());
  dir_.link("theirs", at("real").string());
  EXPECT_EQ(others_link(at("ours/file")), "");
  ASSERT_EQ(::lchown(at("theirs").c_str(), kNobodyHere, 0), 0);
  EXPECT_EQ(others_link(at("ours/file")), at("theirs"));
  EXPECT_EQ(others_link(at("ours/not-there-yet")), at("theirs"));
  EXPECT_EQ(others_link(at("real/file")), "");
}

TEST_F(FilesTest, SurvivesALoopOfLinks) {
  dir_.link("a", at("b").string());
  dir_.link("b", at("a").string());
  EXPECT_EQ(others_link(at("a")), "");
}

}  // namespace
}  // namespace muster
