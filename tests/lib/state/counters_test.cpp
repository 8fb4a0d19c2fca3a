// SPDX-License-Identifier: Apache-2.0
#include "lib/state/counters.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(CountersTest, HaveErrorCountersWithoutTraffic) {
  Snapshot s;
  s.infiniband = observed(Infiniband{
      .hcas = {{.name = "mlx5_ib0",
                .ports = std::vector<IbPort>{
                    {.counters = {{"link_downed", std::uint64_t{2}},
                                  {"port_xmit_data", std::uint64_t{9}},
                                  {"symbol_error", Fact<std::uint64_t>::unreadable("N/A")}}}}}}});
  s.pci = observed(Pci{.devices = {{.address = "0001:00:00.0", .aer = AerCounts{1, 2, 3}}}});
  Gpu gpu{.address = "0002:00:00.0"};
  gpu.link.replays = std::uint64_t{4};
  gpu.nvlinks = std::vector<NvLink>{
      {.link = 3, .replays = std::uint64_t{5}, .recoveries = std::uint64_t{6}, .crc = {}}};
  s.nvml = observed(Nvml{.gpus = {gpu, Gpu{.index = 1}}});
  EXPECT_EQ(counters_of(s),
            (std::map<std::string, std::uint64_t>{{"gpu.0002:00:00.0.nvlink.3.recoveries", 6},
                                                  {"gpu.0002:00:00.0.nvlink.3.replays", 5},
                                                  {"gpu.0002:00:00.0.pcie_replays", 4},
                                                  {"ib.mlx5_ib0.1.link_downed", 2},
                                                  {"pci.0001:00:00.0.fatal", 1},
                                                  {"pci.0001:00:00.0.non_fatal", 2},
                                                  {"pci.0001:00:00.0.correctable", 3}}));
}

Earlier seen(std::vector<CounterChange> changes) {
  return {.counters = {{"k", std::move(changes)}}};
}

TEST(DeltaTest, IsEmptyAtTheFirstObservation) {
  EXPECT_FALSE(delta_of({}, "k", {.uptime_s = 10, .value = 5}, kHour));
}

TEST(DeltaTest, CountsSinceTheOldestKnownValueInTheWindow) {
  const auto delta =
      delta_of(seen({{0, 5}}), "k", {.uptime_s = 2 * kHour, .value = 25}, 24 * kHour);
  ASSERT_TRUE(delta);
  EXPECT_EQ(delta->increments, 20U);
  EXPECT_EQ(delta->per_hour(), 10);
}

TEST(DeltaTest, IgnoresChangesBeforeTheWindow) {
  const auto delta = delta_of(seen({{0, 0}, {kHour, 100}}), "k",
                              {.uptime_s = 10 * kHour, .value = 103}, 3 * kHour);
  ASSERT_TRUE(delta);
  EXPECT_EQ(delta->increments, 3U);
  EXPECT_EQ(delta->seconds, 3 * kHour);
}

TEST(DeltaTest, IgnoresChangesBeforeTheUptime) {
  const auto delta = delta_of(seen({{60, 1}, {900, 4}}), "k", {.uptime_s = 2 * kHour, .value = 4},
                              24 * kHour, 1800);
  ASSERT_TRUE(delta);
  EXPECT_EQ(delta->increments, 0U);
}

TEST(DeltaTest, IsEmptyAfterTheCounterWasCleared) {
  EXPECT_FALSE(delta_of(seen({{0, 100}}), "k", {.uptime_s = kHour, .value = 3}, kHour));
  const auto delta =
      delta_of(seen({{0, 100}, {kHour, 2}}), "k", {.uptime_s = 2 * kHour, .value = 5}, 24 * kHour);
  ASSERT_TRUE(delta);
  EXPECT_EQ(delta->increments, 3U);
}

TEST(DeltaTest, NeverExtrapolatesARate) {
  const auto delta = delta_of(seen({{100, 0}}), "k", {.uptime_s = 110, .value = 1}, kHour);
  ASSERT_TRUE(delta);
  EXPECT_EQ(delta->per_hour(), 1);
}

}  // namespace
}  // namespace muster
