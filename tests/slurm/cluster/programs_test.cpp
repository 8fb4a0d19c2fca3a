// SPDX-License-Identifier: Apache-2.0

#include "slurm/cluster/programs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::slurm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(SlurmConfigTest, ReadsTheOutputOfScontrol) {
  EXPECT_THAT(parse_config("Configuration data as of 2026-11-23T19:00:00\n"
                           "Epilog                  = (null)\n"
                           "Prolog                  = /etc/slurm/prolog\n"
                           "SLURM_VERSION           = 22.05.8\n"),
              ElementsAre(Pair("Epilog", ""), Pair("Prolog", "/etc/slurm/prolog"),
                          Pair("SLURM_VERSION", "22.05.8")));
}

// Since 24.05, Slurm may have several prologs, which it numbers.
TEST(SlurmConfigTest, NumberedEntriesAreOne) {
  EXPECT_THAT(
      parse_config("Epilog[0]               = /e\n"
                   "Prolog[0]               = /etc/slurm/prolog\n"
                   "Prolog[1]               = /opt/prologs/*\n"),
      ElementsAre(Pair("Epilog", "/e"), Pair("Prolog", "/etc/slurm/prolog,/opt/prologs/*")));
}

// The output of scontrol 22.05, without the parts that are ignored.
constexpr std::string_view kBatch = R"(JobId=7 JobName=my job
   UserId=nobody(65534) GroupId=nogroup(65534) MCS_label=N/A
   JobState=RUNNING Reason=Prolog Dependency=(null)
   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0
   NodeList=n[1-2]
   BatchHost=n1
   Command=/home/nobody/Requeue=0 BatchFlag=0
   StdOut=/home/nobody/slurm-7.out
)";

TEST(JobTest, IsReadBeforeAnyTextOfItsUser) {
  EXPECT_EQ(parse_job(kBatch, "7").value(), (Job{.batch = true, .requeue = true}));
}

TEST(JobTest, IsTheRequestedTaskOfAnArray) {
  constexpr std::string_view kArray = R"(JobId=3 ArrayJobId=3 ArrayTaskId=4 JobName=a
   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0
   BatchHost=n1

JobId=38 ArrayJobId=3 ArrayTaskId=2 JobName=a JobName=b Requeue=1
   Requeue=0 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0
   BatchHost=n2
)";
  EXPECT_EQ(parse_job(kArray, "38").value(), (Job{.batch = true, .requeue = false}));
  EXPECT_EQ(parse_job(kArray, "3").value(), (Job{.batch = true, .requeue = true}));
}

TEST(JobTest, IsAnErrorIfScontrolDoesNotShowIt) {
  for (const auto* text : {"", "No jobs in the system\n", "JobId=70 JobName=x\n   BatchFlag=1\n"}) {
    const auto job = parse_job(text, "7");
    ASSERT_FALSE(job) << text;
    EXPECT_THAT(job.error().message, HasSubstr("of job 7"));
  }
}

}  // namespace
}  // namespace muster::slurm
