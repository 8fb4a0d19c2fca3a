// SPDX-License-Identifier: Apache-2.0
#include "slurm/commands/job_output.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/temp_dir.hpp"

namespace muster::app {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class JobOutputTest : public ::testing::Test {
 protected:
  [[nodiscard]] Result<void> tell(const std::string& name, unsigned user) const {
    const std::map<std::string, std::string> variables{
        {"SLURM_JOB_STDOUT", (dir_.path() / name).string()},
        {"SLURM_JOB_ID", "42"},
        {"SLURM_JOB_USER", "alice"},
        {"SLURM_JOB_UID", fmt::format("{}", user)},
        {"SLURM_JOB_GID", fmt::format("{}", ::getegid())}};
    return append_to_job_output(
        variables, "muster: not fit\n", Clock::now() + std::chrono::seconds(20));
  }

  [[nodiscard]] std::string content(const std::string& name) const {
    std::ifstream file(dir_.path() / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TempDir dir_;
};

TEST_F(JobOutputTest, AppendsToTheFileThatSlurmNames) {
  dir_.write("slurm-42-alice.out", "earlier\n");
  ASSERT_TRUE(tell("slurm-%j-%u.out", ::geteuid()));
  EXPECT_EQ(content("slurm-42-alice.out"), "earlier\nmuster: not fit\n");
}

TEST_F(JobOutputTest, LeavesANameAloneThatItCannotKnow) {
  ASSERT_TRUE(tell("%x.out", ::geteuid()));
  ASSERT_TRUE(tell("end%", ::geteuid()));
  EXPECT_TRUE(fs::is_empty(dir_.path()));
}

TEST_F(JobOutputTest, WaitsForNobodyWhoReadsAPipe) {
  ASSERT_EQ(::mkfifo((dir_.path() / "pipe").c_str(), 0600), 0);
  const auto told = tell("pipe", ::geteuid());
  ASSERT_FALSE(told);
  EXPECT_THAT(told.error().message, HasSubstr("No such device or address"));
}

TEST_F(JobOutputTest, WritesNothingThatTheUserMayNot) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root becomes another user";
  constexpr unsigned kNobody = 65534;
  dir_.write("secret", "root's\n");
  fs::permissions(dir_.path(), fs::perms(0755));
  fs::permissions(dir_.path() / "secret", fs::perms(0600));
  dir_.link("link", (dir_.path() / "secret").string());
  const auto told = tell("link", kNobody);
  ASSERT_FALSE(told);
  EXPECT_THAT(told.error().message, HasSubstr("Permission denied"));
  EXPECT_EQ(content("secret"), "root's\n");
}

}  // namespace
}  // namespace muster::app
