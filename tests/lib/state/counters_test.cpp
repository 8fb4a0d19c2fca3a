// SPDX-License-Identifier: Apache-2.0
#include "lib/state/counters.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace muster {
namespace {

TEST(CountersTest, HaveErrorCountersWithoutTraffic) {
  Snapshot s;
  s.infiniband = observed(
      Infiniband{.hcas = {{.name = "mlx5_ib0",
                           .ports = std::vector<IbPort>{
                               {.counters = ByName<Fact<std::uint64_t>>{
                                    {"link_downed", std::uint64_t{2}},
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

std::optional<Delta> delta(std::vector<CounterChange> changes, CounterChange now, double window_s,
                           double from_s = 0) {
  return delta_of({.counters = {{"k", std::move(changes)}}}, "k", now, window_s, from_s);
}

TEST(DeltaTest, IsEmptyAtTheFirstObservationAndAfterTheCounterWasCleared) {
  EXPECT_FALSE(delta_of({}, "k", {.uptime_s = 10, .value = 5}, kHour));
  EXPECT_FALSE(delta({{0, 100}}, {.uptime_s = kHour, .value = 3}, kHour));
}

TEST(DeltaTest, CountsSinceTheOldestKnownValueInTheWindow) {
  struct Case {
    std::vector<CounterChange> changes;
    CounterChange now;
    double window_s;
    double from_s;
    std::uint64_t increments;
    double seconds;
  };

  for (const auto& each : {
           Case{{{0, 5}}, {2 * kHour, 25}, 24 * kHour, 0, 20, 2 * kHour},
           Case{{{0, 0}, {kHour, 100}}, {10 * kHour, 103}, 3 * kHour, 0, 3, 3 * kHour},
           // Since an uptime, and since the counter was cleared.
           Case{{{60, 1}, {900, 4}}, {2 * kHour, 4}, 24 * kHour, 1800, 0, 5400},
           Case{{{100, 0}}, {1500, 9}, 24 * kHour, 1800, 0, kHour},
           Case{{{0, 100}, {kHour, 2}}, {2 * kHour, 5}, 24 * kHour, 0, 3, kHour},
           // A rate is not extrapolated to an hour.
           Case{{{100, 0}}, {110, 1}, kHour, 0, 1, kHour},
       }) {
    const auto found = delta(each.changes, each.now, each.window_s, each.from_s);
    ASSERT_TRUE(found) << each.now.value;
    EXPECT_EQ(found->increments, each.increments);
    EXPECT_EQ(found->seconds, each.seconds);
  }
  EXPECT_EQ(delta({{0, 5}}, {.uptime_s = 2 * kHour, .value = 25}, kHour * 24)->per_hour(), 10);
}

}  // namespace
}  // namespace muster
