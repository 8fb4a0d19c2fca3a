// SPDX-License-Identifier: Apache-2.0
#include "bench/results/bandwidth.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "lib/profile/limits/bench.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "lib/profile/load.hpp"
#include "tests/bench/results/sample_rows.hpp"

namespace muster::bench {
namespace {

using ::testing::HasSubstr;

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
  struct Case {
    double gbps;
    Outcome outcome;
  };

  for (const auto& [gbps, outcome] : {Case{187, Outcome::pass}, Case{185, Outcome::pass},
                                      Case{184.9, Outcome::fail}, Case{10, Outcome::fail}}) {
    EXPECT_EQ(judge(all_reduce_at(gbps), nd_a100(), two_nodes()).outcome, outcome) << gbps;
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
  EXPECT_THAT(judge(all_reduce_at(184.9996), nd_a100(), two_nodes()).message,
              testing::StartsWith("184.9996 GB/s for"));
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
  auto rows = all_reduce_at(187);
  rows[0].in_place = timing_at(rows[0].operation, kRanks, {184});
  const auto finding = judge(rows, nd_a100(), two_nodes());
  EXPECT_EQ(finding.outcome, Outcome::fail);
  EXPECT_THAT(finding.message,
              testing::StartsWith("184.00 GB/s for all_reduce of 8 GiB in place;"));
  rows[0].out_of_place.reset();
  EXPECT_EQ(judge(rows, nd_a100(), two_nodes()).outcome, Outcome::fail);
}

TEST(JudgeTest, JudgesTheMedianOfIterations) {
  auto rows = all_reduce_at(187);
  rows[0].in_place.reset();
  rows[0].out_of_place = timing_at(rows[0].operation, kRanks, {187, 187, 187, 187, 20});
  EXPECT_LT(rows[0].out_of_place->shown.bus, 90e9);
  EXPECT_EQ(judge(rows, nd_a100(), two_nodes()).outcome, Outcome::pass);
}

TEST(JudgeTest, IgnoresOtherSizes) {
  auto rows = all_reduce_at(187);
  rows.insert(rows.begin(), row_at(all_reduce_of(1024), kRanks, 0.001));
  EXPECT_EQ(judge(rows, nd_a100(), two_nodes()).outcome, Outcome::pass);
  rows.push_back(row_at(all_reduce_of(16 * kGibibyte), kRanks, 300));
  rows[1] = row_at(all_reduce_of(8 * kGibibyte), kRanks, 184);
  EXPECT_EQ(judge(rows, nd_a100(), two_nodes()).outcome, Outcome::fail);
}

TEST(JudgeTest, JudgesTheMedianOfThreeRuns) {
  struct Case {
    std::vector<double> runs;
    Outcome outcome;
    std::string runs_text;
  };
  for (const auto& [runs, outcome, text] :
       {Case{{184, 186, 186}, Outcome::pass, "184.00, 186.00, 186.00"},
        Case{{184, 184.5, 190}, Outcome::fail, "184.00, 184.50, 190.00"},
        Case{{186, 184, 184}, Outcome::fail, "186.00, 184.00, 184.00"}}) {
    std::vector<Row> rows;
    for (const double gbps : runs) rows.push_back(all_reduce_at(gbps).front());
    const auto finding = judge(rows, nd_a100(), two_nodes());
    EXPECT_EQ(finding.outcome, outcome);
    EXPECT_THAT(finding.message, HasSubstr(fmt::format("the median of {};", text)));
  }
}

TEST(JudgeTest, WarnsOfOneSlowCycle) {
  std::vector<Row> rows;
  for (int cycle = 0; cycle < 20; ++cycle) {
    rows.push_back(all_reduce_at(cycle == 13 ? 120 : 189).front());
  }
  const auto finding = judge(rows, nd_a100(), two_nodes());
  EXPECT_EQ(finding.outcome, Outcome::warn);
  EXPECT_THAT(finding.message,
              testing::AllOf(HasSubstr("the median of 20 runs from 120.00 to 189.00;"),
                             HasSubstr("1 of 20 runs were below the limit")));
  rows[13] = rows[0];
  EXPECT_EQ(judge(rows, nd_a100(), two_nodes()).outcome, Outcome::pass);
}

// A run without an applicable limit must not look healthy.
TEST(JudgeTest, IsUnknownWithoutAnApplicableLimit) {
  struct Case {
    Outcome outcome;
    std::string_view why;
    void (*change)(Profile&, RunFacts&, std::vector<Row>&);
    std::string message;
  };

  const std::vector<Case> cases{
      {Outcome::unknown, "another size",
       [](Profile&, RunFacts&, std::vector<Row>& rows) { rows = all_reduce_at(1, kRanks, 4); },
       "run with --max 8GiB"},
      {Outcome::unknown, "no limit",
       [](Profile& profile, RunFacts&, std::vector<Row>&) {
         profile.bench->job_all_reduce.clear();
       },
       "has no limit for all_reduce on 2 nodes"},
      {Outcome::unknown, "fewer nodes than any limit asks for",
       [](Profile& profile, RunFacts&, std::vector<Row>&) {
         profile.bench->job_all_reduce[0].nodes_at_least = 3;
       },
       "has no limit for all_reduce on 2 nodes"},
      {Outcome::unknown, "another algorithm",
       [](Profile& profile, RunFacts& facts, std::vector<Row>&) {
         profile.bench->job_all_reduce[0].algorithm = BenchAlgorithm::ring;
         facts.algorithm = "Tree";
       },
       "NCCL used tree; run with NCCL_ALGO=Ring"},
      {Outcome::unknown, "an unknown algorithm",
       [](Profile& profile, RunFacts&, std::vector<Row>&) {
         profile.bench->job_all_reduce[0].algorithm = BenchAlgorithm::collnet;
       },
       "NCCL's is unknown; run with NCCL_ALGO=CollNetDirect,CollNetChain"},
      {Outcome::unknown, "another type",
       [](Profile&, RunFacts&, std::vector<Row>& rows) { rows[0].operation.type = Type::bf16; },
       "type float, not bfloat16"},
      {Outcome::unknown, "half the GPUs",
       [](Profile&, RunFacts& facts, std::vector<Row>&) { facts.ranks = 8; },
       "here 8 ranks ran on 2 nodes"},
      {Outcome::unknown, "a GPU is gone, and there is no limit",
       [](Profile& profile, RunFacts& facts, std::vector<Row>&) {
         profile.bench->job_all_reduce.clear();
         facts.ranks = 15;
       },
       "here 15 ranks ran on 2 nodes"},
      {Outcome::unknown, "host memory",
       [](Profile&, RunFacts& facts, std::vector<Row>&) {
         facts.gpus = false;
         facts.backend = "mpi";
       },
       "mpi ran on host memory"},
      {Outcome::unknown, "host memory, and no limit",
       [](Profile& profile, RunFacts& facts, std::vector<Row>&) {
         profile.bench->job_all_reduce.clear();
         facts.gpus = false;
         facts.ranks = 2;
       },
       "has no limit for all_reduce on 2 nodes"},
      {Outcome::skip, "nothing", [](Profile&, RunFacts&, std::vector<Row>& rows) { rows.clear(); },
       "nothing was run"}};
  for (const auto& [outcome, why, change, message] : cases) {
    auto profile = nd_a100();
    auto facts = two_nodes();
    auto rows = all_reduce_at(1);
    change(profile, facts, rows);
    const auto finding = judge(rows, profile, facts);
    EXPECT_EQ(finding.check, "bench.job_all_reduce") << why;
    EXPECT_EQ(finding.device, "job") << why;
    EXPECT_EQ(finding.outcome, outcome) << why;
    EXPECT_THAT(finding.message, HasSubstr(message)) << why;
    EXPECT_EQ(to_repeat(rows, profile, facts), std::nullopt) << why;
  }
}

TEST(JudgeTest, ASettingOfTheJobDoesNotAccuseItsNode) {
  auto facts = one_node();
  facts.limited_by = "NCCL_P2P_DISABLE=1";
  const auto finding = judge(all_reduce_at(10, 8), nd_a100(), facts);
  EXPECT_EQ(finding.outcome, Outcome::unknown);
  EXPECT_EQ(finding.remedy, Remedy::fix_config);
  EXPECT_THAT(finding.message, HasSubstr("; the job sets NCCL_P2P_DISABLE=1"));
  EXPECT_EQ(judge(all_reduce_at(230, 8), nd_a100(), facts).outcome, Outcome::pass);
  const OwnLimit own{.min_busbw = BytesPerSecond{20e9}};
  EXPECT_EQ(judge(all_reduce_at(10, 8), nd_a100(), facts, own).outcome, Outcome::fail);
  auto several = two_nodes();
  several.limited_by = facts.limited_by;
  EXPECT_EQ(judge(all_reduce_at(10), nd_a100(), several).outcome, Outcome::fail);
}

TEST(JudgeTest, OneRankIsNotJudged) {
  auto facts = one_node();
  facts.ranks = 1;
  auto profile = nd_a100();
  profile.gpu->present.count = 1;
  const auto finding = judge(all_reduce_at(1, 2), profile, facts);
  EXPECT_EQ(finding.outcome, Outcome::unknown);
  EXPECT_EQ(finding.message, "one rank has no bus bandwidth");
}

TEST(JudgeTest, ANodeThatLostAGpuIsNotJudged) {
  auto facts = one_node();
  facts.ranks = 7;
  auto operation = all_reduce_of(8 * kGibibyte);
  for (const auto collective : {Collective::all_reduce, Collective::alltoall}) {
    operation.collective = collective;
    const auto finding = judge({row_at(operation, 7, 300)}, nd_a100(), facts);
    EXPECT_EQ(finding.outcome, Outcome::unknown);
    EXPECT_THAT(finding.message, testing::EndsWith("here 7 ranks ran on one node"));
  }
  facts.ranks = 1;
  EXPECT_THAT(judge(all_reduce_at(1, 2), nd_a100(), facts).message,
              testing::EndsWith("here one rank ran on one node"));
}

// The limits are like ND H100 v5's: NCCL uses another algorithm if NVLS is not available.
TEST(JudgeTest, FallingBackFromNvlsFailsBelowItsLimitAndIsUnknownAbove) {
  auto profile = nd_a100();
  profile.bench->node_all_reduce.algorithm = BenchAlgorithm::nvls;
  auto facts = one_node();
  facts.algorithm = "RING";
  const auto low = judge(all_reduce_at(10, 8), profile, facts);
  EXPECT_EQ(low.check, "bench.node_all_reduce");
  EXPECT_EQ(low.outcome, Outcome::fail);
  EXPECT_EQ(low.remedy, Remedy::report_to_provider);
  EXPECT_EQ(low.limit, Value(216.0));
  EXPECT_THAT(low.message, testing::EndsWith("NCCL used ring; run with NCCL_ALGO=NVLS"));
  EXPECT_NE(to_repeat(all_reduce_at(10, 8), profile, facts), std::nullopt);
  for (const double gbps : {220.0, 500.0}) {
    const auto high = judge(all_reduce_at(gbps, 8), profile, facts);
    EXPECT_EQ(high.outcome, Outcome::unknown) << gbps;
    EXPECT_EQ(high.remedy, Remedy::none) << gbps;
  }
  facts.algorithm_is_set = true;
  EXPECT_EQ(judge(all_reduce_at(10, 8), profile, facts).outcome, Outcome::unknown);
  facts.algorithm.clear();
  facts.algorithm_is_set = false;
  EXPECT_EQ(judge(all_reduce_at(10, 8), profile, facts).outcome, Outcome::unknown);
  facts.algorithm = "NVLS";
  EXPECT_EQ(judge(all_reduce_at(232, 8), profile, facts).outcome, Outcome::pass);
}

TEST(JudgeTest, OtherCollectivesHaveTheirOwnLimits) {
  auto operation = all_reduce_of(8 * kGibibyte);
  operation.collective = Collective::all_gather;
  const std::vector<Row> rows{row_at(operation, kRanks, 160)};
  const auto shipped = load_profile({}, "nd96asr_v4");
  ASSERT_TRUE(shipped) << shipped.error().message;
  const auto low = judge(rows, *shipped, two_nodes());
  EXPECT_EQ(low.check, "bench.job_all_gather");
  EXPECT_EQ(low.outcome, Outcome::fail);
  operation.collective = Collective::gather;
  const auto unlimited = judge({row_at(operation, kRanks, 160)}, *shipped, two_nodes());
  EXPECT_EQ(unlimited.check, "bench.min_busbw");
  EXPECT_EQ(unlimited.outcome, Outcome::unknown);
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
  auto profile = nd_a100();
  auto& list = profile.bench->job_all_reduce;
  list = {limit(BenchAlgorithm::any, 2, 100), limit(BenchAlgorithm::ring, 3, 180),
          limit(BenchAlgorithm::any, 4, 120), limit(BenchAlgorithm::ring, 16, 190),
          limit(BenchAlgorithm::collnet, 2, 300)};
  auto facts = two_nodes();
  const auto limit_on = [&](int nodes, const char* algorithm) {
    facts.nodes = nodes;
    facts.ranks = nodes * 8;
    facts.algorithm = algorithm;
    auto operation = all_reduce_of(8 * kGibibyte);
    return std::get<double>(judge({row_at(operation, facts.ranks, 50)}, profile, facts).limit);
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
  facts.over = "nvlink";
  EXPECT_EQ(limit_on(2, "RING"), 600);
  facts.over = "infiniband";
  EXPECT_EQ(limit_on(2, "RING"), 100);
}

// The transport that NCCL used does not matter, unless it may not use the domain.
TEST(JudgeTest, JudgesNodesOfOneNvlinkDomainByItsLimit) {
  auto profile = nd_a100();
  auto& list = profile.bench->job_all_reduce;
  list = {limit(BenchAlgorithm::any, 2, 600), limit(BenchAlgorithm::any, 2, 150)};
  list[0].over = BenchOver::nvlink;
  list[1].over = BenchOver::infiniband;
  auto facts = two_nodes();
  facts.over = "infiniband";
  facts.one_domain = true;
  const auto finding = judge(all_reduce_at(187), profile, facts);
  EXPECT_EQ(finding.outcome, Outcome::fail);
  EXPECT_EQ(std::get<double>(finding.limit), 600);
  EXPECT_EQ(finding.remedy, Remedy::fix_config);
  EXPECT_THAT(finding.message, HasSubstr("over NVLink"));
  EXPECT_THAT(finding.message, HasSubstr("NCCL used the network"));

  facts.over = "nvlink";
  EXPECT_EQ(judge(all_reduce_at(937), profile, facts).outcome, Outcome::pass);
  EXPECT_EQ(judge(all_reduce_at(500), profile, facts).remedy, Remedy::report_to_provider);

  facts.over = "infiniband";
  facts.one_domain = false;
  const auto between = judge(all_reduce_at(187), profile, facts);
  EXPECT_EQ(between.outcome, Outcome::pass);
  EXPECT_THAT(between.message, HasSubstr("over InfiniBand"));

  facts.one_domain = true;
  list.erase(list.begin());
  EXPECT_EQ(judge(all_reduce_at(187), profile, facts).outcome, Outcome::pass);
}

TEST(JudgeTest, IsUnknownIfTheLimitOnlyExpects) {
  auto profile = nd_a100();
  profile.bench->job_all_reduce[0].fail_below.reset();
  const auto finding = judge(all_reduce_at(100), profile, two_nodes());
  EXPECT_EQ(finding.outcome, Outcome::unknown);
}

TEST(MinBusbwTest, OverridesTheProfileOnAnyBackEnd) {
  auto facts = two_nodes();
  facts.gpus = false;
  facts.backend = "mpi";
  const OwnLimit demand{.min_busbw = BytesPerSecond{185e9}, .at = 8 * kGibibyte};
  EXPECT_EQ(judge(all_reduce_at(185), {}, facts, demand).outcome, Outcome::pass);
  const auto finding = judge(all_reduce_at(184.9), {}, facts, demand);
  EXPECT_EQ(finding.check, "bench.min_busbw");
  EXPECT_EQ(finding.outcome, Outcome::fail);
  EXPECT_EQ(finding.message,
            "184.90 GB/s for all_reduce of 8 GiB out of place; fails below 185 GB/s (--min-busbw)");
}

TEST(MinBusbwTest, IsForTheLargestSizeByDefault) {
  auto rows = all_reduce_at(10, kRanks, 1);
  rows.push_back(all_reduce_at(187).front());
  EXPECT_EQ(judge(rows, {}, two_nodes(), {.min_busbw = BytesPerSecond{185e9}}).outcome,
            Outcome::pass);
  EXPECT_EQ(
      judge(rows, {}, two_nodes(), {.min_busbw = BytesPerSecond{185e9}, .at = kGibibyte}).outcome,
      Outcome::fail);
}

TEST(MinBusbwTest, IsUnknownIfItCannotBeMeasured) {
  const OwnLimit demand{.min_busbw = BytesPerSecond{1e9}, .at = 4 * kGibibyte};
  const auto finding = judge(all_reduce_at(187), {}, two_nodes(), demand);
  EXPECT_EQ(finding.outcome, Outcome::unknown);
  EXPECT_THAT(finding.message, testing::EndsWith("run with --max 4GiB"));
  EXPECT_EQ(judge({}, {}, two_nodes(), demand).outcome, Outcome::unknown);
  auto alone = one_node();
  alone.ranks = 1;
  EXPECT_EQ(judge(all_reduce_at(1, 2), {}, alone, demand).outcome, Outcome::unknown);
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
