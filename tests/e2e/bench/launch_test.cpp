// SPDX-License-Identifier: Apache-2.0
// Starts `muster-bench` with each launcher, and in ways that must be refused.
#include <fmt/format.h>

#include "bench/sockets/sockets.hpp"
#include "tests/e2e/bench/job.hpp"
#include "tests/support/matchers.hpp"

namespace muster::e2e {
namespace {

const Words kSmall = muster_bench({"all_reduce", "--sizes=8,4KiB", "--iterations=5",
                                   "--profile=generic", "--backend=tcp", kAnyBandwidth});

// How rank 0 ended. All ranks must exit with 0 and print no error.
Ended run_all(Job& job, const std::vector<std::pair<Words, Variables>>& ranks) {
  for (const auto& [words, variables] : ranks) job.start(words, variables);
  auto first = job.end_of_ranks(static_cast<int>(ranks.size()), 0);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    EXPECT_EQ(job.err_of(rank), "") << "rank " << rank;
  }
  EXPECT_THAT(first.out, HasSubstr("# Out of bounds values : 0 OK\n"));
  EXPECT_THAT(first.out, HasSubstr(" is healthy: "));
  return first;
}

TEST(LaunchTest, TorchrunsVariablesAreEnough) {
  for (const int world : {2, 4}) {
    Job job;
    const int port = free_port();
    std::vector<std::pair<Words, Variables>> ranks;
    for (int rank = 0; rank < world; ++rank) {
      ranks.emplace_back(kSmall, torchrun(rank, world, port));
    }
    EXPECT_THAT(run_all(job, ranks).out, HasSubstr(fmt::format("#  Rank {:2} Group", world - 1)));
  }
}

TEST(LaunchTest, SrunsVariablesAreEnough) {
  Job job;
  std::vector<std::pair<Words, Variables>> ranks;
  const auto port = std::to_string(free_port());
  for (const auto* rank : {"0", "1"}) {
    ranks.emplace_back(kSmall, Variables{{"SLURM_JOB_ID", "4711"},
                                         {"SLURM_STEP_ID", "0"},
                                         {"SLURM_PROCID", rank},
                                         {"SLURM_NTASKS", "2"},
                                         {"SLURM_STEP_NUM_TASKS", "2"},
                                         {"SLURM_LOCALID", rank},
                                         {"SLURM_NODEID", "0"},
                                         {"SLURM_STEP_TASKS_PER_NODE", "2"},
                                         {"SLURM_STEP_NODELIST", "localhost"},
                                         {"MASTER_PORT", port}});
  }
  run_all(job, ranks);
}

TEST(LaunchTest, FlagsAreEnough) {
  Job job;
  const auto words =
      with(kSmall, {"--world=2", fmt::format("--rendezvous=127.0.0.1:{}", free_port())});
  run_all(job, {{with(words, {"--rank=0"}), {}}, {with(words, {"--rank=1"}), {}}});
}

TEST(LaunchTest, ARankWithAnotherSecretIsRefusedAndBothSidesReportIt) {
  const auto ranks = [&](const std::string& secret, const std::string& deadline) {
    const auto words = with(kSmall, {"--join-deadline=" + deadline});
    const int port = free_port();
    auto first = torchrun(0, 2, port);
    auto second = torchrun(1, 2, port);
    first["MUSTER_JOB_SECRET"] = "the secret of this job";
    second["MUSTER_JOB_SECRET"] = secret;
    return std::vector<std::pair<Words, Variables>>{{words, first}, {words, second}};
  };
  {
    Job job;
    run_all(job, ranks("the secret of this job", "60s"));
  }
  Job job;
  for (const auto& [command, variables] : ranks("another", "8s")) job.start(command, variables);
  const auto first = job.end_of(0);
  const auto second = job.end_of(1);
  EXPECT_EQ(first.status, 2);
  EXPECT_THAT(first.out, HasSubstr("rank 1 did not come to the rendezvous"));
  EXPECT_THAT(first.out, HasSubstr("1 of 2 came; 1 connection was refused"));
  EXPECT_THAT(
      first.err,
      HasSubstr("muster-bench: refused a connection from 127.0.0.1: it has another job secret"));
  EXPECT_EQ(second.status, 2);
  EXPECT_THAT(second.err, HasSubstr("another job secret"));
  EXPECT_THAT(first.out + first.err + second.out + second.err,
              Not(HasSubstr("the secret of this job")));
}

TEST(LaunchTest, LocalStartsItsOwnRanks) {
  for (const auto* count : {"2", "4"}) {
    Job job;
    run_all(job, {{with(kSmall, {"--local", count}), {}}});
  }
}

TEST(LaunchTest, PartsOfLocalRanksAreCompared) {
  Job job;
  const auto end = job.run(with(kSmall, {"--local=4", "--split=2"}));
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr("# ranks 2-3: ranks 2-3\n"));
  Job alone;
  const auto refused = alone.run(with(kSmall, {"--local=3", "--split=2"}));
  EXPECT_EQ(refused.status, 64) << refused.out;
  EXPECT_EQ(refused.err,
            "muster-bench: --split: rank 2 would be alone, and one rank has no bandwidth\n");
}

TEST(LaunchTest, AloneIsOneRank) {
  Job job;
  const auto end = job.run(kSmall);
  EXPECT_THAT(end.status, AnyOf(0, 2)) << end.err;  // a trial, unless it has a GPU or HCA
  EXPECT_THAT(end.out, HasSubstr("# Out of bounds values : 0 OK\n"));
  EXPECT_TRUE(job.leaves_nothing());
}

TEST(LaunchTest, DifferentArgumentsAreNamed) {
  Job job;
  const int port = free_port();
  job.start(kSmall, torchrun(0, 2, port));
  job.start(with(kSmall, {"--type=f64"}), torchrun(1, 2, port));
  const auto first = job.end_of(0);
  EXPECT_EQ(first.status, 2);
  EXPECT_THAT(first.out, HasSubstr(", and rank 0 with "));
  EXPECT_THAT(first.out, HasSubstr("--type=f64"));
  EXPECT_EQ(job.end_of(1).status, 2);
  EXPECT_TRUE(job.leaves_nothing());
}

TEST(LaunchTest, AMissingRankIsNamed) {
  Job job;
  const int port = free_port();
  const auto words = with(kSmall, {"--join-deadline=4s", "--format=json"});
  job.start(words, torchrun(0, 3, port));
  job.start(words, torchrun(2, 3, port));
  const auto first = job.end_of(0);
  EXPECT_EQ(first.status, 2);
  const auto finding = finding_of(first.report(), "bench.completion");
  ASSERT_TRUE(finding.is_object()) << first.out << first.err;
  EXPECT_EQ(finding["outcome"], "unknown");
  EXPECT_THAT(finding["message"].get<std::string>(),
              HasSubstr("rank 1 did not come to the rendezvous within 4 s"));
  EXPECT_EQ(job.end_of(1).status, 2);
}

TEST(LaunchTest, RanksReportThatRank0DidNotCome) {
  Job job;
  const int port = free_port();
  const auto words = with(kSmall, {"--join-deadline=1s"});
  job.start(words, torchrun(1, 3, port));
  job.start(words, torchrun(2, 3, port));
  const auto first = job.end_of_ranks(2, 2);
  EXPECT_THAT(first.out, AllOf(HasSubstr("rank 0 did not come to the rendezvous within 1 s"),
                               HasSubstr("Connection refused")));
  EXPECT_THAT(job.err_of(1), HasSubstr("rank 0 did not come to the rendezvous within 1 s"));
}

// If anything keeps the ranks from meeting, every rank reports unknown.
TEST(LaunchTest, APortInUseAndAMistypedHostAreUndecided) {
  const auto words = with(kSmall, {"--join-deadline=2s"});
  {
    Job job;
    const auto taken = bench::listen_on({.host = "127.0.0.1", .port = 0}).value();
    const int port = bench::port_of(taken).value();
    for (const int rank : {0, 1}) job.start(words, torchrun(rank, 2, port));
    const auto first = job.end_of(0);
    EXPECT_EQ(first.status, 2);
    EXPECT_THAT(first.err, HasSubstr("--rendezvous HOST:PORT"));
    const auto second = job.end_of(1);
    EXPECT_EQ(second.status, 2);
    EXPECT_THAT(second.out + second.err, Not(HasSubstr("unhealthy")));
  }
  Job job;
  for (const int rank : {0, 1}) {
    auto variables = torchrun(rank, 2, free_port());
    if (rank == 1) variables["MASTER_ADDR"] = "no-such-host.invalid";
    job.start(words, variables);
  }
  for (const std::size_t rank : {0U, 1U}) {
    const auto end = job.end_of(rank);
    EXPECT_EQ(end.status, 2);
    EXPECT_THAT(end.out + end.err, Not(HasSubstr("unhealthy")));
    EXPECT_THAT(end.out, HasSubstr("could not meet"));
  }
}

Ended ended(const Words& words, const Variables& variables = {}) {
  Job job;
  auto end = job.run(muster_bench(words), variables);
  EXPECT_EQ(end.out, "");
  return end;
}

TEST(RefusalTest, BadUsageIs64) {
  for (const auto& words : {Words{}, Words{"all_reduce", "--no-such-option"},
                            Words{"all_gather", "--local=2", "--sizes=8", "--backend=tcp"},
                            Words{"all_reduce", "--local=2", "--diagnose", "--profile=generic",
                                  "--cuda=/nonexistent/libcuda.so.1"},
                            Words{"broadcast", "--root=1", "--backend=tcp", "--profile=generic"}}) {
    const auto end = ended(words);
    EXPECT_EQ(end.status, 64) << fmt::format("{}", fmt::join(words, " "));
    EXPECT_THAT(end.err, ::testing::StartsWith("muster-bench: "));
  }
}

TEST(RefusalTest, HasTheStatusAndTheMessageOfItsReason) {
  struct Case {
    Words words;
    int status;
    std::vector<std::string> parts;  // of the message
    Variables variables = {};
  };
  for (const auto& [words, status, parts, variables] :
       {Case{{"--profile=nd96asr_v44"}, 78, {"nd96asr_v44", "nd96asr_v4"}},
        Case{{"--profile=generic"},
             78,
             {"RANK=3", "WORLD_SIZE=2"},
             {{"RANK", "3"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}}},
        Case{{"--profile=generic", "--backend=tcp", "--local=2"},
             78,
             {"--local 2 contradicts the launcher (torchrun)"},
             torchrun(0, 2, 29500)},
        Case{{"--profile=nd96asr_v4", "--cuda=/nonexistent/libcuda.so.1"},
             2,
             {"no GPU can be used on ", "where profile nd96asr_v4 expects 8",
              "--backend mpi or tcp would measure host memory"}},
        Case{{"--profile=generic", "--backend=mpi"}, 2, {"MPI needs an MPI launcher"}}}) {
    const auto end = ended(with({"all_reduce"}, words), variables);
    EXPECT_EQ(end.status, status) << end.err;
    for (const auto& part : parts) EXPECT_THAT(end.err, HasSubstr(part));
  }
}

// If one of several nodes is at fault, it is named.
TEST(RefusalTest, NamesTheNodeWithoutGpus) {
  Job job;
  auto variables = torchrun(1, 2, free_port(), 1);
  variables["MUSTER_HOSTNAME"] = "node1";
  const auto end = job.run(
      muster_bench({"all_reduce", "--profile=nd96asr_v4", "--cuda=/nonexistent/libcuda.so.1"}),
      variables);
  EXPECT_EQ(end.status, 2);
  EXPECT_THAT(end.err, HasSubstr("rank 1 on node1: no GPU can be used on node1"));
}

TEST(RefusalTest, HelpAndVersionAreAnswers) {
  for (const auto* word : {"--help", "--version"}) {
    Job job;
    const auto end = job.run(muster_bench({word}));
    EXPECT_EQ(end.status, 0);
    EXPECT_THAT(end.out, HasSubstr("muster-bench"));
    EXPECT_EQ(end.err, "");
  }
}

}  // namespace

}  // namespace muster::e2e
