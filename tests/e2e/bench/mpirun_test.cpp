// SPDX-License-Identifier: Apache-2.0
// Runs under this machine's mpirun.

#include <array>

#include "tests/e2e/bench/job.hpp"
#include "tests/support/matchers.hpp"

namespace muster::e2e {
namespace {

constexpr std::array kCollectives{
    "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",   "alltoall", "alltoallv",
    "hypercube",  "sendrecv",   "gather",         "scatter",   "pingpong", "uniband",  "biband"};

class MpiRunTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_mpirun()) GTEST_SKIP() << "mpirun is not installed";
  }

  static Ended run(int ranks, const Words& words, const Variables& variables = {}) {
    Job job;
    auto ended = job.run(mpirun(ranks, muster_bench(words)), variables);
    EXPECT_TRUE(job.leaves_nothing());
    return ended;
  }
};

class MpiCollective : public MpiRunTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(MpiCollective, IsVerifiedAndMeasuredOnTwoRanksAndFour) {
  for (const int ranks : {2, 4}) {
    const auto end = run(ranks, {GetParam(), "--max=4KiB", "--iterations=5", "--profile=generic",
                                 "--format=json", kAnyBandwidth});
    EXPECT_EQ(end.status, 0) << end.err << end.out;
    const auto report = end.report();
    EXPECT_EQ(outcome_of(report, "bench.data"), "pass") << end.out;
    EXPECT_EQ(outcome_of(report, "bench.completion"), "pass");
    ASSERT_FALSE(report["measurements"].empty());
    for (const auto& each : report["measurements"]) {
      const auto& conditions = each["conditions"];
      EXPECT_EQ(conditions["collective"], GetParam());
      EXPECT_EQ(conditions["ranks"], ranks);
      EXPECT_EQ(conditions["backend"], "mpi");
      EXPECT_EQ(each["wrong_elements"], 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Each, MpiCollective, ::testing::ValuesIn(kCollectives),
                         [](const auto& it) { return std::string(it.param); });

TEST_F(MpiRunTest, MeasuresTheTimeOfABarrier) {
  const auto end = run(4, {"barrier", "--iterations=5", "--profile=generic", "--format=json"});
  const auto report = end.report();
  EXPECT_EQ(end.status, report["judged"] == true ? 2 : 0) << end.err;
  ASSERT_EQ(report["measurements"].size(), 1U) << end.out;
  const auto& barrier = report["measurements"][0];
  EXPECT_EQ(barrier["quantity"], "latency");
  EXPECT_EQ(barrier["unit"], "us");
  EXPECT_GT(barrier["value"], 0);
  EXPECT_EQ(outcome_of(report, "bench.data"), "skip");
}

TEST_F(MpiRunTest, PairsNeedAnEvenNumberOfRanks) {
  const auto end = run(3, {"pingpong", "--max=64", "--profile=generic"});
  EXPECT_EQ(end.status, 64);
  EXPECT_THAT(end.err, HasSubstr("even number of ranks, got 3"));
}

TEST_F(MpiRunTest, PrintsATableAndAVerdict) {
  const auto end = run(2, {"all_reduce", "--sizes=8,64KiB", "--profile=generic", kAnyBandwidth});
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_EQ(end.err, "");
  EXPECT_THAT(end.out, HasSubstr("# muster-bench all_reduce, Open MPI"));
  EXPECT_THAT(end.out, HasSubstr("       65536         16384     float     sum      -1"));
  EXPECT_THAT(end.out, HasSubstr("# Out of bounds values : 0 OK\n"));
  EXPECT_THAT(end.out, HasSubstr(" is healthy: "));
}

TEST_F(MpiRunTest, EachPartHasItsOwnCommunicator) {
  for (const auto* order : {"--split-order=at_once", "--split-order=in_turn"}) {
    const auto end = run(4, {"all_reduce", "--sizes=8,64KiB", "--split=2", order, "--format=json",
                             "--profile=generic", kAnyBandwidth});
    EXPECT_EQ(end.status, 0) << end.err;
    const auto report = end.report();
    ASSERT_EQ(report["measurements"].size(), 8U) << "2 parts, 2 sizes, 2 placements";
    EXPECT_EQ(report["measurements"][0]["conditions"]["device"], "ranks 0-1");
    EXPECT_EQ(report["measurements"][7]["conditions"]["device"], "ranks 2-3");
    EXPECT_EQ(report["measurements"][7]["conditions"]["ranks"], 2);
    EXPECT_EQ(report["measurements"][7]["wrong_elements"], 0);
  }
}

// A packaged muster on a node without an MPI library: the module exists but cannot be loaded.
TEST_F(MpiRunTest, RunsOverTcpIfTheModuleCannotBeOpened) {
  Job job;
  const auto module = job.write("muster_mpi.so", "no library");
  const auto end = run(2, {"all_reduce", "--sizes=8", "--profile=generic", "-v", kAnyBandwidth},
                       {{"MUSTER_MPI_MODULE", module}});
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr("TCP of muster-bench"));
  EXPECT_THAT(end.out + end.err, HasSubstr("and no MPI: open the MPI module: "));
}

}  // namespace
}  // namespace muster::e2e
