// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "slurm/tell/tell.hpp"
#include "tests/slurm/commands/fake_slurm.hpp"

namespace muster::app {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class TellUserTest : public SlurmTest {
 protected:
  // scontrol shows job 42 with these flags, and records any other request.
  void job(std::string_view flags) const {
    slurm_.program(
        "scontrol",
        fmt::format("case $1 in show) echo 'JobId=42 JobName=x'; echo '  {} BatchHost=n7' "
                    ";; *) printf '[%s]' \"$@\" >\"$D/told\" ;; esac",
                    flags));
  }

  std::string tell(bool starts = false) const {
    slurm::Rules rules;
    rules.programs = dir_.path("bin");
    const auto told = tell_user({.node = "n7", .what = "sick", .starts = starts}, rules,
                                {{"SLURM_CONF", dir_.path("slurm.conf")}, {"SLURM_JOB_ID", "42"}},
                                Clock::now() + std::chrono::seconds(60));
    EXPECT_TRUE(told) << told.error().message;
    return content("told");
  }
};

TEST_F(TellUserTest, ABatchJobGetsAComment) {
  job("Requeue=1 BatchFlag=1");
  EXPECT_EQ(tell(),
            "[update][jobid=42][admincomment=muster: node n7 is not fit for this job: sick; the "
            "job goes back into the queue]");
  job("Requeue=0 BatchFlag=1");
  EXPECT_THAT(tell(), HasSubstr("; the job ends here, because it may not be requeued"));
  EXPECT_THAT(tell(true), HasSubstr("; the node stays in service, and the job starts on it"));
}

// The user can forge the line of scontrol, but not that of squeue.
TEST_F(TellUserTest, KeepsTheTextOfTheSiteInTheComment) {
  job("Requeue=1 BatchFlag=1\n   AdminComment=forged");
  const auto told_with = [&](std::string_view comment) {
    slurm_.program("squeue", fmt::format("printf '41|other|muster|\\n42|{}|muster|\\n'", comment));
    return tell();
  };
  for (const auto* const site :
       {"site: project X", "site: project X; muster: node n3 is not fit"}) {
    EXPECT_THAT(
        told_with(site),
        StartsWith(
            "[update][jobid=42][admincomment=site: project X; muster: node n7 is not fit for "));
  }
  for (const auto* const own : {"", "muster: node n3 is not fit"}) {
    EXPECT_THAT(told_with(own), StartsWith("[update][jobid=42][admincomment=muster: node n7 is "));
  }
  job("Requeue=1 BatchFlag=1\n   AdminComment=muster: node n3 is not fit");
  EXPECT_THAT(tell(), StartsWith("[update][jobid=42][admincomment=muster: node n7 is not fit"));
}

TEST_F(TellUserTest, SrunAndSallocAreNotified) {
  job("Requeue=1 BatchFlag=0");
  EXPECT_EQ(tell(),
            "[notify][42][muster: node n7 is not fit for this job: sick; the job ends here: start "
            "it again]");
}

}  // namespace
}  // namespace muster::app
