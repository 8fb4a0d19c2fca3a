// SPDX-License-Identifier: Apache-2.0
// Runs on two simulated ND A100 v4 nodes, from times to the verdict of the shipped profile.
#include <fmt/format.h>

#include <map>
#include <memory>

#include "bench/backends/sim/sim.hpp"
#include "bench/results/bandwidth.hpp"
#include "bench/results/outcomes.hpp"
#include "lib/profile/load.hpp"
#include "tests/bench/results/sample_rows.hpp"
#include "tests/support/matchers.hpp"

namespace muster::bench {
namespace {

const Profile& shipped_nd_a100() {
  static const auto profile = load_profile({}, "nd96asr_v4");
  EXPECT_TRUE(profile) << profile.error().message;
  return *profile;
}

class SimRun {
 public:
  explicit SimRun(std::string_view words, const OwnLimit& own = {},
                  std::uint64_t smallest = kGibibyte)
      : own_(own) {
    const auto cluster = parse_sim(words);
    EXPECT_TRUE(cluster) << cluster.error().message;
    facts_ = {.nodes = cluster->nodes,
              .ranks = ranks_of(*cluster),
              .backend = "sim",
              .gpus = true,
              .algorithm = cluster->tree ? "TREE" : "RING"};
    sim_ = make_sim_backend(*cluster, whole(*cluster));
    for (std::uint64_t bytes = smallest; bytes <= 8 * kGibibyte; bytes *= 2) {
      run(all_reduce_of(bytes));
    }
    if (const auto again = to_repeat(rows_, shipped_nd_a100(), facts_, own_)) {
      for (int i = 0; i < kRepeats; ++i) {
        EXPECT_TRUE(sim_->renew());
        run(*again);
      }
    }
  }

  [[nodiscard]] std::size_t sizes() const { return rows_.size(); }

  [[nodiscard]] Outcome bandwidth() const {
    return judge(rows_, shipped_nd_a100(), facts_, own_).outcome;
  }

  [[nodiscard]] Report report() const {
    Report report;
    report.findings = judge_data(rows_, sim_->members());
    report.findings.push_back(judge(rows_, shipped_nd_a100(), facts_, own_));
    report.findings.push_back(completed(facts_.ranks));
    conclude(report);
    return report;
  }

 private:
  void run(const Operation& operation) {
    auto row = row_of(operation, sim_->ranks());
    for (const bool in_place : {false, true}) {
      auto placed = operation;
      placed.in_place = in_place;
      Progress progress;
      const auto batch = sim_->measure(placed, {}, progress);
      ASSERT_TRUE(batch) << batch.error().message;
      auto timing = timing_of(placed, sim_->ranks(), *batch);
      ASSERT_TRUE(timing) << timing.error().message;
      placement_of(row, placed) = *std::move(timing);
    }
    rows_.push_back(std::move(row));
  }

  OwnLimit own_;
  std::unique_ptr<Backend> sim_;
  RunFacts facts_;
  std::vector<Row> rows_;
};

TEST(SimRunTest, NoiseOfTwoPercentPasses) {
  for (int seed = 1; seed <= 20; ++seed) {
    const auto report = SimRun(fmt::format("noise=2%,seed={}", seed)).report();
    EXPECT_EQ(report.verdict, Verdict::healthy) << seed;
  }
}

TEST(SimRunTest, FailsBelowTheLimitAfterTwoMoreRuns) {
  // 90.5% of 200 GB/s would be 181, less the latency.
  const SimRun run("efficiency=0.905");
  EXPECT_EQ(run.sizes(), 6U);
  const auto report = run.report();
  EXPECT_EQ(report.verdict, Verdict::unhealthy);
  EXPECT_EQ(report.findings[0].check, "bench.job_all_reduce");
  EXPECT_THAT(report.findings[0].message, HasSubstr("180.91 GB/s for all_reduce of 8 GiB"));
  EXPECT_THAT(report.findings[0].message, HasSubstr("the median of 180.91, 180.91, 180.91;"));
}

// How often pairs of nodes whose bandwidth varies by 0.6% between runs have each outcome.
std::map<Outcome, int> outcomes_at(double gbps, bool acceptance = false, int pairs = 1000) {
  constexpr double kReached = 187.41;  // of the simulation, with its default efficiency
  std::map<Outcome, int> outcomes;
  for (int seed = 1; seed <= pairs; ++seed) {
    const SimRun run(fmt::format("gpus=8,run_noise=0.6%,seed={},efficiency={:.6f}", seed,
                                 SimCluster().efficiency * gbps / kReached),
                     {.acceptance = acceptance}, 8 * kGibibyte);
    ++outcomes[run.bandwidth()];
  }
  EXPECT_EQ(outcomes[Outcome::unknown] + outcomes[Outcome::skip], 0);
  return outcomes;
}

constexpr double kExpected = 188;

// The numbers of docs/benchmark.md, "Near a limit".
TEST(SimRunTest, NoHealthyPairFailsAndPairsAtNinetyFivePercentDo) {
  EXPECT_EQ(outcomes_at(185.6)[Outcome::fail], 0);  // the slowest published healthy pair
  EXPECT_EQ(outcomes_at(0.98 * kExpected)[Outcome::fail], 0);
  EXPECT_GE(outcomes_at(0.95 * kExpected)[Outcome::fail], 990);
  EXPECT_EQ(outcomes_at(kExpected)[Outcome::pass], 1000);
  EXPECT_EQ(outcomes_at(0.97 * kExpected)[Outcome::pass], 0) << "it warns or fails";
}

TEST(SimRunTest, AcceptanceFailsClearlyBelowThePromise) {
  constexpr int kPairs = 300;
  EXPECT_LE(outcomes_at(185.6, true, kPairs)[Outcome::fail], 2);
  EXPECT_LE(outcomes_at(185, true, kPairs)[Outcome::fail], 6) << "just what is promised";
  EXPECT_GE(outcomes_at(0.97 * kExpected, true, kPairs)[Outcome::fail], 240);
  EXPECT_GE(outcomes_at(0.95 * kExpected, true, kPairs)[Outcome::fail], 299);
  EXPECT_GE(outcomes_at(189.6, true, kPairs)[Outcome::pass], 297);
}

}  // namespace
}  // namespace muster::bench
