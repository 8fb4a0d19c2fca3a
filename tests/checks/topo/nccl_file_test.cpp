// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/topo/topo_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::topo_nccl_file_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;

Findings judge(const Snapshot& snapshot, const Profile& profile = topo_node::profile()) {
  return ask(checks::topo_nccl_file::check, snapshot, profile);
}

NcclTopology& file_of(Snapshot& node) { return *node.environment->nccl_topology; }

Expected wrong(Outcome outcome) {
  return {.device = "/opt/topo.xml", .outcome = outcome, .remedy = Remedy::fix_config};
}

TEST(TopoNcclFileTest, PassesAFileThatDescribesTheNode) {
  EXPECT_THAT(judge(topo_node::node()), ElementsAre(passes()));
}

TEST(TopoNcclFileTest, FailsAFileThatCannotBeUsed) {
  Snapshot node = topo_node::node();
  node.environment->nccl_topology =
      Fact<NcclTopology>::unreadable("read /opt/topo.xml: No such file or directory");
  EXPECT_THAT(judge(node), ElementsAre(wrong(Outcome::fail)));
}

TEST(TopoNcclFileTest, NamesTheFileOfTheEnvironmentWhereTheProfileNamesNone) {
  Snapshot node = topo_node::node();
  node.environment->nccl_topology = Fact<NcclTopology>::unreadable("not XML");
  node.environment->nccl = std::vector<NcclSetting>{
      {.name = "NCCL_TOPO_FILE", .value = "/etc/topo.xml", .origin = "environment"}};
  EXPECT_THAT(judge(node, Profile{}), ElementsAre(Field(&Finding::device, "/etc/topo.xml")));
}

TEST(TopoNcclFileTest, WarnsOfAFileThatLeavesOneOfSeveralOut) {
  Snapshot node = topo_node::node();
  const auto left_out = file_of(node).pci_addresses.front();
  file_of(node).pci_addresses.erase(file_of(node).pci_addresses.begin());
  EXPECT_THAT(judge(node), ElementsAre(wrong(Outcome::warn)));
}

TEST(TopoNcclFileTest, FailsAnAddressThatDoesNotExistHere) {
  Snapshot node = topo_node::node();
  file_of(node).pci_addresses.emplace_back("000e:00:00.0");
  Expected finding = wrong(Outcome::fail);
  finding.observed = std::string("000e:00:00.0");
  EXPECT_THAT(judge(node), ElementsAre(finding));
}

TEST(TopoNcclFileTest, DoesNotBlameTheFileForADeviceThatIsMissing) {
  Snapshot node = topo_node::node();
  node.pci->devices.pop_back();
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::pass)));
}

TEST(TopoNcclFileTest, FailsAFileWithoutDevices) {
  Snapshot node = topo_node::node();
  file_of(node).pci_addresses.clear();
  EXPECT_THAT(judge(node), ElementsAre(wrong(Outcome::fail)));
}

TEST(TopoNcclFileTest, WarnsOfMasksThatGiveANodeAnothersCpus) {
  Snapshot node = topo_node::node();
  file_of(node).cpu_affinities = {"0=00000000,0000ffff,ffffffff", "1=ffffffff,ffffffff,00000000"};
  EXPECT_THAT(judge(node), ElementsAre(wrong(Outcome::warn)));
}

TEST(TopoNcclFileTest, AcceptsCpusThatAreOffline) {
  Snapshot node = topo_node::node();
  node.cpu->numa_nodes = std::vector<NumaNode>{{.id = 0, .cpus = std::string("0-40")},
                                               {.id = 1, .cpus = std::string("48-95")}};
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::pass)));
}

TEST(TopoNcclFileTest, SkipsWithoutAFile) {
  Snapshot node = topo_node::node();
  node.environment->nccl_topology = Fact<NcclTopology>::absent("no file is configured");
  EXPECT_THAT(judge(node, Profile{}), ElementsAre(skips()));
}

TEST(TopoNcclFileTest, DoesNotKnowWithoutThePciBus) {
  Snapshot node = topo_node::node();
  node.pci = {.status = Status::absent, .reason = "no /sys/bus/pci"};
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::unknown)));
}

}  // namespace
}  // namespace muster::topo_nccl_file_test
