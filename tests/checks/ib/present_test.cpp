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
  EXPECT_THAT(judge(ib_node::node()), ElementsAre(Finding{.device = "node",
                                                          .outcome = Outcome::pass,
                                                          .message = "4 of 4 InfiniBand HCAs",
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
  EXPECT_THAT(judge(node),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::skip,
                                  .message = "3 of 4 InfiniBand HCAs, all that answer on the PCI "
                                             "bus: pci.devices judges the rest",
                                  .observed = std::int64_t{3},
                                  .limit = std::int64_t{4}}));
}

TEST(IbPresentTest, LeavesAnHcaThatNoLongerAnswersToPciDevices) {
  Snapshot node = ib_node::node();
  node.infiniband->hcas.pop_back();
  node.pci->devices.back().responding = false;
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::skip)));
}

TEST(IbPresentTest, FailsAnHcaOnTheBusThatIsNoRdmaDevice) {
  Snapshot node = ib_node::node();
  node.infiniband->hcas.pop_back();
  node.pci->devices.back().driver.clear();
  EXPECT_THAT(
      judge(node),
      ElementsAre(Finding{.device = "0104:00:00.0",
                          .outcome = Outcome::fail,
                          .message = "on the PCI bus, but not an RDMA device (no driver is bound)",
                          .remedy = Remedy::restart_service}));
}

TEST(IbPresentTest, DoesNotKnowAnHcaWhoseRdmaDeviceHasNoReadableAddress) {
  Snapshot node = ib_node::node();
  ib_node::hca_of(node, 3).address = Fact<std::string>::unreadable("read link: busy");
  EXPECT_THAT(judge(node),
              ElementsAre(Finding{.device = "0104:00:00.0",
                                  .outcome = Outcome::unknown,
                                  .message = "whether mlx5_ib3 is its RDMA device is not known: "
                                             "read link: busy"}));
}

TEST(IbPresentTest, FailsOnceWhenNoHcaIsAnRdmaDevice) {
  Snapshot node = ib_node::node();
  node.infiniband->hcas.clear();
  EXPECT_THAT(
      judge(node),
      ElementsAre(Finding{
          .device = "node",
          .outcome = Outcome::fail,
          .message = "none of the 4 HCAs on the PCI bus is an RDMA device (driver mlx5_core)",
          .remedy = Remedy::restart_service}));
}

TEST(IbPresentTest, FailsOnceWithoutAnRdmaStack) {
  Snapshot node = ib_node::node();
  node.infiniband = {.status = Status::absent, .reason = "no RDMA core is loaded"};
  EXPECT_THAT(judge(node),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::fail,
                                  .message = "4 HCAs on the PCI bus: no RDMA core is loaded",
                                  .observed = std::int64_t{0},
                                  .limit = std::int64_t{4},
                                  .remedy = Remedy::restart_service}));
}

TEST(IbPresentTest, FailsTheCountItselfWhereThePciBusIsNotKnown) {
  Snapshot node = ib_node::node();
  node.infiniband->hcas.pop_back();
  node.pci = {.status = Status::absent, .reason = "no /sys/bus/pci"};
  EXPECT_THAT(judge(node), ElementsAre(Finding{.device = "node",
                                               .outcome = Outcome::fail,
                                               .message = "3 InfiniBand HCAs, expected 4",
                                               .observed = std::int64_t{3},
                                               .limit = std::int64_t{4},
                                               .remedy = Remedy::report_to_provider}));
}

TEST(IbPresentTest, FailsAnHcaWhosePortIsSetToEthernet) {
  Snapshot node = ib_node::node();
  ib_node::port_of(node, 2).link_layer = "Ethernet";
  EXPECT_THAT(judge(node),
              ElementsAre(Finding{.device = "mlx5_ib2",
                                  .outcome = Outcome::fail,
                                  .message = "link layer is Ethernet, expected InfiniBand",
                                  .remedy = Remedy::fix_config}));
}

TEST(IbPresentTest, WarnsOnceWhenOnlyNamesAreNotAsExpected) {
  Snapshot node = ib_node::node();
  ib_node::hca_of(node, 0).name = "mlx5_0";
  ib_node::hca_of(node, 3).name = "mlx5_3";
  EXPECT_THAT(judge(node),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::warn,
                                  .message = "2 HCAs not named mlx5_ib*: mlx5_0, mlx5_3",
                                  .observed = std::string("mlx5_0"),
                                  .limit = std::string("mlx5_ib*"),
                                  .remedy = Remedy::fix_config}));
}

TEST(IbPresentTest, SkipsAMachineThatExpectsNone) {
  Snapshot node = ib_node::node();
  node.infiniband = {.status = Status::absent, .reason = "no RDMA core is loaded"};
  node.pci->devices.clear();
  EXPECT_THAT(judge(node, ib_node::no_expectations()),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::skip,
                                  .message = "no InfiniBand HCAs expected by this profile"}));
}

TEST(IbPresentTest, WarnsOfAnUnusedHcaWhereNothingIsExpected) {
  Snapshot node = ib_node::node();
  node.infiniband->hcas.pop_back();
  node.pci->devices.back().driver = "vfio-pci";
  EXPECT_THAT(judge(node, ib_node::no_expectations()),
              ElementsAre(AllOf(Field(&Finding::device, "0104:00:00.0"),
                                Field(&Finding::outcome, Outcome::warn))));
}

TEST(IbPresentTest, FailsAWrongCountWhateverTheNames) {
  Snapshot node = ib_node::node();
  ib_node::hca_of(node, 0).name = "mlx5_0";
  Profile three = ib_node::profile();
  three.ib->present.count = 3;
  EXPECT_THAT(judge(node, three),
              ElementsAre(AllOf(Field(&Finding::message, "4 InfiniBand HCAs, expected 3"),
                                Field(&Finding::outcome, Outcome::fail))));
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
  EXPECT_THAT(judge(node), ElementsAre(AllOf(Field(&Finding::message, "4 of 4 InfiniBand HCAs"),
                                             Field(&Finding::outcome, Outcome::pass))));
}

}  // namespace
}  // namespace muster::ib_present_test
