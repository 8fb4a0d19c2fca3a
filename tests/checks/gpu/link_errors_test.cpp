// SPDX-License-Identifier: Apache-2.0
// Errors of the NVLinks and PCIe links of GPUs.
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/linked_node.hpp"

namespace muster::gpu_link_errors_test {
namespace {

constexpr AskedCheck judge_nvlink{checks::gpu_nvlink_errors::check, linked_node::profile};

// Seen an hour ago with all counters at zero.
Snapshot seen() {
  Snapshot node = linked_node::node();
  linked_node::all_seen_before(node);
  return node;
}

Expected bad(Outcome outcome, checks::Values values) {
  return finds(outcome, "gpu0",
               outcome == Outcome::fail ? Remedy::report_to_provider : Remedy::watch,
               std::move(values));
}

TEST(GpuNvlinkErrorsTest, LeavesAnInactiveLinkToGpuNvlinkState) {
  Snapshot node = seen();
  EXPECT_THAT(judge_nvlink(node), ElementsAre(passes()));
  auto& link = link_of(node, 0, 4);
  link.state = 0U;
  link.recoveries = 20U;
  link.crc = unreadable();
  link.ber = 1e-3;
  EXPECT_THAT(judge_nvlink(node), ElementsAre(passes()));
}

TEST(GpuNvlinkErrorsTest, CountsLinksThatAppearLater) {
  Snapshot node = seen();
  for (auto& link : *gpu_of(node, 0).nvlinks) link.ber = absent("Not Supported (3)");
  std::erase_if(node.earlier.counters, [](const auto& entry) {
    return entry.first.starts_with("gpu.0001:00:00.0.nvlink.");
  });
  EXPECT_THAT(judge_nvlink(node), ElementsAre(passes()));
}

TEST(GpuNvlinkErrorsTest, TheFirstRunJudgesTheBitErrorRateOnly) {
  Snapshot node = linked_node::node();
  link_of(node, 0, 0).replays = 1000U;
  EXPECT_THAT(judge_nvlink(node), ElementsAre(passes()));
  linked_node::each_link(node, [](NvLink& link) { link.ber = absent("Not Supported (3)"); });
  EXPECT_THAT(judge_nvlink(node), ElementsAre(skips()));
}

TEST(GpuNvlinkErrorsTest, FailsABitErrorRateAboveTheLimitAtOnce) {
  Snapshot node = linked_node::node();
  link_of(node, 0, 4).ber = 2e-11;
  EXPECT_EQ(judge_nvlink(node).front(), bad(Outcome::fail, {2e-11, 1e-12}));
  link_of(node, 0, 11).ber = 3e-10;
  EXPECT_EQ(judge_nvlink(node).front(), bad(Outcome::fail, {3e-10, 1e-12}));
  link_of(node, 0, 4).ber = 1e-12;
  link_of(node, 0, 11).ber = 0.0;
  EXPECT_EQ(judge_nvlink(node).front().outcome, Outcome::pass);
}

Expected checksums(double rate) { return bad(Outcome::fail, {rate, 100.0, "per second"}); }

TEST(GpuNvlinkErrorsTest, FailsAHundredChecksumErrorsPerSecond) {
  Snapshot node = seen();
  link_of(node, 0, 4).crc = 359999U;
  EXPECT_THAT(judge_nvlink(node), ElementsAre(passes()));
  link_of(node, 0, 4).crc = 360000U;
  EXPECT_THAT(judge_nvlink(node), ElementsAre(checksums(100), passes()));
  link_of(node, 0, 5).crc = 540000U;
  EXPECT_THAT(judge_nvlink(node), ElementsAre(checksums(150), passes()));
}

TEST(GpuNvlinkErrorsTest, ABurstIsARateOverAnHour) {
  Snapshot node = linked_node::node();
  for (const auto& [key, value] : counters_of(node)) linked_node::seen_before(node, key, value, 10);
  link_of(node, 0, 4).crc = 5000U;
  EXPECT_EQ(judge_nvlink(node).front().outcome, Outcome::pass);
}

TEST(GpuNvlinkErrorsTest, WarnsOfRecoveriesAndReplays) {
  Snapshot node = seen();
  link_of(node, 0, 4).replays = 12U;
  EXPECT_THAT(judge_nvlink(node), ElementsAre(bad(Outcome::warn, {12, 0}), passes()));
  link_of(node, 0, 4).recoveries = 1U;
  EXPECT_THAT(judge_nvlink(node), ElementsAre(bad(Outcome::warn, {1, 0}), passes()));
  link_of(node, 0, 5).recoveries = 3U;
  EXPECT_EQ(judge_nvlink(node).front(), warns("gpu0", Remedy::watch, {3, 0}));
}

TEST(GpuNvlinkErrorsTest, RemembersARecoveryForItsWindow) {
  Snapshot node = seen();
  link_of(node, 0, 4).recoveries = 1U;
  const std::string key = "gpu.0001:00:00.0.nvlink.4.recoveries";
  auto& changes = node.earlier.counters.at(key);
  changes = {{.uptime_s = linked_node::kUptime - 36000, .value = 0},
             {.uptime_s = linked_node::kUptime - 20000, .value = 1}};
  EXPECT_EQ(judge_nvlink(node).front().outcome, Outcome::warn);
  changes = {{.uptime_s = linked_node::kUptime - 200000, .value = 0},
             {.uptime_s = linked_node::kUptime - 100000, .value = 1}};
  EXPECT_EQ(judge_nvlink(node).front().outcome, Outcome::pass);
}

TEST(GpuNvlinkErrorsTest, ReportsOnlyTheWorstOfOneGpu) {
  Snapshot node = seen();
  auto& link = link_of(node, 0, 4);
  link.replays = 12U;
  link.recoveries = 1U;
  link.crc = 720000U;
  EXPECT_THAT(judge_nvlink(node), ElementsAre(checksums(200), passes()));
  link.ber = 2e-11;
  EXPECT_THAT(judge_nvlink(node), ElementsAre(bad(Outcome::fail, {2e-11, 1e-12}), passes()));
}

TEST(GpuNvlinkErrorsTest, StartsAfreshIfCountersWentDown) {
  Snapshot node = linked_node::node();
  for (const auto& [key, value] : counters_of(node)) linked_node::seen_before(node, key, 500);
  for (auto& link : *gpu_of(node, 0).nvlinks) link.recoveries = 3U;
  EXPECT_EQ(judge_nvlink(node).front().outcome, Outcome::pass);
}

TEST(GpuNvlinkErrorsTest, IsUnknownForUnreadableFacts) {
  Snapshot node = seen();
  link_of(node, 0, 4).crc = unreadable();
  link_of(node, 0, 4).replays = unreadable();
  EXPECT_THAT(judge_nvlink(node), ElementsAre(unknown("gpu0"), passes()));
  link_of(node, 0, 11).ber = unreadable();
  EXPECT_EQ(judge_nvlink(node).front(), unknown("gpu0"));
  gpu_of(node, 0).nvlinks = unreadable();
  EXPECT_THAT(judge_nvlink(node), ElementsAre(unknown("gpu0"), passes()));
  node.identity->uptime_s = unreadable();
  EXPECT_THAT(judge_nvlink(node), ElementsAre(unknown()));
}

TEST(GpuNvlinkErrorsTest, ASaturatedCounterWarnsAndHidesNoFailure) {
  for (const std::uint64_t end : {0xffffffffUL, 0xffffffffffffffffUL}) {
    for (Snapshot node : {seen(), linked_node::node()}) {
      link_of(node, 0, 4).crc = end;
      EXPECT_THAT(judge_nvlink(node), ElementsAre(warns("gpu0", Remedy::watch), passes()));
      link_of(node, 0, 5).ber = 2e-11;
      EXPECT_EQ(judge_nvlink(node).front().outcome, Outcome::fail);
    }
  }
}

TEST(GpuNvlinkErrorsTest, SkipsWithoutErrorCounters) {
  Snapshot node = seen();
  gpu_of(node, 0).nvlinks = absent("Not Supported (3)");
  gpu_of(node, 1).nvlinks = std::vector<NvLink>();
  EXPECT_THAT(judge_nvlink(node), ElementsAre(skips()));
  gpu_of(node, 1).nvlinks = std::vector<NvLink>{{.link = 0, .state = 1U}};
  EXPECT_THAT(judge_nvlink(node), ElementsAre(skips()));
}

TEST(GpuNvlinkErrorsTest, SkipsWithoutLimits) {
  EXPECT_THAT(judge_nvlink(seen(), Profile{}), ElementsAre(skips()));
  Profile one = linked_node::profile();
  one.gpu->nvlink_errors = {.replays_warn_above = 10, .window = Seconds{3600}};
  Snapshot node = seen();
  auto& link = link_of(node, 0, 4);
  link.replays = 10U;
  link.recoveries = 10U;
  link.crc = 999999U;
  link.ber = 1.0;
  EXPECT_THAT(judge_nvlink(node, one), ElementsAre(is(Outcome::pass)));
  link.replays = 11U;
  EXPECT_EQ(judge_nvlink(node, one).front(), warns("gpu0", Remedy::watch, {11, 10}));
}

// Like Blackwell: no replays, no CRC.
Snapshot blackwell() {
  Snapshot node = linked_node::node();
  linked_node::each_link(node, [](NvLink& link) {
    link.replays = absent("Not Supported (3)");
    link.crc = link.replays;
    link.failed_recoveries = 0U;
    link.receive_errors = 0U;
    link.integrity_errors = 0U;
  });
  linked_node::all_seen_before(node);
  return node;
}

TEST(GpuNvlinkErrorsTest, BlackwellsCountersAreJudged) {
  Profile profile = linked_node::profile();
  auto& limits = profile.gpu->nvlink_errors;
  limits.recoveries_warn_above = 3;
  limits.failed_recoveries_fail_above = 0;
  limits.damaged_warn_above = 100;
  const auto worst = [&](const Snapshot& node) { return judge_nvlink(node, profile).front(); };
  EXPECT_EQ(worst(blackwell()).outcome, Outcome::pass);
  Snapshot busy = blackwell();
  link_of(busy, 0, 2).recoveries = 3U;
  link_of(busy, 0, 2).receive_errors = 60U;
  link_of(busy, 0, 2).integrity_errors = 40U;
  EXPECT_EQ(worst(busy).outcome, Outcome::pass);
  link_of(busy, 0, 2).receive_errors = 61U;
  EXPECT_EQ(worst(busy), warns("gpu0", Remedy::watch, {101, 100}));
  link_of(busy, 0, 2).recoveries = 101U;
  EXPECT_EQ(worst(busy), warns("gpu0", Remedy::watch, {101, 3}));
  link_of(busy, 0, 2).failed_recoveries = 1U;
  EXPECT_EQ(worst(busy), fails("gpu0", Remedy::report_to_provider, {1, 0}));
}

constexpr AskedCheck judge_pcie{checks::gpu_pcie_replay::check, linked_node::profile};

Expected too_many(double per_minute, double limit) {
  return finds(Outcome::warn, "gpu0", Remedy::watch, {per_minute, limit, "per minute"}, "",
               {{"pci.errors", "0001:00:00.0"}});
}

TEST(GpuPcieReplayTest, WarnsOfMoreThanTheLinksBitRateAllows) {
  Snapshot node = seen();
  auto& link = gpu_of(node, 0).link;
  link.replays = 1800U;  // 30 a minute; x16 of the fifth generation may have 30.72
  EXPECT_THAT(judge_pcie(node), ElementsAre(passes()));
  link.replays = 2400U;
  const double limit = 1e-12 * 32e9 * 60 * 16;
  EXPECT_THAT(judge_pcie(node), ElementsAre(too_many(40, limit), passes()));
}

TEST(GpuPcieReplayTest, TheLimitGoesByGenerationAndLanes) {
  struct Link {
    Fact<unsigned> generation;
    Fact<unsigned> generation_max;
    Fact<unsigned> width;
    double limit;
  };

  const auto unreported = Fact<unsigned>::absent("Not Supported (3)");
  for (const auto& [generation, most, width, limit] :
       {Link{1U, 1U, 16U, 2.4}, Link{1U, 2U, 16U, 4.8}, Link{1U, 3U, 16U, 7.68},
        Link{4U, 4U, 16U, 15.36}, Link{1U, 5U, 8U, 15.36}, Link{6U, 6U, 16U, 61.44},
        Link{4U, unreported, 16U, 15.36}, Link{1U, 4U, unreported, 15.36}}) {
    Snapshot node = seen();
    gpu_of(node, 0).link = {.generation = generation,
                            .generation_max = most,
                            .width = width,
                            .width_max = 16U,
                            .replays = 6000U};
    const auto found = judge_pcie(node).front();
    EXPECT_EQ(found.outcome, Outcome::warn);
    EXPECT_DOUBLE_EQ(std::get<double>(found.limit), limit);
  }
}

TEST(GpuPcieReplayTest, TheProfilesLimitGoesFirst) {
  Profile profile = linked_node::profile();
  profile.gpu->pcie_replay.warn_above_per_minute = 4;
  Snapshot node = seen();
  gpu_of(node, 0).link = {.replays = 300U};
  EXPECT_THAT(judge_pcie(node, profile), ElementsAre(too_many(5, 4), passes()));
  gpu_of(node, 0).link.replays = 240U;
  EXPECT_THAT(judge_pcie(node, profile), ElementsAre(passes()));
}

TEST(GpuPcieReplayTest, AFewReplaysSecondsAfterARunAreNoRateOfAnHour) {
  Snapshot node = linked_node::node();
  for (const auto& [key, value] : counters_of(node)) linked_node::seen_before(node, key, value, 10);
  gpu_of(node, 0).link.replays = 50U;
  EXPECT_THAT(judge_pcie(node), ElementsAre(passes()));
}

TEST(GpuPcieReplayTest, SkipsTheFirstObservationAndAClearedCounter) {
  Snapshot node = linked_node::node();
  gpu_of(node, 0).link.replays = 70000U;
  EXPECT_THAT(judge_pcie(node), ElementsAre(skips()));
  for (const auto& [key, value] : counters_of(node)) linked_node::seen_before(node, key, 90000);
  EXPECT_THAT(judge_pcie(node), ElementsAre(skips()));
}

TEST(GpuPcieReplayTest, IsUnknownForMissingPairs) {
  const auto gone = Fact<std::uint64_t>::absent("Not Supported (3)");
  const auto broken = Fact<unsigned>::unreadable("Unknown Error (999)");
  Snapshot node = seen();
  auto& link = gpu_of(node, 0).link;
  link.replays = gone;
  EXPECT_EQ(judge_pcie(node).front(), skips("gpu0"));
  link.replays = unreadable();
  EXPECT_EQ(judge_pcie(node).front(), unknown("gpu0"));
  link.replays = 5U;
  link.width = broken;
  link.width_max = broken;
  EXPECT_EQ(judge_pcie(node).front(), unknown("gpu0"));
  link.generation = broken;
  link.generation_max = broken;
  EXPECT_EQ(judge_pcie(node).front(), unknown("gpu0"));
  link = {.generation = 9U, .generation_max = 9U, .width = 16U, .width_max = 16U, .replays = 5U};
  EXPECT_EQ(judge_pcie(node).front(), unknown("gpu0"));
  node.identity->uptime_s = unreadable();
  EXPECT_THAT(judge_pcie(node), ElementsAre(unknown()));
}

TEST(GpuPcieReplayTest, ASaturatedCounterWarns) {
  for (Snapshot node : {seen(), linked_node::node()}) {
    gpu_of(node, 0).link.replays = 0xffffffffU;
    EXPECT_EQ(judge_pcie(node).front(), warns("gpu0", Remedy::watch, {4294967295}));
  }
}

}  // namespace
}  // namespace muster::gpu_link_errors_test
