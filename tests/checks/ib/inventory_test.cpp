// SPDX-License-Identifier: Apache-2.0
// The HCAs of the node: their number, their firmware, and whether libibverbs opens them.
#include "tests/checks/ask.hpp"
#include "tests/checks/ib/ib_node.hpp"

namespace muster::ib_inventory_test {
namespace {

constexpr AskedCheck judge_present{checks::ib_present::check, ib_node::profile};

Expected counted(Outcome outcome, std::int64_t hcas) {
  return finds(outcome, "node", Remedy::none, {hcas, 4});
}

TEST(IbPresentTest, JudgesEachChange) {
  const std::vector<NodeChange> changes{
      {"does not count accelerated networking",
       [](Snapshot& node) { node.infiniband->hcas.push_back(ib_node::ethernet_hca()); },
       {counted(Outcome::pass, 4)}},
      {"leaves an HCA missing from the bus to pci.devices",
       [](Snapshot& node) {
         node.infiniband->hcas.pop_back();
         node.pci->devices.pop_back();
       },
       {counted(Outcome::skip, 3)}},
      {"leaves an HCA that no longer answers to pci.devices",
       [](Snapshot& node) {
         node.infiniband->hcas.pop_back();
         node.pci->devices.back().responding = false;
       },
       {counted(Outcome::skip, 3)}},
      {"does not know an HCA whose RDMA device has no readable address",
       [](Snapshot& node) { hca_of(node, 3).address = unreadable(); },
       {unknown("0104:00:00.0")}},
      {"fails once when no HCA is an RDMA device",
       [](Snapshot& node) { node.infiniband->hcas.clear(); },
       {fails("node", Remedy::restart_service)}},
      {"fails the count itself where the PCI bus is not known",
       [](Snapshot& node) {
         node.infiniband->hcas.pop_back();
         node.pci = {.status = Status::absent, .reason = "no /sys/bus/pci"};
       },
       {fails("node", Remedy::report_to_provider, {3, 4})}},
      {"fails an HCA whose port is set to ethernet",
       [](Snapshot& node) { port_of(node, 2).link_layer = "Ethernet"; },
       {fails("mlx5_ib2", Remedy::fix_config)}},
  };
  expect_findings(judge_present, ib_node::node(), changes);
}

TEST(IbPresentTest, SkipsAMachineThatExpectsNone) {
  Snapshot node = ib_node::node();
  node.infiniband = {.status = Status::absent, .reason = "no RDMA core is loaded"};
  node.pci->devices.clear();
  EXPECT_THAT(judge_present(node, Profile{}), ElementsAre(skips()));
}

TEST(IbPresentTest, WarnsOfAnUnusedHcaIfNothingIsExpected) {
  Snapshot node = ib_node::node();
  node.infiniband->hcas.pop_back();
  node.pci->devices.back().driver = "vfio-pci";
  EXPECT_THAT(judge_present(node, Profile{}), ElementsAre(is(Outcome::warn, "0104:00:00.0")));
}

TEST(IbPresentTest, FailsAWrongCountWithAnyNames) {
  Snapshot node = ib_node::node();
  hca_of(node, 0).name = "mlx5_0";
  Profile three = ib_node::profile();
  three.ib->present.count = 3;
  EXPECT_THAT(judge_present(node, three), ElementsAre(is(Outcome::fail)));
}

TEST(IbPresentTest, DoesNotCountTheVirtualFunctionsOfAHost) {
  Snapshot node = ib_node::node();
  // One is still the host's, the RDMA device of the other was moved to a container.
  for (const unsigned function : {1U, 2U}) {
    Hca part = ib_node::hca(3);
    part.name = fmt::format("mlx5_ib{}", 20 + function);
    part.address = fmt::format("0104:00:00.{}", function);
    PciDevice device = ib_node::on_bus(part);
    device.virtual_function = true;
    node.pci->devices.push_back(device);
    if (function == 1) node.infiniband->hcas.push_back(part);
  }
  EXPECT_THAT(judge_present(node), ElementsAre(is(Outcome::pass)));
}

constexpr AskedCheck judge_firmware{checks::ib_firmware::check, ib_node::profile};

Expected warned(std::string observed, std::string limit) {
  return warns("mlx5_ib2", Remedy::fix_config, {std::move(observed), std::move(limit)});
}

TEST(IbFirmwareTest, JudgesEachChange) {
  const std::vector<NodeChange> changes{
      {"warns once of another board with its own firmware",
       [](Snapshot& node) {
         hca_of(node, 2).board = "MT_0000000999"s;
         hca_of(node, 2).firmware = "26.1.1"s;
       },
       {warned("MT_0000000999", "MT_0000000838")}},
      {"warns about the node without a majority",
       [](Snapshot& node) {
         hca_of(node, 2).firmware = "28.33.1000"s;
         hca_of(node, 3).firmware = "28.33.1000"s;
       },
       {warns("node", Remedy::fix_config)}},
      {"does not know an unreadable version",
       [](Snapshot& node) { hca_of(node, 2).firmware = unreadable(); },
       {unknown("mlx5_ib2")}},
      {"does not know the one HCA without a board id",
       [](Snapshot& node) { hca_of(node, 2).board = absent(); },
       {unknown("mlx5_ib2")}},
  };
  expect_findings(judge_firmware, ib_node::node(), changes);
}

TEST(IbFirmwareTest, TheProfileMayListTheFirmwareOfABoard) {
  Profile profile = ib_node::profile();
  profile.ib->firmware = {.allowed = {{"MT_0000000838", {"28.35.*", "28.37.*"}}}, .same = false};
  Snapshot node = ib_node::node();
  EXPECT_THAT(judge_firmware(node, profile), ElementsAre(passes()));
  hca_of(node, 2).firmware = "28.33.1000"s;
  EXPECT_THAT(judge_firmware(node, profile), ElementsAre(warned("28.33.1000", "28.35.*, 28.37.*")));
}

TEST(IbFirmwareTest, ComparesFirmwareWithoutBoardIds) {
  Snapshot node = ib_node::node();
  for (unsigned i = 0; i < 4; ++i) hca_of(node, i).board = absent();
  EXPECT_THAT(judge_firmware(node), ElementsAre(is(Outcome::pass)));
}

Expected failed(std::string device, Remedy remedy = Remedy::fix_config) {
  return fails(std::move(device), remedy);
}

TEST(IbVerbsTest, JudgesEachChange) {
  const std::vector<NodeChange> changes{
      {"fails an HCA that the library does not list",
       [](Snapshot& node) { node.verbs->devices.erase(node.verbs->devices.begin() + 1); },
       {failed("mlx5_ib1")}},
      {"fails once when the library lists none",
       [](Snapshot& node) { node.verbs->devices.clear(); },
       {failed("node")}},
      {"fails an HCA that does not open",
       [](Snapshot& node) {
         node.verbs->devices.at(1).ports = unreadable();
         node.verbs->devices.at(1).registers = unreadable();
       },
       {failed("mlx5_ib1")}},
      {"fails a port that verbs and sysfs describe differently",
       [](Snapshot& node) {
         (*node.verbs->devices.at(1).ports).at(0).width = 2;
         (*node.verbs->devices.at(1).ports).at(0).lid = 7;
       },
       {failed("mlx5_ib1", Remedy::reboot)}},
      {"leaves a port that is down to ib.state",
       [](Snapshot& node) { port_of(node, 1).state = 1U; },
       {passes()}},
      {"fails an HCA that registers no memory",
       [](Snapshot& node) { node.verbs->devices.at(1).registers = unreadable(); },
       {failed("mlx5_ib1")}},
      {"fails an HCA that reports that it registered no memory",
       [](Snapshot& node) { node.verbs->devices.at(2).registers = false; },
       {failed("mlx5_ib2")}},
      {"leaves a low limit of locked memory to host.limits",
       [](Snapshot& node) {
         node.kernel = observed(Kernel{.limits = {.memlock_bytes = "65536"s}});
         node.verbs->devices.at(1).registers = unreadable();
       },
       {passes()}},
      {"skips below a foreign root",
       [](Snapshot& node) {
         node.identity->foreign_root = true;
         node.verbs = {.status = Status::absent, .reason = "a foreign root"};
       },
       {skips()}},
      {"fails once on a live node without the kernels interface",
       [](Snapshot& node) {
         node.verbs = {.status = Status::absent, .reason = "ib_uverbs is not loaded"};
       },
       {failed("node", Remedy::restart_service)}},
  };
  expect_findings(checks::ib_verbs::check, ib_node::node(), ib_node::profile(), changes);
}

TEST(IbVerbsTest, ComparesTheLaneSpeedsThatBothCanName) {
  struct Speeds {
    unsigned verbs;
    Fact<std::string> sysfs;
    Outcome outcome;
  };
  const std::vector<Speeds> cases{
      {32, "NDR"s, Outcome::fail},  {1, "NDR"s, Outcome::fail},
      {64, "EDR"s, Outcome::fail},  {8, "FDR10"s, Outcome::pass},
      {128, "NDR"s, Outcome::pass}, {0, "NDR"s, Outcome::pass},  // unknown to verbs
      {256, "NDR"s, Outcome::pass},  // does not fit into libibverbs' byte
      {128, "SDR"s, Outcome::pass},  // sysfs has no word for it: judged by ib.rate
      {128, "FOO"s, Outcome::pass}, {128, absent(), Outcome::pass},
  };
  for (const auto& [verbs, sysfs, outcome] : cases) {
    Snapshot node = ib_node::node();
    port_of(node, 1).speed = sysfs;
    (*node.verbs->devices.at(1).ports).at(0).active_speed = verbs;
    EXPECT_EQ(ask(checks::ib_verbs::check, node, ib_node::profile()).front().outcome, outcome)
        << verbs << " " << sysfs.value_or("none");
  }
}

}  // namespace
}  // namespace muster::ib_inventory_test
