// SPDX-License-Identifier: Apache-2.0
#include "slurm/commands/tell_user.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "tests/slurm/commands/fake_slurm.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::app {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class TellUserTest : public ::testing::Test {
 protected:
  // scontrol says this of job 42, and writes down what it is told otherwise.
  void job(std::string_view flags) const {
    slurm_.program(
        "scontrol",
        fmt::format("case $1 in show) echo 'JobId=42 JobName=x'; echo '  {} BatchHost=n7' "
                    ";; *) printf '[%s]' \"$@\" >\"$D/told\" ;; esac",
                    flags));
  }

  std::string tell(bool starts = false) const {
    slurm::Rules rules;
    rules.programs = (dir_.path() / "bin").string();
    const auto told = tell_user({.node = "n7", .what = "sick", .starts = starts}, rules,
                                {{"SLURM_CONF", (dir_.path() / "slurm.conf").string()},
                                 {"SLURM_JOB_ID", "42"},
                                 {"SLURM_JOB_UID", fmt::format("{}", ::geteuid())},
                                 {"SLURM_JOB_GID", fmt::format("{}", ::getegid())},
                                 {"SLURM_JOB_WORK_DIR", dir_.path().string()}},
                                Clock::now() + std::chrono::seconds(60));
    EXPECT_TRUE(told) << told.error().message;
    return content("slurm-42.out");
  }

  [[nodiscard]] std::string content(const std::string& name) const {
    std::ifstream file(dir_.path() / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TempDir dir_;
  FakeSlurm slurm_{dir_};
};

TEST_F(TellUserTest, SaysWhatBecomesOfABatchJobInItsDefaultOutput) {
  job("Requeue=1 BatchFlag=1");
  EXPECT_THAT(tell(), AllOf(StartsWith("muster: node n7 is not fit for this job: sick; "),
                            EndsWith("; the job goes back into the queue\n")));
}

TEST_F(TellUserTest, AJobThatMayNotBeRequeuedEnds) {
  job("Requeue=0 BatchFlag=1");
  EXPECT_THAT(tell(),
              EndsWith("; the job ends here, since it may not be requeued (sbatch --requeue)\n"));
}

TEST_F(TellUserTest, AJobThatStartsAllTheSameIsToldSo) {
  job("Requeue=0 BatchFlag=1");
  EXPECT_THAT(tell(true), EndsWith("; the node stays in service all the same\n"));
}

TEST_F(TellUserTest, SrunAndSallocHearItThemselves) {
  job("Requeue=1 BatchFlag=0");
  EXPECT_EQ(tell(), "");
  EXPECT_EQ(content("told"),
            "[notify][42][muster: node n7 is not fit for this job: sick; the job ends here: start "
            "it again]");
}

// Whether it is a batch job cannot be told, so that no file is made; one that is there is its own.
TEST_F(TellUserTest, PromisesNothingWhereSlurmDoesNotSay) {
  slurm_.program("scontrol", "exit 1");
  EXPECT_EQ(tell(), "");
  dir_.write("slurm-42.out", "");
  EXPECT_THAT(tell(), HasSubstr("; it starts again elsewhere where requeueing is allowed (sbatch "
                                "--requeue), else it ends\n"));
}

}  // namespace
}  // namespace muster::app
