// SPDX-License-Identifier: Apache-2.0
#include "lib/base/ownership.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/temp_dir.hpp"

namespace muster {
namespace {

namespace fs = std::filesystem;
using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr ::uid_t kNobodyHere = 4'000'000;

class OwnershipTest : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path at(std::string_view name) const { return dir_.path() / name; }

  TempDir dir_;
};

std::string error_of(const Result<void>& result) {
  return result ? "fine" : result.error().message;
}

TEST_F(OwnershipTest, AcceptsOwnAndMissingFiles) {
  dir_.write("own", "");
  EXPECT_TRUE(check_own_folder(dir_.path()));
  EXPECT_TRUE(check_own_folder(at("nothing")));
  EXPECT_TRUE(check_own_file(at("own")));
  EXPECT_TRUE(check_own_file(at("nothing")));
}

TEST_F(OwnershipTest, RefusesAFolderThatOthersMayWrite) {
  fs::permissions(dir_.path(), fs::perms(0777));
  EXPECT_THAT(error_of(check_own_folder(dir_.path())),
              HasSubstr(" may be written by others (mode 0777): chmod go-w "));
  fs::permissions(dir_.path(), fs::perms(01777));
  EXPECT_FALSE(check_own_folder(dir_.path()));
  fs::permissions(dir_.path(), fs::perms(0755));
  EXPECT_TRUE(check_own_folder(dir_.path()));
}

TEST_F(OwnershipTest, RefusesALinkAsAFile) {
  dir_.write("own", "");
  dir_.link("link", at("own").string());
  EXPECT_THAT(error_of(check_own_file(at("link"))), EndsWith("/link is a link: remove it"));
}

TEST_F(OwnershipTest, RefusesFilesOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  dir_.write("folder/theirs", "");
  ASSERT_EQ(::chown(at("folder/theirs").c_str(), kNobodyHere, 0), 0);
  EXPECT_THAT(error_of(check_own_file(at("folder/theirs"))),
              HasSubstr("/theirs belongs to user 4000000: chown 0 "));
  ASSERT_EQ(::chown(at("folder").c_str(), kNobodyHere, 0), 0);
  EXPECT_THAT(error_of(check_own_folder(at("folder"))),
              HasSubstr("/folder belongs to user 4000000"));
}

TEST_F(OwnershipTest, FindsAnotherUsersLinkAnywhereInAPath) {
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

TEST_F(OwnershipTest, SurvivesALoopOfLinks) {
  dir_.link("a", at("b").string());
  dir_.link("b", at("a").string());
  EXPECT_EQ(others_link(at("a")), "");
}

}  // namespace
}  // namespace muster
