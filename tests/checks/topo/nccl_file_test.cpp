// SPDX-License-Identifier: Apache-2.0

#include "tests/checks/ask.hpp"
#include "tests/checks/topo/topo_node.hpp"

namespace muster::topo_nccl_file_test {
namespace {

Findings judge(const Snapshot& snapshot, const Profile& profile = topo_node::profile()) {
  return ask(checks::topo_nccl_file::check, snapshot, profile);
}

NcclTopology& file_of(Snapshot& node) { return *node.environment->nccl_topology; }

Expected wrong(Outcome outcome) { return finds(outcome, "/opt/topo.xml", Remedy::fix_config); }

TEST(TopoNcclFileTest, JudgesOneChange) {
  const std::vector<NodeChange> changes{
      {"passes a file that describes the node", [](Snapshot&) {}, {passes()}},
      {"fails a file that cannot be used",
       [](Snapshot& node) {
         node.environment->nccl_topology =
             Fact<NcclTopology>::unreadable("read /opt/topo.xml: No such file or directory");
       },
       {wrong(Outcome::fail)}},
      {"warns of a file that leaves one of several out",
       [](Snapshot& node) {
         const auto left_out = file_of(node).pci_addresses.front();
         file_of(node).pci_addresses.erase(file_of(node).pci_addresses.begin());
       },
       {wrong(Outcome::warn)}},
      {"does not blame the file for a device that is missing",
       [](Snapshot& node) { node.pci->devices.pop_back(); },
       {passes()}},
      {"fails a file without devices",
       [](Snapshot& node) { file_of(node).pci_addresses.clear(); },
       {wrong(Outcome::fail)}},
      {"warns of masks that give a node anothers CPUs",
       [](Snapshot& node) {
         file_of(node).cpu_affinities = {"0=00000000,0000ffff,ffffffff",
                                         "1=ffffffff,ffffffff,00000000"};
       },
       {wrong(Outcome::warn)}},
      {"accepts CPUs that are offline",
       [](Snapshot& node) {
         node.cpu->numa_nodes = std::vector<NumaNode>{{.id = 0, .cpus = std::string("0-40")},
                                                      {.id = 1, .cpus = std::string("48-95")}};
       },
       {passes()}},
      {"does not know without the PCI bus",
       [](Snapshot& node) { node.pci = {.status = Status::absent, .reason = "no /sys/bus/pci"}; },
       {unknown("/opt/topo.xml")}},
  };
  expect_findings(checks::topo_nccl_file::check, topo_node::node(), topo_node::profile(), changes);
}

TEST(TopoNcclFileTest, NamesTheFileOfTheEnvironmentWhereTheProfileNamesNone) {
  Snapshot node = topo_node::node();
  node.environment->nccl_topology = Fact<NcclTopology>::unreadable("not XML");
  node.environment->nccl = std::vector<NcclSetting>{
      {.name = "NCCL_TOPO_FILE", .value = "/etc/topo.xml", .origin = "environment"}};
  EXPECT_THAT(judge(node, Profile{}),
              ElementsAre(::testing::Field(&Finding::device, "/etc/topo.xml")));
}

TEST(TopoNcclFileTest, FailsAnAddressThatDoesNotExistHere) {
  Snapshot node = topo_node::node();
  file_of(node).pci_addresses.emplace_back("000e:00:00.0");
  Expected finding = wrong(Outcome::fail);
  finding.observed = std::string("000e:00:00.0");
  EXPECT_THAT(judge(node), ElementsAre(finding));
}

TEST(TopoNcclFileTest, SkipsWithoutAFile) {
  Snapshot node = topo_node::node();
  node.environment->nccl_topology = Fact<NcclTopology>::absent("no file is configured");
  EXPECT_THAT(judge(node, Profile{}), ElementsAre(skips()));
}

}  // namespace
}  // namespace muster::topo_nccl_file_test
