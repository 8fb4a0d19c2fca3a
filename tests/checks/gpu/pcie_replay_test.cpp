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

Finding well(std::string_view gpus) {
  return {.device = "node",
          .outcome = Outcome::pass,
          .message = fmt::format("{} with few PCIe replays", gpus)};
}

Finding not_told(Outcome outcome, std::string message) {
  return {.device = "gpu0", .outcome = outcome, .message = std::move(message)};
}

Snapshot seen() {
  Snapshot node = linked_node::node();
  linked_node::all_seen_before(node);
  return node;
}

Finding too_many(double per_minute, double limit, std::string message) {
  return {.device = "gpu0",
          .outcome = Outcome::warn,
          .message = fmt::format("{} (serial 165092300)", message),
          .observed = per_minute,
          .limit = limit,
          .unit = "per minute",
          .remedy = Remedy::watch,
          .seen_by = {{.check = "pci.errors", .device = "0001:00:00.0"}}};
}

TEST(GpuPcieReplayTest, PassesLinksWithoutReplays) {
  EXPECT_THAT(judge(seen()), ElementsAre(well("2 GPUs")));
}

TEST(GpuPcieReplayTest, WarnsOfMoreThanTheLinksBitRateAllows) {
  Snapshot node = seen();
  auto& link = gpu_node::gpu(node, 0).link;
  link.replays = 1800U;  // 30 a minute; x16 of the fifth generation may have 30.72
  EXPECT_THAT(judge(node), ElementsAre(well("2 GPUs")));
  link.replays = 2400U;
  const double limit = 1e-12 * 32e9 * 60 * 16;
  EXPECT_THAT(judge(node),
              ElementsAre(too_many(40, limit, "40.0 PCIe replays per minute in 60 min, limit 30.7"),
                          well("1 GPU")));
}

TEST(GpuPcieReplayTest, TheLimitGoesByGenerationAndLanes) {
  struct Link {
    Fact<unsigned> generation;
    Fact<unsigned> generation_max;
    Fact<unsigned> width;
    std::string_view limit;
  };

  const auto untold = Fact<unsigned>::absent("Not Supported (3)");
  for (const auto& [generation, most, width, limit] :
       {Link{1U, 1U, 16U, "2.4"}, Link{1U, 2U, 16U, "4.8"}, Link{1U, 3U, 16U, "7.7"},
        Link{4U, 4U, 16U, "15.4"}, Link{1U, 5U, 8U, "15.4"}, Link{6U, 6U, 16U, "61.4"},
        Link{4U, untold, 16U, "15.4"}, Link{1U, 4U, untold, "15.4"}}) {
    Snapshot node = seen();
    gpu_node::gpu(node, 0).link = {.generation = generation,
                                   .generation_max = most,
                                   .width = width,
                                   .width_max = 16U,
                                   .replays = 6000U};
    EXPECT_EQ(
        judge(node).front().message,
        fmt::format("100.0 PCIe replays per minute in 60 min, limit {} (serial 165092300)", limit));
  }
}

TEST(GpuPcieReplayTest, TheProfilesLimitGoesFirst) {
  Profile profile = linked_node::profile();
  profile.gpu->pcie_replay.warn_above_per_minute = 4;
  Snapshot node = seen();
  gpu_node::gpu(node, 0).link = {.replays = 300U};
  EXPECT_THAT(judge(node, profile),
              ElementsAre(too_many(5, 4, "5.0 PCIe replays per minute in 60 min, limit 4.0"),
                          well("1 GPU")));
  gpu_node::gpu(node, 0).link.replays = 240U;
  EXPECT_THAT(judge(node, profile), ElementsAre(well("2 GPUs")));
}

TEST(GpuPcieReplayTest, AFewReplaysSecondsAfterARunAreNoRateOfAnHour) {
  Snapshot node = linked_node::node();
  for (const auto& [key, value] : counters_of(node)) {
    linked_node::seen_before(node, key, value, 10);
  }
  gpu_node::gpu(node, 0).link.replays = 50U;
  EXPECT_THAT(judge(node), ElementsAre(well("2 GPUs")));
}

TEST(GpuPcieReplayTest, SkipsTheFirstObservationAndAClearedCounter) {
  const Finding first{.device = "node",
                      .outcome = Outcome::skip,
                      .message =
                          "PCIe replays of 2 GPUs seen for the first time in this boot, or "
                          "cleared since: no rate yet"};
  Snapshot node = linked_node::node();
  gpu_node::gpu(node, 0).link.replays = 70000U;
  EXPECT_THAT(judge(node), ElementsAre(first));
  for (const auto& [key, value] : counters_of(node)) linked_node::seen_before(node, key, 90000);
  EXPECT_THAT(judge(node), ElementsAre(first));
}

TEST(GpuPcieReplayTest, SaysWhatIsNotTold) {
  const auto gone = Fact<std::uint64_t>::absent("Not Supported (3)");
  const auto broken = Fact<unsigned>::unreadable("Unknown Error (999)");
  Snapshot node = seen();
  auto& link = gpu_node::gpu(node, 0).link;
  link.replays = gone;
  EXPECT_EQ(judge(node).front(),
            not_told(Outcome::skip, "the number of PCIe replays is not known: Not Supported (3)"));
  link.replays = Fact<std::uint64_t>::unreadable("Unknown Error (999)");
  EXPECT_EQ(
      judge(node).front(),
      not_told(Outcome::unknown, "the number of PCIe replays is not known: Unknown Error (999)"));
  link.replays = 5U;
  link.width = broken;
  link.width_max = broken;
  EXPECT_EQ(judge(node).front(),
            not_told(Outcome::unknown, "the PCIe width is not known: Unknown Error (999)"));
  link.generation = broken;
  link.generation_max = broken;
  EXPECT_EQ(judge(node).front(),
            not_told(Outcome::unknown, "the PCIe generation is not known: Unknown Error (999)"));
  link = {.generation = 9U, .generation_max = 9U, .width = 16U, .width_max = 16U, .replays = 5U};
  EXPECT_EQ(judge(node).front(),
            not_told(Outcome::unknown, "the speed of PCIe generation 9 is not known"));
}

TEST(GpuPcieReplayTest, KnowsNothingOfASaturatedCounter) {
  Snapshot node = seen();
  gpu_node::gpu(node, 0).link.replays = 0xffffffffU;
  Finding saturated = not_told(Outcome::unknown,
                               "the counter of PCIe replays is saturated at 4294967295: loading "
                               "the driver again clears it");
  saturated.observed = std::int64_t{4294967295};
  EXPECT_THAT(judge(node), ElementsAre(saturated, well("1 GPU")));
}

TEST(GpuPcieReplayTest, NeedsTheTimeSinceBoot) {
  Snapshot node = seen();
  node.identity->uptime_s = Fact<double>::unreadable("empty");
  EXPECT_THAT(judge(node),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::unknown,
                                  .message = "the time since boot, which rates need, is not "
                                             "known: empty"}));
}

}  // namespace
}  // namespace muster::gpu_pcie_replay_test
