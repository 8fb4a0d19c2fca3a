// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/checks/ask.hpp"
#include "tests/checks/pci/bus_fixture.hpp"

namespace muster::pci_acs_test {
namespace {

using ::testing::ElementsAre;

Findings judged(const Snapshot& snapshot) {
  return ask(checks::pci_acs::check, snapshot, one_gpu_and_hca());
}

const Expected kPass{.device = "node", .outcome = Outcome::pass};

TEST(PciAcsTest, PassesWhenTheyAreOff) { EXPECT_THAT(judged(small_node()), ElementsAre(kPass)); }

TEST(PciAcsTest, WarnsAtTheSwitchPortAboveAGpuOnce) {
  auto node = small_node();
  node.pci.facts.devices[kSwitch].acs_control = 0x1dU;
  node.pci.facts.devices.push_back(pci_device("0000:02:01.0", PciKind::gpu));
  EXPECT_THAT(judged(node), ElementsAre(warns("0000:01:00.0", Remedy::fix_config,
                                              {std::int64_t{0x1d}, std::int64_t{0}})));
}

TEST(PciAcsTest, TheRootPortIsTheWayUpAnyhow) {
  auto node = small_node();
  node.pci.facts.devices[kRootPort].acs_control = 0x1dU;
  EXPECT_THAT(judged(node), ElementsAre(kPass));
}

TEST(PciAcsTest, ABridgeWithoutTheCapabilityCannotRedirect) {
  auto node = small_node();
  node.pci.facts.devices[kSwitch].acs_control =
      Fact<unsigned>::absent("the bridge has no access control services");
  EXPECT_THAT(judged(node), ElementsAre(kPass));
}

TEST(PciAcsTest, IsUnknownIfUnreadable) {
  auto node = small_node();
  node.pci.facts.devices[kSwitch].acs_control = Fact<unsigned>::unreadable("only root may read it");
  EXPECT_THAT(judged(node), ElementsAre(unknown("0000:01:00.0")));
}

TEST(PciAcsTest, SkipsUnderAHypervisorAndWithoutSwitches) {
  EXPECT_THAT(judged(small_guest()), ElementsAre(skips()));
  auto node = small_node();
  node.pci.facts.devices[kGpu].upstream = {"0000:00:01.0"};
  EXPECT_THAT(judged(node), ElementsAre(skips()));
}

}  // namespace
}  // namespace muster::pci_acs_test
