// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "lib/state/counters.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/linked_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::gpu_pcie_replay_test {
namespace {

using ::testing::ElementsAre;

Findings judge(const Snapshot& snapshot, const Profile& profile = linked_node::profile()) {
  return ask(checks::gpu_pcie_replay::check, snapshot, profile);
}

Expected not_told(Outcome outcome) { return {.device = "gpu0", .outcome = outcome}; }

Snapshot seen() {
  Snapshot node = linked_node::node();
  linked_node::all_seen_before(node);
  return node;
}

Expected too_many(double per_minute, double limit) {
  return {.device = "gpu0",
          .outcome = Outcome::warn,
          .observed = per_minute,
          .limit = limit,
          .unit = "per minute",
          .remedy = Remedy::watch,
          .seen_by = {{.check = "pci.errors", .device = "0001:00:00.0"}}};
}

TEST(GpuPcieReplayTest, PassesLinksWithoutReplays) {
  EXPECT_THAT(judge(seen()), ElementsAre(passes()));
}

TEST(GpuPcieReplayTest, WarnsOfMoreThanTheLinksBitRateAllows) {
  Snapshot node = seen();
  auto& link = gpu_node::gpu(node, 0).link;
  link.replays = 1800U;  // 30 a minute; x16 of the fifth generation may have 30.72
  EXPECT_THAT(judge(node), ElementsAre(passes()));
  link.replays = 2400U;
  const double limit = 1e-12 * 32e9 * 60 * 16;
  EXPECT_THAT(judge(node), ElementsAre(too_many(40, limit), passes()));
}

TEST(GpuPcieReplayTest, TheLimitGoesByGenerationAndLanes) {
  struct Link {
    Fact<unsigned> generation;
    Fact<unsigned> generation_max;
    Fact<unsigned> width;
    double limit;
  };

  const auto untold = Fact<unsigned>::absent("Not Supported (3)");
  for (const auto& [generation, most, width, limit] :
       {Link{1U, 1U, 16U, 2.4}, Link{1U, 2U, 16U, 4.8}, Link{1U, 3U, 16U, 7.68},
        Link{4U, 4U, 16U, 15.36}, Link{1U, 5U, 8U, 15.36}, Link{6U, 6U, 16U, 61.44},
        Link{4U, untold, 16U, 15.36}, Link{1U, 4U, untold, 15.36}}) {
    Snapshot node = seen();
    gpu_node::gpu(node, 0).link = {.generation = generation,
                                   .generation_max = most,
                                   .width = width,
                                   .width_max = 16U,
                                   .replays = 6000U};
    const auto found = judge(node).front();
    EXPECT_EQ(found.outcome, Outcome::warn);
    EXPECT_DOUBLE_EQ(std::get<double>(found.limit), limit);
  }
}

TEST(GpuPcieReplayTest, TheProfilesLimitGoesFirst) {
  Profile profile = linked_node::profile();
  profile.gpu->pcie_replay.warn_above_per_minute = 4;
  Snapshot node = seen();
  gpu_node::gpu(node, 0).link = {.replays = 300U};
  EXPECT_THAT(judge(node, profile), ElementsAre(too_many(5, 4), passes()));
  gpu_node::gpu(node, 0).link.replays = 240U;
  EXPECT_THAT(judge(node, profile), ElementsAre(passes()));
}

TEST(GpuPcieReplayTest, AFewReplaysSecondsAfterARunAreNoRateOfAnHour) {
  Snapshot node = linked_node::node();
  for (const auto& [key, value] : counters_of(node)) {
    linked_node::seen_before(node, key, value, 10);
  }
  gpu_node::gpu(node, 0).link.replays = 50U;
  EXPECT_THAT(judge(node), ElementsAre(passes()));
}

TEST(GpuPcieReplayTest, SkipsTheFirstObservationAndAClearedCounter) {
  const Expected first{.device = "node", .outcome = Outcome::skip};
  Snapshot node = linked_node::node();
  gpu_node::gpu(node, 0).link.replays = 70000U;
  EXPECT_THAT(judge(node), ElementsAre(first));
  for (const auto& [key, value] : counters_of(node)) linked_node::seen_before(node, key, 90000);
  EXPECT_THAT(judge(node), ElementsAre(first));
}

TEST(GpuPcieReplayTest, IsUnknownForMissingPairs) {
  const auto gone = Fact<std::uint64_t>::absent("Not Supported (3)");
  const auto broken = Fact<unsigned>::unreadable("Unknown Error (999)");
  Snapshot node = seen();
  auto& link = gpu_node::gpu(node, 0).link;
  link.replays = gone;
  EXPECT_EQ(judge(node).front(), not_told(Outcome::skip));
  link.replays = Fact<std::uint64_t>::unreadable("Unknown Error (999)");
  EXPECT_EQ(judge(node).front(), not_told(Outcome::unknown));
  link.replays = 5U;
  link.width = broken;
  link.width_max = broken;
  EXPECT_EQ(judge(node).front(), not_told(Outcome::unknown));
  link.generation = broken;
  link.generation_max = broken;
  EXPECT_EQ(judge(node).front(), not_told(Outcome::unknown));
  link = {.generation = 9U, .generation_max = 9U, .width = 16U, .width_max = 16U, .replays = 5U};
  EXPECT_EQ(judge(node).front(), not_told(Outcome::unknown));
}

TEST(GpuPcieReplayTest, KnowsNothingOfASaturatedCounter) {
  Snapshot node = seen();
  gpu_node::gpu(node, 0).link.replays = 0xffffffffU;
  Expected saturated = not_told(Outcome::unknown);
  saturated.observed = std::int64_t{4294967295};
  EXPECT_THAT(judge(node), ElementsAre(saturated, passes()));
}

TEST(GpuPcieReplayTest, NeedsTheTimeSinceBoot) {
  Snapshot node = seen();
  node.identity->uptime_s = Fact<double>::unreadable("empty");
  EXPECT_THAT(judge(node), ElementsAre(unknown()));
}

}  // namespace
}  // namespace muster::gpu_pcie_replay_test
