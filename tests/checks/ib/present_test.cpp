// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/ib.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/ib/ib_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::ib_present_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;

Findings judge(const Snapshot& snapshot, const Profile& profile = ib_node::profile()) {
  return ask(checks::ib_present::check, snapshot, profile);
}

TEST(IbPresentTest, PassesWhenEveryHcaIsThere) {
  EXPECT_THAT(judge(ib_node::node()), ElementsAre(Expected{.device = "node",
                                                           .outcome = Outcome::pass,
                                                           .observed = std::int64_t{4},
                                                           .limit = std::int64_t{4}}));
}

TEST(IbPresentTest, DoesNotCountAcceleratedNetworking) {
  Snapshot node = ib_node::node();
  node.infiniband->hcas.push_back(ib_node::ethernet_hca());
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::pass)));
}

TEST(IbPresentTest, LeavesAnHcaMissingFromTheBusToPciDevices) {
  Snapshot node = ib_node::node();
  node.infiniband->hcas.pop_back();
  node.pci->devices.pop_back();
  EXPECT_THAT(judge(node), ElementsAre(Expected{.device = "node",
                                                .outcome = Outcome::skip,
                                                .observed = std::int64_t{3},
                                                .limit = std::int64_t{4}}));
}

TEST(IbPresentTest, LeavesAnHcaThatNoLongerAnswersToPciDevices) {
  Snapshot node = ib_node::node();
  node.infiniband->hcas.pop_back();
  node.pci->devices.back().responding = false;
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::skip)));
}

TEST(IbPresentTest, FailsAnHcaOnTheBusWithoutRdmaDevice) {
  Snapshot node = ib_node::node();
  node.infiniband->hcas.pop_back();
  node.pci->devices.back().driver.clear();
  EXPECT_THAT(judge(node), ElementsAre(fails("0104:00:00.0", Remedy::restart_service)));
}

TEST(IbPresentTest, DoesNotKnowAnHcaWhoseRdmaDeviceHasNoReadableAddress) {
  Snapshot node = ib_node::node();
  ib_node::hca_of(node, 3).address = Fact<std::string>::unreadable("read link: busy");
  EXPECT_THAT(judge(node), ElementsAre(unknown("0104:00:00.0")));
}

TEST(IbPresentTest, FailsOnceWhenNoHcaIsAnRdmaDevice) {
  Snapshot node = ib_node::node();
  node.infiniband->hcas.clear();
  EXPECT_THAT(judge(node), ElementsAre(fails("node", Remedy::restart_service)));
}

TEST(IbPresentTest, FailsOnceWithoutAnRdmaStack) {
  Snapshot node = ib_node::node();
  node.infiniband = {.status = Status::absent, .reason = "no RDMA core is loaded"};
  EXPECT_THAT(judge(node), ElementsAre(fails("node", Remedy::restart_service,
                                             {std::int64_t{0}, std::int64_t{4}})));
}

TEST(IbPresentTest, FailsTheCountItselfWhereThePciBusIsNotKnown) {
  Snapshot node = ib_node::node();
  node.infiniband->hcas.pop_back();
  node.pci = {.status = Status::absent, .reason = "no /sys/bus/pci"};
  EXPECT_THAT(judge(node), ElementsAre(fails("node", Remedy::report_to_provider,
                                             {std::int64_t{3}, std::int64_t{4}})));
}

TEST(IbPresentTest, FailsAnHcaWhosePortIsSetToEthernet) {
  Snapshot node = ib_node::node();
  ib_node::port_of(node, 2).link_layer = "Ethernet";
  EXPECT_THAT(judge(node), ElementsAre(fails("mlx5_ib2", Remedy::fix_config)));
}

TEST(IbPresentTest, WarnsOnceWhenOnlyNamesAreNotAsExpected) {
  Snapshot node = ib_node::node();
  ib_node::hca_of(node, 0).name = "mlx5_0";
  ib_node::hca_of(node, 3).name = "mlx5_3";
  EXPECT_THAT(judge(node), ElementsAre(warns("node", Remedy::fix_config,
                                             {std::string("mlx5_0"), std::string("mlx5_ib*")})));
}

TEST(IbPresentTest, SkipsAMachineThatExpectsNone) {
  Snapshot node = ib_node::node();
  node.infiniband = {.status = Status::absent, .reason = "no RDMA core is loaded"};
  node.pci->devices.clear();
  EXPECT_THAT(judge(node, ib_node::no_expectations()), ElementsAre(skips()));
}

TEST(IbPresentTest, WarnsOfAnUnusedHcaWhereNothingIsExpected) {
  Snapshot node = ib_node::node();
  node.infiniband->hcas.pop_back();
  node.pci->devices.back().driver = "vfio-pci";
  EXPECT_THAT(judge(node, ib_node::no_expectations()),
              ElementsAre(AllOf(Field(&Finding::device, "0104:00:00.0"),
                                Field(&Finding::outcome, Outcome::warn))));
}

TEST(IbPresentTest, FailsAWrongCountWithAnyNames) {
  Snapshot node = ib_node::node();
  ib_node::hca_of(node, 0).name = "mlx5_0";
  Profile three = ib_node::profile();
  three.ib->present.count = 3;
  EXPECT_THAT(judge(node, three), ElementsAre(Field(&Finding::outcome, Outcome::fail)));
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
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::pass)));
}

}  // namespace
}  // namespace muster::ib_present_test
