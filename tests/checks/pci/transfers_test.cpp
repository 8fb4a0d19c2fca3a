// SPDX-License-Identifier: Apache-2.0
// Settings of the PCI bus that slow transfers down.
#include "tests/checks/ask.hpp"
#include "tests/checks/pci/bus_fixture.hpp"

namespace muster::pci_transfers_test {
namespace {

constexpr AskedCheck judged_acs{checks::pci_acs::check, one_gpu_and_hca};

TEST(PciAcsTest, JudgesEachChange) {
  const std::vector<NodeChange> changes{
      {"warns at the switch port above a GPU once",
       [](Snapshot& node) {
         device(node, kSwitch).acs_control = 0x1dU;
         node.pci->devices.push_back(pci_device("0000:02:01.0", PciKind::gpu));
       },
       {warns("0000:01:00.0", Remedy::fix_config, {0x1d, 0})}},
      {"the root port is the way up anyhow",
       [](Snapshot& node) { device(node, kRootPort).acs_control = 0x1dU; },
       {passes()}},
      {"a bridge without the capability cannot redirect",
       [](Snapshot& node) { device(node, kSwitch).acs_control = absent(); },
       {passes()}},
      {"is unknown if unreadable",
       [](Snapshot& node) { device(node, kSwitch).acs_control = unreadable(); },
       {unknown("0000:01:00.0")}},
  };
  expect_findings(judged_acs, small_node(), changes);
}

TEST(PciAcsTest, SkipsUnderAHypervisorAndWithoutSwitches) {
  EXPECT_THAT(judged_acs(small_guest()), ElementsAre(skips()));
  auto node = small_node();
  device(node, kGpu).upstream = {"0000:00:01.0"};
  EXPECT_THAT(judged_acs(node), ElementsAre(skips()));
}

constexpr AskedCheck judged_payload{checks::pci_payload::check, one_gpu_and_hca};

TEST(PciPayloadTest, JudgesEachChange) {
  const std::vector<NodeChange> changes{
      {"an unreadable hop is unknown",
       [](Snapshot& node) { device(node, kRootPort).payload_max_bytes = unreadable(); },
       {unknown("0000:02:00.0"), unknown("0000:03:00.0")}},
      {"skips missing payloads and is unknown for unreadable ones",
       [](Snapshot& node) {
         device(node, kGpu).payload_bytes = absent();
         device(node, kHca).payload_bytes = unreadable();
       },
       {unknown("0000:03:00.0"), skips("0000:02:00.0")}},
  };
  expect_findings(judged_payload, small_node(), changes);
}

TEST(PciPayloadTest, TheLeastOfAllHopsIsTheLimit) {
  auto node = small_node();
  device(node, kGpu).payload_max_bytes = 4096U;
  device(node, kSwitch).payload_max_bytes = 512U;
  EXPECT_EQ(judged_payload(node).front().outcome, Outcome::pass);
  device(node, kRootPort).payload_max_bytes = 512U;
  EXPECT_EQ(judged_payload(node).front().limit, Value(std::int64_t{512}));
}

TEST(PciPayloadTest, AGuestComparesDevicesOfTheSameMake) {
  auto guest = small_guest();
  auto& devices = guest.pci->devices;
  for (auto& device : devices) device.payload_max_bytes = 512U;
  devices[0].device = 0x2330;
  devices[1].device = 0x101e;
  devices.push_back(devices[0]);
  devices[2].address = "0000:04:00.0";
  EXPECT_THAT(judged_payload(guest), ElementsAre(skips("0000:03:00.0"), passes()));
  devices[2].payload_bytes = 128U;
  EXPECT_EQ(judged_payload(guest).front(),
            warns("0000:04:00.0", Remedy::fix_config, {128, 256, "B"}));
}

}  // namespace
}  // namespace muster::pci_transfers_test
