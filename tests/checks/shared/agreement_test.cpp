// SPDX-License-Identifier: Apache-2.0
// Devices of one node are compared where no limit is set: the odd one out is found, and no device
// that only looks like a peer is accused.

#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/linked_node.hpp"
#include "tests/checks/ib/ib_node.hpp"
#include "tests/checks/pci/bus_fixture.hpp"

namespace muster::shared_agreement_test {
namespace {

Snapshot eight_hcas() {
  Snapshot node = ib_node::node();
  for (unsigned i = 4; i < 8; ++i) {
    node.infiniband->hcas.push_back(ib_node::hca(i));
    node.pci->devices.push_back(ib_node::on_bus(node.infiniband->hcas.back()));
    node.verbs->devices.push_back(ib_node::by_verbs(node.infiniband->hcas.back()));
  }
  return node;
}

void set_rate(Snapshot& node, unsigned hca, double gbps, unsigned lanes, const char* speed) {
  auto& port = port_of(node, hca);
  port.rate_gbps = gbps;
  port.width = lanes;
  port.speed = std::string(speed);
}

// The findings of a check about a node without limits.
Findings of(const Check& check, const Snapshot& node) { return ask(check, node, Profile{}); }

Findings rate_of(const Snapshot& node) { return of(checks::ib_rate::check, node); }

Findings state_of(const Snapshot& node) { return of(checks::ib_state::check, node); }

Findings link_of(const Snapshot& node) { return of(checks::pci_link::check, node); }

TEST(PeersTest, OneOfEightHcasAtHalfItsRateFails) {
  auto node = eight_hcas();
  EXPECT_THAT(rate_of(node), ElementsAre(is(Outcome::pass, "node")));
  set_rate(node, 3, 200, 4, "HDR");
  EXPECT_THAT(rate_of(node),
              ElementsAre(fails("mlx5_ib3", Remedy::report_to_provider, {200.0, 400.0, "Gb/s"})));
  set_rate(node, 3, 200, 2, "NDR");
  EXPECT_THAT(rate_of(node), ElementsAre(is(Outcome::fail, "mlx5_ib3")));
  for (unsigned i = 0; i < 8; ++i) set_rate(node, i, 200, 4, "HDR");
  EXPECT_THAT(rate_of(node), ElementsAre(is(Outcome::pass, "node")));
  // Two of four are not a majority.
  node = ib_node::node();
  for (unsigned i = 0; i < 2; ++i) set_rate(node, i, 200, 4, "HDR");
  EXPECT_THAT(rate_of(node), ElementsAre(is(Outcome::warn, "node")));
}

TEST(PeersTest, HcasOfAnotherKindAreNotCompared) {
  using Change = void (*)(Snapshot&);
  const std::vector<Change> kinds{
      [](Snapshot& node) { hca_of(node, 7).type = std::string("MT4123"); },
      [](Snapshot& node) { hca_of(node, 7).board = std::string("MT_0000000223"); },
      [](Snapshot& node) { hca_of(node, 7).name = "mlx5_storage0"; },
      [](Snapshot& node) {
        port_of(node, 7).gid0 = std::string("fec0:0000:0000:0002:0015:5dff:fe33:ff07");
      },
      [](Snapshot& node) { port_of(node, 7).link_layer = "Ethernet"; },
      [](Snapshot& node) { node.pci->devices.back().virtual_function = true; }};
  for (const auto change : kinds) {
    auto node = eight_hcas();
    set_rate(node, 7, 100, 4, "EDR");
    change(node);
    EXPECT_THAT(rate_of(node), Each(is(Outcome::pass)));
  }
}

TEST(PeersTest, HcasNearGpusAreNotComparedWithOthers) {
  auto node = eight_hcas();
  for (unsigned i = 0; i < 8; ++i) {
    const auto root = std::string("0000:0") + std::to_string(i) + ":01.0";
    node.pci->devices[i].upstream = {root};
    if (i == 7) continue;
    auto gpu = pci_device("0000:1" + std::to_string(i) + ":00.0", PciKind::gpu);
    gpu.upstream = {root};
    node.pci->devices.push_back(gpu);
  }
  set_rate(node, 7, 200, 4, "HDR");
  EXPECT_THAT(rate_of(node), ElementsAre(is(Outcome::pass, "node")));
}

TEST(PeersTest, ALimitGoesBeforePeers) {
  auto node = eight_hcas();
  for (unsigned i = 0; i < 7; ++i) set_rate(node, i, 200, 4, "HDR");
  EXPECT_THAT(ask(checks::ib_rate::check, node, ib_node::profile()),
              AllOf(SizeIs(7), Each(is(Outcome::fail))));
}

void set_down(Snapshot& node, unsigned hca, unsigned physical) {
  port_of(node, hca).state = 1U;
  port_of(node, hca).physical_state = physical;
}

TEST(PeersTest, OnePortWithoutPartnerAmongEightFailsAndADisabledOrUnusedOneWarns) {
  auto node = eight_hcas();
  set_down(node, 2, 2);
  EXPECT_THAT(state_of(node), ElementsAre(is(Outcome::fail, "mlx5_ib2")));
  set_down(node, 2, 3);
  EXPECT_THAT(state_of(node), ElementsAre(is(Outcome::warn, "mlx5_ib2")));
  node = eight_hcas();
  for (unsigned i = 2; i < 8; ++i) set_down(node, i, 2);
  EXPECT_THAT(state_of(node), Each(is(Outcome::warn)));
  // The second port of each HCA, which has no cable.
  node = eight_hcas();
  for (auto& hca : node.infiniband->hcas) {
    hca.ports->push_back(hca.ports->front());
    hca.ports->back().number = 2;
    hca.ports->back().state = 1U;
    hca.ports->back().physical_state = 2U;
  }
  EXPECT_THAT(state_of(node), Each(is(Outcome::warn)));
}

Snapshot eight_on_bus() {
  Snapshot node;
  node.identity = observed(Identity{.hostname = "node1", .uptime_s = 7200.0});
  Pci pci;
  for (unsigned i = 0; i < 8; ++i) {
    pci.devices.push_back(pci_device("0000:1" + std::to_string(i) + ":00.0", PciKind::gpu));
    pci.devices.push_back(pci_device("0000:2" + std::to_string(i) + ":00.0", PciKind::hca));
  }
  node.pci = observed(std::move(pci));
  return node;
}

TEST(PeersTest, OneNarrowOrSlowLinkAmongEightFails) {
  auto node = eight_on_bus();
  node.pci->devices[6].link_width = 8U;
  EXPECT_THAT(link_of(node), ElementsAre(is(Outcome::fail, "0000:13:00.0")));
  node = eight_on_bus();
  node.pci->devices[5].link_speed_gts = 16.0;
  EXPECT_THAT(link_of(node), ElementsAre(is(Outcome::fail, "0000:22:00.0")));
  // An idle GPU may slow its link down.
  node = eight_on_bus();
  node.pci->devices[0].link_speed_gts = 2.5;
  EXPECT_THAT(link_of(node), ElementsAre(is(Outcome::pass, "node")));
  // All slots are wired with fewer lanes.
  node = eight_on_bus();
  for (auto& device : node.pci->devices) device.link_width = 8U;
  EXPECT_THAT(link_of(node), Each(is(Outcome::warn)));
}

TEST(PeersTest, OneBusyGpuWhoseLinkIsSlowerThanThoseOfOtherBusyOnesFails) {
  Snapshot node;
  node.identity = observed(Identity{.hypervisor = true});
  node.pci = observed(Pci{});
  node.nvml = observed(Nvml{});
  for (unsigned i = 0; i < 8; ++i) {
    auto device = pci_device(fmt::format("000{}:00:00.0", i), PciKind::gpu);
    device.link_speed_max_gts = 32.0;
    device.link_width = device.link_width_max = 16U;
    node.pci->devices.push_back(device);
    Gpu gpu{.address = device.address};
    gpu.utilisation = 97U;
    gpu.clocks.performance_state = 0U;
    gpu.link.generation = i == 3 ? 3U : 5U;
    gpu.link.generation_max = 5U;
    node.nvml->gpus.push_back(gpu);
  }
  EXPECT_THAT(link_of(node), ElementsAre(is(Outcome::fail, "0003:00:00.0")));
  // Idle peers do not show what it could do.
  for (unsigned i = 0; i < 8; ++i) {
    if (i != 3) node.nvml->gpus[i].utilisation = 0U;
  }
  EXPECT_EQ(link_of(node).front().outcome, Outcome::warn);
}

Findings nvlinks_of(const Snapshot& node) { return of(checks::gpu_nvlink_state::check, node); }

TEST(PeersTest, OneGpuThatLostAnNvlinkOrRunsOneSlowFails) {
  auto node = linked_node::node_of(4);
  (*node.nvml->gpus[2].nvlinks)[5].state = 0U;
  EXPECT_THAT(nvlinks_of(node), Contains(is(Outcome::fail, "gpu2")));
  node = linked_node::node_of(4);
  (*node.nvml->gpus[1].nvlinks)[5].speed_mbps = 13'281U;
  EXPECT_THAT(nvlinks_of(node), Contains(is(Outcome::fail, "gpu1")));
  EXPECT_THAT(nvlinks_of(linked_node::node_of(4)), ElementsAre(is(Outcome::pass, "node")));
}

TEST(PeersTest, OneGpuWithLessMemoryFailsAndOneWithoutEccIsAWarning) {
  auto node = linked_node::node_of(4);
  node.nvml->gpus[2].memory->total /= 2;
  EXPECT_THAT(of(checks::gpu_present::check, node), ElementsAre(is(Outcome::fail, "gpu2")));
  node = linked_node::node_of(4);
  node.nvml->gpus[1].modes.ecc = false;
  EXPECT_THAT(of(checks::gpu_ecc_mode::check, node), ElementsAre(is(Outcome::warn, "gpu1")));
}

TEST(PeersTest, OneGpuWithAnotherDefaultPowerLimitOrHighestClockIsAWarning) {
  auto node = linked_node::node_of(4);
  for (auto& gpu : node.nvml->gpus) {
    gpu.power = {.usage_mw = 72000U, .enforced_mw = 700000U, .default_mw = 700000U};
  }
  EXPECT_THAT(of(checks::gpu_power::check, node), ElementsAre(is(Outcome::pass, "node")));
  node.nvml->gpus[3].power = {.enforced_mw = 500000U, .default_mw = 500000U};
  EXPECT_THAT(of(checks::gpu_power::check, node), Contains(is(Outcome::warn, "gpu3")));
  Profile profile;
  profile.gpu->power.limit = Watts{700};
  EXPECT_EQ(ask(checks::gpu_power::check, node, profile).size(),
            2U);  // the limit's own finding alone
  node.nvml->gpus[1].clocks.sm_max_mhz = 1755U;
  EXPECT_THAT(of(checks::gpu_clocks::check, node), Contains(is(Outcome::warn, "gpu1")));
}

Snapshot placed_gpus(const std::vector<int>& numa_nodes) {
  Snapshot node;
  node.pci = observed(Pci{});
  node.topology = observed(Topology{});
  for (const int numa : numa_nodes) {
    PciDevice device{.address = fmt::format("0000:{:02x}:00.0", node.pci->devices.size() + 1),
                     .kind = PciKind::gpu,
                     .vendor = 0x10de,
                     .device = 0x2330,
                     .driver = "nvidia",
                     .responding = true};
    device.numa_node = numa;
    node.pci->devices.push_back(device);
  }
  return node;
}

TEST(PeersTest, GpusThatSitUnevenlyOnNumaNodesAreAWarning) {
  const auto numa_of = [](const std::vector<int>& numa_nodes) {
    return of(checks::topo_numa::check, placed_gpus(numa_nodes)).front();
  };
  EXPECT_EQ(numa_of({0, 0, 0, 0, 0, 1, 1, 1}), warns("node", Remedy::report_to_provider));
  EXPECT_EQ(numa_of({0, 0, 0, 0, 1, 1, 1, -1}).outcome, Outcome::warn);
  for (const auto& even :
       {std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1}, std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3},
        std::vector<int>{-1, -1, -1, -1}, std::vector<int>{0, 0, 0, 0},
        std::vector<int>{0, 0, 1}}) {
    EXPECT_NE(numa_of(even).outcome, Outcome::warn) << numa_of(even).message;
  }
}

TEST(PeersTest, OneHcaOfEightWithoutRdmaDeviceFails) {
  auto node = eight_hcas();
  node.infiniband->hcas.pop_back();
  auto& odd = node.pci->devices.back();
  odd.driver = "";
  const auto present = [&] { return of(checks::ib_present::check, node); };
  EXPECT_THAT(present(), ElementsAre(is(Outcome::fail, odd.address)));
  odd.driver = "vfio-pci";  // given to a guest
  EXPECT_THAT(present(), ElementsAre(is(Outcome::warn, odd.address)));
  odd.driver = "";
  odd.device = 0x1017;  // another kind, which no profile expects
  EXPECT_THAT(present(), ElementsAre(is(Outcome::warn, odd.address)));
}

TEST(PeersTest, AnotherModelOrACardWithoutBridgeIsNotAccused) {
  auto node = linked_node::node_of(4);
  node.nvml->gpus[3].model = std::string("NVIDIA L40S");
  node.nvml->gpus[3].nvlinks = std::vector<NvLink>();
  EXPECT_THAT(nvlinks_of(node), ElementsAre(is(Outcome::pass, "node")));
  node.nvml->gpus[3].model = node.nvml->gpus[0].model;
  linked_node::each_link(node, [](NvLink& link) { link.remote_type = 0U; });
  EXPECT_THAT(nvlinks_of(node), Contains(is(Outcome::warn, "gpu3")));
}

}  // namespace
}  // namespace muster::shared_agreement_test
