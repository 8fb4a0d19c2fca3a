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

}  // namespace
}  // namespace muster
