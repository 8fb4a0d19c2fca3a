// SPDX-License-Identifier: Apache-2.0
// Runs that cannot work are refused at once, with the exit status of the kind of mistake.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/bench/job.hpp"

namespace muster::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Ended ended(const Words& words, const Variables& variables = {}) {
  Job job;
  auto end = job.end_of(job.start(muster_bench(words), variables));
  EXPECT_EQ(end.out, "");
  return end;
}

TEST(RefusalTest, BadUsageIs64) {
  for (const auto& words :
       {Words{}, Words{"all_reducer"}, Words{"all_reduce", "--no-such-option"},
        Words{"all_reduce", "--sizes=8", "--max=16"}, Words{"all_reduce", "--at=8GiB"},
        Words{"all_reduce", "--rank=0", "--world=2"},
        Words{"all_gather", "--local=2", "--sizes=8", "--backend=tcp"},
        Words{"broadcast", "--root=1", "--backend=tcp", "--profile=generic"}}) {
    const auto end = ended(words);
    EXPECT_EQ(end.status, 64) << fmt::format("{}", fmt::join(words, " "));
    EXPECT_THAT(end.err, ::testing::StartsWith("muster-bench: "));
  }
}

TEST(RefusalTest, AnUnknownProfileIs78) {
  const auto end = ended({"all_reduce", "--profile=nd96asr_v44"});
  EXPECT_EQ(end.status, 78);
  EXPECT_THAT(end.err, AllOf(HasSubstr("nd96asr_v44"), HasSubstr("nd96asr_v4")));
}

TEST(RefusalTest, ContradictingVariablesAre78) {
  const auto end = ended(
      {"all_reduce", "--profile=generic"},
      {{"RANK", "3"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "29500"}});
  EXPECT_EQ(end.status, 78);
  EXPECT_THAT(end.err, AllOf(HasSubstr("RANK=3"), HasSubstr("WORLD_SIZE=2")));
}

TEST(RefusalTest, ANodeWithoutTheGpusOfItsProfileIsUndecided) {
  const auto end =
      ended({"all_reduce", "--profile=nd96asr_v4", "--cuda=/nonexistent/libcuda.so.1"});
  EXPECT_EQ(end.status, 2);
  EXPECT_THAT(end.err, AllOf(HasSubstr("no GPU can be used on "),
                             HasSubstr("where profile nd96asr_v4 expects 8"),
                             HasSubstr("--backend mpi or tcp would measure host memory")));
}

// If one of several nodes is at fault, it is named.
TEST(RefusalTest, TheNodeThatCannotTakePartSaysSo) {
  Job job;
  auto variables = torchrun(1, 2, free_port(), 1);
  variables["MUSTER_HOSTNAME"] = "node1";
  const auto end = job.end_of(job.start(
      muster_bench({"all_reduce", "--profile=nd96asr_v4", "--cuda=/nonexistent/libcuda.so.1"}),
      variables));
  EXPECT_EQ(end.status, 2);
  EXPECT_THAT(end.err, HasSubstr("rank 1 on node1: no GPU can be used on node1"));
}

TEST(RefusalTest, ABackEndNeedsItsLauncher) {
  const auto end = ended({"all_reduce", "--profile=generic", "--backend=mpi"});
  EXPECT_EQ(end.status, 2);
  EXPECT_THAT(end.err, HasSubstr("MPI needs an MPI launcher"));
}

TEST(RefusalTest, ALauncherThatStartsEachRankContradictsLocal) {
  const auto end = ended({"all_reduce", "--profile=generic", "--backend=tcp", "--local=2"},
                         torchrun(0, 2, 29500));
  EXPECT_EQ(end.status, 78);
  EXPECT_THAT(end.err, HasSubstr("--local 2 contradicts the launcher (torchrun)"));
}

TEST(RefusalTest, HelpAndVersionAreAnswers) {
  for (const auto* word : {"--help", "--version"}) {
    Job job;
    const auto end = job.end_of(job.start(muster_bench({word})));
    EXPECT_EQ(end.status, 0);
    EXPECT_THAT(end.out, HasSubstr("muster-bench"));
    EXPECT_EQ(end.err, "");
  }
}

}  // namespace
}  // namespace muster::e2e
