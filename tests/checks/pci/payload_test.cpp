// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/checks/ask.hpp"
#include "tests/checks/pci/bus_fixture.hpp"

namespace muster::pci_payload_test {
namespace {

using ::testing::ElementsAre;

Findings judged(const Snapshot& snapshot) {
  return ask(checks::pci_payload::check, snapshot, one_gpu_and_hca());
}

TEST(PciPayloadTest, PassesAtThePayloadOfThePath) {
  EXPECT_THAT(judged(small_node()), ElementsAre(passes()));
}

TEST(PciPayloadTest, WarnsBelowThePayloadOfThePath) {
  auto node = small_node();
  node.pci.facts.devices[kGpu].payload_bytes = 128U;
  EXPECT_THAT(judged(node), ElementsAre(warns("0000:02:00.0", Remedy::fix_config,
                                              {std::int64_t{128}, std::int64_t{256}, "B"})));
}

TEST(PciPayloadTest, TheLeastOfAllHopsIsTheLimit) {
  auto node = small_node();
  node.pci.facts.devices[kGpu].payload_max_bytes = 4096U;
  node.pci.facts.devices[kSwitch].payload_max_bytes = 512U;
  EXPECT_EQ(judged(node).front().outcome, Outcome::pass);
  node.pci.facts.devices[kRootPort].payload_max_bytes = 512U;
  EXPECT_EQ(judged(node).front().limit, Value(std::int64_t{512}));
}

TEST(PciPayloadTest, AnUnreadableHopIsUnknown) {
  auto node = small_node();
  node.pci.facts.devices[kRootPort].payload_max_bytes =
      Fact<unsigned>::unreadable("reads all ones");
  EXPECT_EQ(judged(node).front(), (unknown("0000:02:00.0")));
}

TEST(PciPayloadTest, AGuestComparesDevicesOfTheSameMake) {
  auto guest = small_guest();
  auto& devices = guest.pci.facts.devices;
  for (auto& device : devices) device.payload_max_bytes = 512U;
  devices[0].device = 0x2330;
  devices[1].device = 0x101e;
  devices.push_back(devices[0]);
  devices[2].address = "0000:04:00.0";
  EXPECT_THAT(judged(guest), ElementsAre(skips("0000:03:00.0"), passes()));
  devices[2].payload_bytes = 128U;
  EXPECT_EQ(judged(guest).front(), warns("0000:04:00.0", Remedy::fix_config, {128, 256, "B"}));
}

TEST(PciPayloadTest, SkipsMissingPayloadsAndIsUnknownForUnreadableOnes) {
  auto node = small_node();
  node.pci.facts.devices[kGpu].payload_bytes = Fact<unsigned>::absent("no PCI Express capability");
  node.pci.facts.devices[kHca].payload_bytes = Fact<unsigned>::unreadable("only root may read it");
  EXPECT_THAT(judged(node), ElementsAre(unknown("0000:03:00.0"), skips("0000:02:00.0")));
}

}  // namespace
}  // namespace muster::pci_payload_test
