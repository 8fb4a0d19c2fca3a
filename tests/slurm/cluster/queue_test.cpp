// SPDX-License-Identifier: Apache-2.0
// squeue and sbatch are scripts here that record their arguments.
#include "slurm/cluster/queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/slurm/fake_programs.hpp"

namespace muster::slurm {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): literals only
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class QueueTest : public ::testing::Test, protected FakePrograms {
 protected:
  QueueTest() {
    for (const auto* name : {"scontrol", "sinfo"}) script(name, ":");
    script("sbatch", "echo '4711;cluster'");
    script("squeue", "");
  }

  [[nodiscard]] std::unique_ptr<Queue> queue(Clock::duration deadline = 20s) const {
    auto made = make_queue(installation(rules()), limits(deadline));
    EXPECT_TRUE(made) << made.error().message;
    return *std::move(made);
  }
};

TEST_F(QueueTest, AsksForItsOwnJobsByName) {
  script("squeue", "echo '12|RUNNING|N/A|pair-1'; echo '13|DEADLINE|1795335578|pair-2|and more'");
  const auto jobs = queue()->jobs({"muster-sweep-locate", "muster-sweep-node"});
  ASSERT_TRUE(jobs) << jobs.error().message;
  EXPECT_THAT(*jobs, ElementsAre(QueuedJob{"12", "RUNNING", std::nullopt, "pair-1"},
                                 QueuedJob{"13", "DEADLINE", Time(1795335578s), "pair-2"}));
  EXPECT_EQ(read("calls"),
            fmt::format("[squeue][--local][-h][--states=all][--user={}]"
                        "[--name=muster-sweep-locate,muster-sweep-node][-o][%A|%T|%e|%k]\n",
                        ::geteuid()));
}

TEST_F(QueueTest, InvalidOutputIsAnError) {
  EXPECT_EQ(parse_squeue("")->size(), 0);
  for (const auto* text :
       {"12|RUNNING|N/A", "slurm_load_jobs error", "|RUNNING|N/A|x", "-1|A|B|c"}) {
    EXPECT_THAT(parse_squeue(text).error().message, HasSubstr("invalid line")) << text;
  }
  script("squeue", "echo 'Unable to contact slurm controller' >&2; exit 1");
  EXPECT_EQ(queue()->jobs({"x"}).error().message,
            "squeue ended with status 1: Unable to contact slurm controller");
}

TEST_F(QueueTest, KnowsWhichJobsAreOver) {
  for (const auto* state : {"COMPLETED", "CANCELLED", "DEADLINE", "TIMEOUT", "NODE_FAIL"}) {
    EXPECT_TRUE(is_over({.state = state})) << state;
  }
  for (const auto* state : {"PENDING", "RUNNING", "COMPLETING", "REQUEUED", "A_NEW_WORD", ""}) {
    EXPECT_FALSE(is_over({.state = state})) << state;
  }
}

TEST_F(QueueTest, ARefusalComesFromSlurmctld) {
  for (const auto* message :
       {"sbatch ended with status 1: Batch job submission failed: Invalid account",
        "sbatch ended with status 1: no output"}) {
    EXPECT_TRUE(is_refusal({.message = message})) << message;
  }
  for (const auto* message :
       {"sbatch ended with status 1: Batch job submission failed: Socket timed out on send/recv "
        "operation",
        "sbatch ended with status 1: Unable to contact slurm controller (connect failure)",
        "sbatch ended with status 1: Zero Bytes were transmitted or received",
        "sbatch ended with status 137: no output", "sbatch did not answer within 12 s"}) {
    EXPECT_FALSE(is_refusal({.message = message})) << message;
  }
}

TEST_F(QueueTest, SubmitsAJobAndReadsItsNumber) {
  EXPECT_EQ(queue()->submit({"--parsable", "a b", "$(x)"}, {{"MUSTER_BENCH", "/opt/bench"}}),
            "4711");
  EXPECT_EQ(read("calls"), "[sbatch][--parsable][a b][$(x)]\n");
  EXPECT_EQ(read("environment"),
            fmt::format("LANG=C\nMUSTER_BENCH=/opt/bench\nPATH={0}:/usr/sbin:/usr/bin:/sbin:/bin\n"
                        "SLURM_CONF={0}/slurm.conf\n",
                        dir.path().string()));
}

TEST_F(QueueTest, TheJobGetsTheSitesPathButNotItsSlurmConf) {
  ASSERT_TRUE(queue()->submit({}, {{"PATH", "/opt/bin"}, {"SLURM_CONF", "/nowhere"}}));
  EXPECT_THAT(read("environment"), AllOf(HasSubstr("PATH=/opt/bin\n"), Not(HasSubstr("/nowhere"))));
}

TEST_F(QueueTest, AnAnswerWithoutANumberIsAnError) {
  for (const auto* answer : {"echo sbatch: 4711", "echo", "echo 47x", "echo -1"}) {
    script("sbatch", answer);
    EXPECT_THAT(queue()->submit({}, {}).error().message, HasSubstr("unexpected output"));
  }
  script("sbatch", "echo 'sbatch: error: Invalid partition' >&2; exit 1");
  EXPECT_EQ(queue()->submit({}, {}).error().message,
            "sbatch ended with status 1: sbatch: error: Invalid partition");
  script("sbatch", "exec sleep 60");
  EXPECT_EQ(queue(200ms)->submit({}, {}).error().message, "sbatch did not answer within 0.2 s");
}

TEST_F(QueueTest, NamesAMissingProgram) {
  dir.remove("squeue");
  const auto made = make_queue(installation(rules()), limits());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message,
            fmt::format("no squeue next to {}/sinfo; slurm.programs in muster.yaml names other "
                        "folders",
                        dir.path().string()));
}

}  // namespace
}  // namespace muster::slurm
