// SPDX-License-Identifier: Apache-2.0
#include "bench/results/bandwidth.hpp"

#include <vector>

#include "lib/profile/load.hpp"
#include "tests/bench/results/sample_rows.hpp"
#include "tests/support/matchers.hpp"

namespace muster::bench {
namespace {

constexpr int kRanks = 16;

// The collectives' limits of ND A100 v4's profile.
Profile nd_a100() {
  Profile profile;
  profile.name = "nd96asr_v4";
  profile.gpu->present.count = 8;
  const auto gib = [](int n) { return Bytes{n * static_cast<double>(kGibibyte)}; };
  profile.bench->node_all_reduce = {.type = "float",
                                    .algorithm = BenchAlgorithm::any,
                                    .size = gib(8),
                                    .expected = BytesPerSecond{232e9},
                                    .warn_below = BytesPerSecond{228e9},
                                    .fail_below = BytesPerSecond{216e9}};
  profile.bench->job_all_reduce = {{.type = "float",
                                    .algorithm = BenchAlgorithm::any,
                                    .size = gib(8),
                                    .nodes_at_least = 2,
                                    .expected = BytesPerSecond{188e9},
                                    .fail_below = BytesPerSecond{185e9}}};
  return profile;
}

RunFacts two_nodes() { return {.nodes = 2, .ranks = kRanks, .backend = "nccl", .gpus = true}; }

RunFacts one_node() {
  return {.nodes = 1, .ranks = 8, .node = "gpu-0007", .backend = "nccl", .gpus = true};
}

std::vector<Row> all_reduce_at(double gbps, int ranks = kRanks, std::uint64_t gib = 8) {
  return {row_at(all_reduce_of(gib * kGibibyte), ranks, gbps)};
}

// A run of two nodes, and what judges it.
struct Given {
  std::vector<Row> rows;
  Profile profile = nd_a100();
  RunFacts facts = two_nodes();
  OwnLimit own = {};

  [[nodiscard]] Finding judged() const { return judge(rows, profile, facts, own); }
  [[nodiscard]] Outcome outcome() const { return judged().outcome; }
};

TEST(AlgorithmWordTest, MatchesProfiles) {
  for (const auto& [name, word] : {std::pair{"RING", "ring"},
                                   {"Tree", "tree"},
                                   {"NVLS", "nvls"},
                                   {"NVLSTree", "nvls"},
                                   {"COLLNET_DIRECT", "collnet"},
                                   {"CollNetChain", "collnet"},
                                   {"PAT", "pat"},
                                   {"", ""}}) {
    EXPECT_EQ(algorithm_word(name), word);
  }
}

TEST(JudgeTest, AppliesTheLimitOfNdA100Exactly) {
  for (const auto& [gbps, outcome] :
       {std::pair{187.0, Outcome::pass}, {185, Outcome::pass}, {184.9, Outcome::fail}}) {
    EXPECT_EQ(Given{all_reduce_at(gbps)}.outcome(), outcome) << gbps;
  }
}

TEST(JudgeTest, AFailureNamesTheValueAndTheSourceOfTheLimit) {
  auto finding = judge(all_reduce_at(184.9), nd_a100(), two_nodes());
  EXPECT_NEAR(std::get<double>(finding.observed), 184.9, 1e-9);
  EXPECT_EQ(finding.limit, Value(185.0));
  EXPECT_EQ(finding.unit, "GB/s");
  EXPECT_EQ(finding.remedy, Remedy::report_to_provider);
  EXPECT_EQ(finding.message,
            "184.90 GB/s for all_reduce of 8 GiB out of place; expected 188 GB/s, fails below 185 "
            "GB/s (profile nd96asr_v4)");
}

TEST(JudgeTest, AValueJustBelowItsLimitDoesNotLookLikeIt) {
  EXPECT_THAT(Given{all_reduce_at(184.9996)}.judged().message, StartsWith("184.9996 GB/s for"));
}

TEST(JudgeTest, NamesASingleNode) {
  const auto finding = judge(all_reduce_at(220, 8), nd_a100(), one_node());
  EXPECT_EQ(finding.check, "bench.node_all_reduce");
  EXPECT_EQ(finding.device, "gpu-0007");
  EXPECT_EQ(finding.outcome, Outcome::warn);
  EXPECT_EQ(finding.remedy, Remedy::watch);
  EXPECT_EQ(finding.limit, Value(228.0));
  EXPECT_EQ(finding.message,
            "220.00 GB/s for all_reduce of 8 GiB out of place; expected 232 GB/s, warns below 228 "
            "GB/s, fails below 216 GB/s (profile nd96asr_v4)");
  EXPECT_EQ(judge(all_reduce_at(215.9, 8), nd_a100(), one_node()).outcome, Outcome::fail);
  EXPECT_EQ(judge(all_reduce_at(232, 8), nd_a100(), one_node()).outcome, Outcome::pass);
}

TEST(JudgeTest, JudgesTheSlowerPlacement) {
  Given given{all_reduce_at(187)};
  given.rows[0].in_place = timing_at(given.rows[0].operation, kRanks, {184});
  const auto finding = given.judged();
  EXPECT_EQ(finding.outcome, Outcome::fail);
  EXPECT_THAT(finding.message, StartsWith("184.00 GB/s for all_reduce of 8 GiB in place;"));
  given.rows[0].out_of_place.reset();
  EXPECT_EQ(given.outcome(), Outcome::fail);
}

TEST(JudgeTest, JudgesTheMedianOfIterations) {
  Given given{all_reduce_at(187)};
  auto& row = given.rows[0];
  row.in_place.reset();
  row.out_of_place = timing_at(row.operation, kRanks, {187, 187, 187, 187, 20});
  EXPECT_LT(row.out_of_place->shown.bus, 90e9);
  EXPECT_EQ(given.outcome(), Outcome::pass);
}

TEST(JudgeTest, IgnoresOtherSizes) {
  Given given{{row_at(all_reduce_of(1024), kRanks, 0.001), all_reduce_at(187)[0]}};
  EXPECT_EQ(given.outcome(), Outcome::pass);
  given.rows = {all_reduce_at(184)[0], all_reduce_at(300, kRanks, 16)[0]};
  EXPECT_EQ(given.outcome(), Outcome::fail);
}

TEST(JudgeTest, JudgesTheMedianOfThreeRuns) {
  struct Case {
    std::vector<double> runs;
    Outcome outcome;
    const char* text;
  };
  for (const auto& [runs, outcome, text] :
       {Case{{184, 186, 186}, Outcome::pass, "the median of 184.00, 186.00, 186.00;"},
        Case{{186, 184, 184}, Outcome::fail, "the median of 186.00, 184.00, 184.00;"}}) {
    Given given;
    for (const double gbps : runs) given.rows.push_back(all_reduce_at(gbps)[0]);
    EXPECT_EQ(given.outcome(), outcome);
    EXPECT_THAT(given.judged().message, HasSubstr(text));
  }
}

TEST(JudgeTest, WarnsOfOneSlowCycle) {
  Given given{std::vector(20, all_reduce_at(189)[0])};
  EXPECT_EQ(given.outcome(), Outcome::pass);
  given.rows[13] = all_reduce_at(120)[0];
  const auto finding = given.judged();
  EXPECT_EQ(finding.outcome, Outcome::warn);
  EXPECT_EQ(finding.limit, Value(185.0));
  EXPECT_THAT(finding.message, HasSubstr("the median of 20 runs from 120.00 to 189.00;"));
  EXPECT_THAT(finding.message, EndsWith("1 of 20 runs were below the limit"));
}

// A run without an applicable limit must not look healthy.
TEST(JudgeTest, IsUnknownWithoutAnApplicableLimit) {
  struct Case {
    void (*change)(Given&);
    const char* message;
  };

  const auto without_limit = [](Given& it) { it.profile.bench->job_all_reduce.clear(); };
  const std::vector<Case> cases{
      {[](Given& it) { it.rows = all_reduce_at(1, kRanks, 4); }, "run with --max 8GiB"},
      {without_limit, "has no limit for all_reduce on 2 nodes"},
      {[](Given& it) { it.profile.bench->job_all_reduce[0].nodes_at_least = 3; },
       "has no limit for all_reduce on 2 nodes"},
      {[](Given& it) {
         it.profile.bench->job_all_reduce[0].algorithm = BenchAlgorithm::ring;
         it.facts.algorithm = "Tree";
       },
       "NCCL used tree; run with NCCL_ALGO=Ring"},
      {[](Given& it) { it.profile.bench->job_all_reduce[0].algorithm = BenchAlgorithm::collnet; },
       "NCCL's is unknown; run with NCCL_ALGO=CollNetDirect,CollNetChain"},
      {[](Given& it) { it.rows[0].operation.type = Type::bf16; }, "type float, not bfloat16"},
      {[](Given& it) { it.facts.ranks = 8; }, "here 8 ranks ran on 2 nodes"},
      {[](Given& it) { it.facts.gpus = false; }, "nccl ran on host memory"},
      {[](Given& it) { it.rows.clear(); }, "nothing was run"}};
  for (const auto& [change, message] : cases) {
    Given given{all_reduce_at(1)};
    change(given);
    const auto finding = given.judged();
    EXPECT_EQ(finding.check, "bench.job_all_reduce") << message;
    EXPECT_EQ(finding.device, "job") << message;
    EXPECT_EQ(finding.outcome, given.rows.empty() ? Outcome::skip : Outcome::unknown) << message;
    EXPECT_THAT(finding.message, HasSubstr(message));
    EXPECT_EQ(to_repeat(given.rows, given.profile, given.facts), std::nullopt) << message;
  }
  // Without a limit, a missing GPU is still the first reason, and host memory is none.
  Given given{all_reduce_at(1)};
  without_limit(given);
  given.facts.ranks = 15;
  EXPECT_THAT(given.judged().message, HasSubstr("here 15 ranks ran on 2 nodes"));
  given.facts.gpus = false;
  EXPECT_THAT(given.judged().message, HasSubstr("has no limit for all_reduce on 2 nodes"));
}

TEST(JudgeTest, ASettingOfTheJobDoesNotAccuseItsNode) {
  Given given{all_reduce_at(10, 8), nd_a100(), one_node()};
  given.facts.limited_by = "NCCL_P2P_DISABLE=1";
  const auto finding = given.judged();
  EXPECT_EQ(finding.outcome, Outcome::unknown);
  EXPECT_EQ(finding.remedy, Remedy::fix_config);
  EXPECT_THAT(finding.message, HasSubstr("; the job sets NCCL_P2P_DISABLE=1"));
  given.own = {.min_busbw = BytesPerSecond{20e9}};
  EXPECT_EQ(given.outcome(), Outcome::fail);
  Given several{all_reduce_at(10)};
  several.facts.limited_by = given.facts.limited_by;
  EXPECT_EQ(several.outcome(), Outcome::fail);
  given = {all_reduce_at(230, 8), nd_a100(), given.facts};
  EXPECT_EQ(given.outcome(), Outcome::pass);
}

TEST(JudgeTest, OneRankIsNotJudged) {
  Given given{all_reduce_at(1, 2), nd_a100(), one_node()};
  given.facts.ranks = 1;
  given.profile.gpu->present.count = 1;
  EXPECT_EQ(given.outcome(), Outcome::unknown);
  EXPECT_EQ(given.judged().message, "one rank has no bus bandwidth");
}

TEST(JudgeTest, ANodeThatLostAGpuIsNotJudged) {
  Given given{{}, nd_a100(), one_node()};
  given.facts.ranks = 7;
  for (const auto collective : {Collective::all_reduce, Collective::alltoall}) {
    given.rows = {row_at({.collective = collective, .bytes = 8 * kGibibyte}, 7, 300)};
    EXPECT_EQ(given.outcome(), Outcome::unknown);
    EXPECT_THAT(given.judged().message, EndsWith("here 7 ranks ran on one node"));
  }
  given.facts.ranks = 1;
  EXPECT_THAT(given.judged().message, EndsWith("here one rank ran on one node"));
}

// The limits are like ND H100 v5's: NCCL uses another algorithm if NVLS is not available.
TEST(JudgeTest, FallingBackFromNvlsFailsBelowItsLimitAndIsUnknownAbove) {
  Given given{all_reduce_at(10, 8), nd_a100(), one_node()};
  given.profile.bench->node_all_reduce.algorithm = BenchAlgorithm::nvls;
  given.facts.algorithm = "RING";
  const auto low = given.judged();
  EXPECT_EQ(low.check, "bench.node_all_reduce");
  EXPECT_EQ(low.outcome, Outcome::fail);
  EXPECT_EQ(low.remedy, Remedy::report_to_provider);
  EXPECT_EQ(low.limit, Value(216.0));
  EXPECT_THAT(low.message, EndsWith("NCCL used ring; run with NCCL_ALGO=NVLS"));
  EXPECT_NE(to_repeat(given.rows, given.profile, given.facts), std::nullopt);
  given.facts.algorithm_is_set = true;
  EXPECT_EQ(given.outcome(), Outcome::unknown);
  given.facts.algorithm_is_set = false;
  given.facts.algorithm.clear();
  EXPECT_EQ(given.outcome(), Outcome::unknown);
  for (const auto& [algorithm, gbps, outcome] : {std::tuple{"RING", 220, Outcome::unknown},
                                                 {"RING", 500, Outcome::unknown},
                                                 {"NVLS", 232, Outcome::pass}}) {
    given.facts.algorithm = algorithm;
    given.rows = all_reduce_at(gbps, 8);
    EXPECT_EQ(given.outcome(), outcome) << algorithm << gbps;
    EXPECT_EQ(given.judged().remedy, Remedy::none) << algorithm << gbps;
  }
}

TEST(JudgeTest, OtherCollectivesHaveTheirOwnLimits) {
  const auto shipped = load_profile({}, "nd96asr_v4");
  ASSERT_TRUE(shipped) << shipped.error().message;
  Given given{{}, *shipped};
  for (const auto& [collective, check, outcome] :
       {std::tuple{Collective::all_gather, "bench.job_all_gather", Outcome::fail},
        {Collective::gather, "bench.min_busbw", Outcome::unknown}}) {
    given.rows = {row_at({.collective = collective, .bytes = 8 * kGibibyte}, kRanks, 160)};
    EXPECT_EQ(given.judged().check, check);
    EXPECT_EQ(given.outcome(), outcome) << check;
  }
}

JobLimit limit(BenchAlgorithm algorithm, int from, double fail) {
  return {.type = "float",
          .algorithm = algorithm,
          .size = Bytes{8.0 * kGibibyte},
          .nodes_at_least = from,
          .fail_below = BytesPerSecond{fail * 1e9}};
}

// A limit for any algorithm and stricter ones for one; for nodes with and without NVLinks between
// them.
TEST(JudgeTest, UsesTheMostSpecificLimit) {
  Given given;
  auto& list = given.profile.bench->job_all_reduce;
  list = {limit(BenchAlgorithm::any, 2, 100), limit(BenchAlgorithm::ring, 3, 180),
          limit(BenchAlgorithm::any, 4, 120), limit(BenchAlgorithm::ring, 16, 190),
          limit(BenchAlgorithm::collnet, 2, 300)};
  const auto limit_on = [&](int nodes, const char* algorithm) {
    given.facts.nodes = nodes;
    given.facts.ranks = nodes * 8;
    given.facts.algorithm = algorithm;
    given.rows = all_reduce_at(50, given.facts.ranks);
    return std::get<double>(given.judged().limit);
  };
  EXPECT_EQ(limit_on(2, "RING"), 100);
  EXPECT_EQ(limit_on(3, "RING"), 180);
  EXPECT_EQ(limit_on(4, "RING"), 180);
  EXPECT_EQ(limit_on(4, "TREE"), 120);
  EXPECT_EQ(limit_on(4, ""), 120);
  EXPECT_EQ(limit_on(64, "ring"), 190);
  EXPECT_EQ(limit_on(64, "CollNetDirect"), 300);
  list = {limit(BenchAlgorithm::any, 2, 100), limit(BenchAlgorithm::any, 2, 600)};
  list[0].over = BenchOver::infiniband;
  list[1].over = BenchOver::nvlink;
  given.facts.over = "nvlink";
  EXPECT_EQ(limit_on(2, "RING"), 600);
  given.facts.over = "infiniband";
  EXPECT_EQ(limit_on(2, "RING"), 100);
}

TEST(JudgeTest, JudgesHostMemoryByALimitForIt) {
  Given given{all_reduce_at(19)};
  given.facts.gpus = false;
  EXPECT_EQ(given.outcome(), Outcome::unknown);
  auto& list = given.profile.bench->job_all_reduce;
  list.push_back(limit(BenchAlgorithm::any, 2, 20));
  list.back().memory = BenchMemory::host;
  EXPECT_EQ(given.judged().limit, Value(20.0));
  given.facts.gpus = true;
  given.rows = all_reduce_at(190);
  EXPECT_EQ(given.judged().limit, Value(185.0));
}

// A fault, even if the profile has a lower limit for another algorithm.
TEST(JudgeTest, JudgesAFallBackFromNvls) {
  Given given{all_reduce_at(100)};
  given.facts.algorithm = "TREE";
  given.profile.bench->job_all_reduce = {limit(BenchAlgorithm::ring, 2, 120),
                                         limit(BenchAlgorithm::nvls, 2, 300)};
  EXPECT_EQ(given.outcome(), Outcome::fail);
  EXPECT_EQ(given.judged().limit, Value(300.0));
}

// The transport that NCCL used does not matter, unless it may not use the domain.
TEST(JudgeTest, JudgesNodesOfOneNvlinkDomainByItsLimit) {
  Given given{all_reduce_at(187)};
  auto& list = given.profile.bench->job_all_reduce;
  list = {limit(BenchAlgorithm::any, 2, 600), limit(BenchAlgorithm::any, 2, 150)};
  list[0].over = BenchOver::nvlink;
  list[1].over = BenchOver::infiniband;
  given.facts.over = "infiniband";
  const auto between = given.judged();
  EXPECT_EQ(between.outcome, Outcome::pass);
  EXPECT_THAT(between.message, HasSubstr("over InfiniBand"));

  given.facts.one_domain = true;
  const auto finding = given.judged();
  EXPECT_EQ(finding.outcome, Outcome::fail);
  EXPECT_EQ(finding.limit, Value(600.0));
  EXPECT_EQ(finding.remedy, Remedy::fix_config);
  EXPECT_THAT(finding.message, HasSubstr("over NVLink"));
  EXPECT_THAT(finding.message, HasSubstr("NCCL used the network"));

  given.facts.over = "nvlink";
  EXPECT_EQ(given.judged().remedy, Remedy::report_to_provider);
  given.rows = all_reduce_at(937);
  EXPECT_EQ(given.outcome(), Outcome::pass);

  given.facts.over = "infiniband";
  given.rows = all_reduce_at(187);
  list.erase(list.begin());
  EXPECT_EQ(given.outcome(), Outcome::pass);
}

TEST(JudgeTest, IsUnknownIfTheLimitOnlyExpects) {
  Given given{all_reduce_at(100)};
  given.profile.bench->job_all_reduce[0].fail_below.reset();
  EXPECT_EQ(given.outcome(), Outcome::unknown);
}

TEST(MinBusbwTest, OverridesTheProfileOnAnyBackEnd) {
  Given given{all_reduce_at(185)};
  given.facts.gpus = false;
  given.own = {.min_busbw = BytesPerSecond{185e9}, .at = 8 * kGibibyte};
  EXPECT_EQ(given.outcome(), Outcome::pass);
  given.rows = all_reduce_at(184.9);
  const auto finding = given.judged();
  EXPECT_EQ(finding.check, "bench.min_busbw");
  EXPECT_EQ(finding.outcome, Outcome::fail);
  EXPECT_EQ(finding.message,
            "184.90 GB/s for all_reduce of 8 GiB out of place; fails below 185 GB/s (--min-busbw)");
}

TEST(MinBusbwTest, IsForTheLargestSizeByDefault) {
  Given given{{all_reduce_at(10, kRanks, 1)[0], all_reduce_at(187)[0]}};
  given.own.min_busbw = BytesPerSecond{185e9};
  EXPECT_EQ(given.outcome(), Outcome::pass);
  given.own.at = kGibibyte;
  EXPECT_EQ(given.outcome(), Outcome::fail);
}

TEST(MinBusbwTest, IsUnknownIfItCannotBeMeasured) {
  Given given{all_reduce_at(187)};
  given.own = {.min_busbw = BytesPerSecond{1e9}, .at = 4 * kGibibyte};
  EXPECT_EQ(given.outcome(), Outcome::unknown);
  EXPECT_THAT(given.judged().message, EndsWith("run with --max 4GiB"));
  given.rows.clear();
  EXPECT_EQ(given.outcome(), Outcome::unknown);
  given.rows = all_reduce_at(1, 2, 4);
  given.facts.ranks = 1;
  EXPECT_EQ(given.outcome(), Outcome::unknown);
}

TEST(RepeatTest, AValueNearOrBelowItsLimitIsMeasuredAgain) {
  EXPECT_TRUE(needs_repeat(184.9e9, {}, 185e9));
  EXPECT_TRUE(needs_repeat(100e9, {}, 185e9));
  EXPECT_TRUE(needs_repeat(188e9, {}, 185e9));
  EXPECT_FALSE(needs_repeat(189e9, {}, 185e9));
  EXPECT_FALSE(needs_repeat(200e9, Interval{190e9, 210e9}, 185e9));
  EXPECT_TRUE(needs_repeat(200e9, Interval{180e9, 210e9}, 185e9));
}

TEST(RepeatTest, RunsTwiceMoreAndThenStops) {
  auto rows = all_reduce_at(186);
  rows.insert(rows.begin(), row_at(all_reduce_of(1024), kRanks, 0.1));
  EXPECT_EQ(to_repeat(rows, nd_a100(), two_nodes()), all_reduce_of(8 * kGibibyte));
  for (int i = 0; i < kRepeats; ++i) rows.push_back(rows[1]);
  EXPECT_EQ(to_repeat(rows, nd_a100(), two_nodes()), std::nullopt);
  EXPECT_EQ(to_repeat(all_reduce_at(195), nd_a100(), two_nodes()), std::nullopt);
}

TEST(RepeatTest, ANoisyValueFarAboveItsLimitIsMeasuredAgain) {
  auto rows = all_reduce_at(200);
  std::vector<double> noisy(20, 200);
  for (std::size_t i = 0; i < 7; ++i) noisy[i] = 150;
  for (std::size_t i = 7; i < 14; ++i) noisy[i] = 260;
  rows[0].in_place = timing_at(rows[0].operation, kRanks, noisy);
  rows[0].out_of_place.reset();
  EXPECT_EQ(rows[0].in_place->judged.bus, 200e9);
  EXPECT_EQ(to_repeat(rows, nd_a100(), two_nodes()), rows[0].operation);
}

}  // namespace
}  // namespace muster::bench
