// SPDX-License-Identifier: Apache-2.0
// `muster-bench locate` among real processes: over TCP, and over a fake NCCL whose clock has a slow
// part.
#include <fmt/format.h>

#include "tests/e2e/bench/job.hpp"
#include "tests/support/matchers.hpp"

namespace muster::e2e {
namespace {

// `nodes` with `per_node` ranks each; `node0` has the first ranks.
class Locate : public ::testing::Test {
 protected:
  void start(const Words& more, const Variables& variables = {}) {
    const auto words =
        with(muster_bench({"locate", "--format=json", "--profile=" + profile}), more);
    const int port = free_port();
    for (int rank = 0; rank < nodes * per_node; ++rank) {
      auto own = torchrun(rank, nodes * per_node, port, per_node);
      own["MUSTER_HOSTNAME"] = fmt::format("node{}", rank / per_node);
      own.insert(variables.begin(), variables.end());
      job.start(words, own);
    }
  }

  // The report of rank 0; `status` is the status of every rank.
  nlohmann::json end(int status) {
    const auto first = job.end_of_ranks(nodes * per_node, status);
    said = first.err;
    return first.report();
  }

  void start_fakes(std::string_view faults, const Words& more = {}) {
    const auto scenario =
        job.write("scenario.json",
                  fmt::format(R"({{"gpus": {}, "memory_gib": 40, "busbw": {{"*": {}}}{}{}}})",
                              per_node, busbw, faults.empty() ? "" : ", ", faults));
    auto words = on_fake_gpus({"--backend=nccl", "--per-repeat=1", "--node-tests=none"});
    if (!size.empty()) words.push_back("--size=" + size);
    start(with(std::move(words), more), {{"MUSTER_FAKE_GPU", scenario}});
  }

  Job job;
  int nodes = 6;
  int per_node = 2;
  std::string profile = "generic";
  std::string size = "64MiB";  // on the fakes, as the next
  double busbw = 187;
  std::string said;
};

TEST_F(Locate, HealthyNodesPass) {
  start_fakes("");
  const auto report = end(0);
  EXPECT_EQ(report["verdict"], "healthy");
  EXPECT_EQ(outcome_of(report, "bench.locate"), "pass");
  EXPECT_EQ(outcome_of(report, "bench.data"), "pass");
  EXPECT_THAT(report["nodes"], ElementsAre("node0", "node1", "node2", "node3", "node4", "node5"));
}

struct SlowPartCase {
  std::string faults;
  std::string node;
  const char* message;
  Words more = {};
};

class LocateSlowPart : public Locate, public ::testing::WithParamInterface<SlowPartCase> {};

TEST_P(LocateSlowPart, IsNamed) {
  start_fakes(GetParam().faults, GetParam().more);
  const auto report = end(1);
  EXPECT_THAT(report["accused"], ElementsAre(GetParam().node));
  EXPECT_EQ(finding_of(report, "bench.locate")["device"], GetParam().node);
  EXPECT_THAT(message_of(report, "bench.locate"), HasSubstr(GetParam().message));
}

const Words kTestsItself{"--node-tests=gpu.copy", "--set=bench.host_copy.fail_below=20 GB/s"};

INSTANTIATE_TEST_SUITE_P(
    Each, LocateSlowPart,
    ::testing::Values(
        SlowPartCase{R"("slow_part": {"of": "hca", "host": 4, "gpu": 1, "share": 0.5})", "node4",
                     "HCA 1: 93.5 GB/s, 50% of"},
        SlowPartCase{R"("slow_part": {"of": "gpu", "host": 2, "gpu": 0, "share": 0.7})", "node2",
                     "GPU 0: 130.9 GB/s, 70% of"},
        SlowPartCase{R"("slow_part": {"of": "links", "host": 5, "share": 0.8})", "node5",
                     "the links between its GPUs"},
        // The node's own tests distinguish a fault inside it.
        SlowPartCase{R"("slow_part": {"of": "hca", "host": 2, "gpu": 1, "share": 0.5},
                        "node": {"pcie": {"1": 12}})",
                     "node2", "tested from within: bench.host_copy gpu1: ", kTestsItself},
        SlowPartCase{R"("slow_part": {"of": "hca", "host": 2, "gpu": 1, "share": 0.5})", "node2",
                     "not the parts that its own tests measure: 1 passed", kTestsItself},
        SlowPartCase{R"("slow_part": {"of": "hca", "host": 2, "gpu": 1, "share": 0.5})",
                     "node2",
                     "not tested from within: ",
                     {"--node-tests=ib.loopback"}}));

TEST_F(Locate, NamesAPairThatHangs) {
  start_fakes(R"("hang_between": "1-4")",
              {"--operation-deadline=2s", fmt::format("--csv={}/pairs", job.folder().string())});
  const auto report = end(1);
  EXPECT_THAT(report["accused"], IsEmpty()) << report.dump(1);
  EXPECT_EQ(finding_of(report, "bench.locate")["device"], "node1-node4");
  EXPECT_EQ(outcome_of(report, "bench.locate"), "fail");
  EXPECT_THAT(message_of(report, "bench.locate"), HasSubstr("does not finish"));
  EXPECT_THAT(said, HasSubstr("did not finish an operation within its deadline"));
  const auto pairs = content_of(job.folder() / "pairs");
  EXPECT_THAT(pairs, AllOf(HasSubstr("node1,node4,\n"), HasSubstr("node0,node5,187")));
}

// Two nodes with a firewall or a bad cable between them.
TEST_F(Locate, NamesAPairWhoseCommunicatorNeverForms) {
  start_fakes(R"("apart": "1-4")",
              {"--operation-deadline=4s", fmt::format("--csv={}/pairs", job.folder().string())});
  const auto report = end(1);
  EXPECT_THAT(report["accused"], IsEmpty()) << report.dump(1);
  EXPECT_EQ(finding_of(report, "bench.locate")["device"], "node1-node4");
  EXPECT_THAT(said, HasSubstr("the communicator did not form within its deadline"));
  EXPECT_THAT(content_of(job.folder() / "pairs"), HasSubstr("node0,node5,187")) << said;
}

TEST_F(Locate, NamesANodeWhoseProcessesDie) {
  start_fakes(R"("dies": 3)",
              {"--operation-deadline=4s", fmt::format("--csv={}/pairs", job.folder().string())});
  nlohmann::json report;
  for (std::size_t rank = 0; rank < 12; ++rank) {
    const auto ended = job.end_of(rank);
    EXPECT_EQ(ended.status, rank / 2 == 3 ? 128 + SIGKILL : 1) << ended.err;
    if (rank != 0) continue;
    report = ended.report();
    said = ended.err;
  }
  EXPECT_THAT(report["accused"], IsEmpty()) << "a death may be anybody's doing";
  const auto finding = finding_of(report, "bench.locate");
  EXPECT_EQ(finding["device"], "node3");
  EXPECT_EQ(finding["outcome"], "fail");
  EXPECT_EQ(finding["remedy"], "restart_app");
  EXPECT_THAT(finding["message"].get<std::string>(), HasSubstr("ranks 6-7 exited unexpectedly"));
  EXPECT_THAT(said, HasSubstr("ranks 6-7 exited unexpectedly, or their nodes are down"));
  EXPECT_THAT(content_of(job.folder() / "pairs"), HasSubstr("node0,node5,187"));
}

// ND A100's limit is for 8 GiB; smaller messages may be slower.
TEST_F(Locate, IgnoresALimitForLargerMessages) {
  profile = "nd96asr_v4";
  busbw = 170;
  start_fakes("", {"--environment=job"});
  EXPECT_EQ(end(0)["verdict"], "healthy");
}

TEST_F(Locate, UsesTheSizeOfTheLimitByDefault) {
  profile = "nd96asr_v4";
  size.clear();
  busbw = 170;
  start_fakes("", {"--environment=job"});
  const auto report = end(1);
  EXPECT_THAT(report["accused"], IsEmpty());
  EXPECT_THAT(message_of(report, "bench.locate"),
              HasSubstr("no node stands out, and the median of all pairs is 170.0 GB/s"));
}

TEST_F(Locate, ReportsWrongData) {
  // The first operation of rank 1 of a group, in the second place of each node.
  start_fakes(R"("wrong": {"rank": 3, "operation": 0, "index": 7})");
  const auto report = end(1);
  EXPECT_EQ(outcome_of(report, "bench.data"), "fail");
}

TEST_F(Locate, HostMemoryOverTcp) {
  nodes = 5;
  per_node = 1;
  start({"--backend=tcp", "--size=64KiB", "--min-busbw=1MB/s"});
  nlohmann::json report;
  for (int rank = 0; rank < nodes; ++rank) {
    const auto ended = job.end_of(static_cast<std::size_t>(rank));
    // The speed of this machine's processes is not a fault: any verdict, and no error.
    EXPECT_THAT(ended.status, ::testing::AnyOf(0, 1, 2)) << ended.err;
    EXPECT_EQ(ended.err, "");
    if (rank == 0) report = ended.report();
  }
  EXPECT_EQ(outcome_of(report, "bench.data"), "pass");
  EXPECT_NE(outcome_of(report, "bench.locate"), "");
}

// Eight nodes behind links of 200 Mbit/s, one of them at half of that.
TEST_F(Locate, ANodeBehindASlowLinkIsNamed) {
  const auto process = job.start({MUSTER_NETWORK_SCRIPT, MUSTER_BENCH_PROGRAM, "8", "50mbit", "5",
                                  "25mbit", "--backend=tcp", "--profile=generic", "--size=256KiB",
                                  "--per-repeat=3", "--format=json"});
  const auto ended = job.end_of(process);
  constexpr int kNoNetwork = 77;
  if (ended.status == kNoNetwork) GTEST_SKIP() << ended.err;
  ASSERT_EQ(ended.status, 1) << ended.err << ended.out;
  const auto report = ended.report();
  EXPECT_THAT(report["accused"], ElementsAre("node5"));
  EXPECT_EQ(report["nodes"].size(), 8U);
}

// One launch by mpirun, with an MPI communicator for each group of each round.
TEST_F(Locate, HostMemoryOverMpi) {
  if (!has_mpirun()) GTEST_SKIP() << "no mpirun";
  // mpirun 5.0.7 crashes with several programs separated by colons.
  const Words in_shell{"sh", "-c", "MUSTER_HOSTNAME=node$OMPI_COMM_WORLD_RANK exec \"$@\"", "sh"};
  const auto rank = muster_bench({"locate", "--backend=mpi", "--profile=generic", "--size=64KiB",
                                  "--min-busbw=1MB/s", "--format=json"});
  const auto ended = job.run(mpirun(4, with(in_shell, rank)));
  const auto report = ended.report();
  EXPECT_EQ(outcome_of(report, "bench.data"), "pass") << ended.err << ended.out;
  EXPECT_EQ(report["nodes"].size(), 4U);
}

// It ends the search, in which nodes that do not finish would be excluded.
TEST_F(Locate, AnExplainedFailureAccusesNoNode) {
  const auto excluded = (job.folder() / "exclude").string();
  start_fakes(R"("answers": {"ncclAllReduce": 1}, "warning": "Cuda failure 2 'out of memory'")",
              {"--exclude=" + excluded});
  const auto report = end(2);
  EXPECT_EQ(report["accused"].size(), 0U);
  EXPECT_EQ(outcome_of(report, "bench.completion"), "unknown");
  EXPECT_FALSE(std::filesystem::exists(excluded));
}

TEST_F(Locate, NodesWithDifferentNumbersOfRanksAreRefused) {
  per_node = 1;
  nodes = 3;
  auto words = muster_bench({"locate", "--backend=tcp", "--profile=generic"});
  const int port = free_port();
  for (int rank = 0; rank < nodes; ++rank) {
    auto own = torchrun(rank, nodes, port);
    own["MUSTER_HOSTNAME"] = rank < 2 ? "node0" : "node1";
    job.start(words, own);
  }
  const auto ended = job.end_of(0);
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err + ended.out,
              HasSubstr("node1 has 1 ranks and node0 has 2, expected as many on each node"));
}

TEST_F(Locate, OneNodeIsTooFew) {
  nodes = 1;
  start({"--backend=tcp"});
  const auto ended = job.end_of(0);
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, HasSubstr("muster-bench: a search needs at least two nodes"));
  EXPECT_THAT(ended.err + ended.out, Not(HasSubstr("gave up")));
}

}  // namespace
}  // namespace muster::e2e
