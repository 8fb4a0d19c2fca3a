// SPDX-License-Identifier: Apache-2.0

#include "tests/checks/ask.hpp"
#include "tests/checks/topo/topo_node.hpp"

namespace muster::topo_nccl_file_test {
namespace {

constexpr AskedCheck judge{checks::topo_nccl_file::check, topo_node::profile};

NcclTopology& file_of(Snapshot& node) { return *node.environment->nccl_topology; }

Expected wrong(Outcome outcome) { return finds(outcome, "/opt/topo.xml", Remedy::fix_config); }

TEST(TopoNcclFileTest, JudgesEachChange) {
  const std::vector<NodeChange> changes{
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
         node.cpu->numa_nodes =
             std::vector<NumaNode>{{.id = 0, .cpus = "0-40"s}, {.id = 1, .cpus = "48-95"s}};
       },
       {passes()}},
      {"does not know without the PCI bus",
       [](Snapshot& node) { node.pci = {.status = Status::absent, .reason = "no /sys/bus/pci"}; },
       {unknown("/opt/topo.xml")}},
  };
  expect_findings(judge, topo_node::node(), changes);
}

TEST(TopoNcclFileTest, NamesTheFileOfTheEnvironmentIfTheProfileNamesNone) {
  Snapshot node = topo_node::node();
  node.environment->nccl_topology = unreadable();
  node.environment->nccl = std::vector<NcclSetting>{
      {.name = "NCCL_TOPO_FILE", .value = "/etc/topo.xml", .origin = "environment"}};
  EXPECT_THAT(judge(node, Profile{}), ElementsAre(is(Outcome::fail, "/etc/topo.xml")));
}

TEST(TopoNcclFileTest, SkipsWithoutAFile) {
  Snapshot node = topo_node::node();
  node.environment->nccl_topology = absent();
  EXPECT_THAT(judge(node, Profile{}), ElementsAre(skips()));
}

}  // namespace
}  // namespace muster::topo_nccl_file_test
