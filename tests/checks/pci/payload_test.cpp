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

TEST(PciPayloadTest, PassesAtWhatThePathCanDo) {
  EXPECT_THAT(judged(small_node()),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::pass,
                                  .message = "2 devices at the maximum PCIe payload"}));
}

TEST(PciPayloadTest, WarnsBelowWhatThePathCanDo) {
  auto node = small_node();
  node.pci.facts.devices[kGpu].payload_bytes = 128U;
  EXPECT_THAT(
      judged(node),
      ElementsAre(Finding{
          .device = "0000:02:00.0",
          .outcome = Outcome::warn,
          .message = "the maximum PCIe payload of the GPU at 0000:02:00.0 is 128 bytes, its "
                     "path can do 256",
          .observed = std::int64_t{128},
          .limit = std::int64_t{256},
          .unit = "B",
          .remedy = Remedy::fix_config}));
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
  EXPECT_EQ(judged(node).front(),
            (Finding{.device = "0000:02:00.0",
                     .outcome = Outcome::unknown,
                     .message = "what the path above it can do is not known: reads all ones"}));
}

TEST(PciPayloadTest, AGuestComparesDevicesOfTheSameMake) {
  auto guest = small_guest();
  auto& devices = guest.pci.facts.devices;
  for (auto& device : devices) device.payload_max_bytes = 512U;
  devices[0].device = 0x2330;
  devices[1].device = 0x101e;
  devices.push_back(devices[0]);
  devices[2].address = "0000:04:00.0";
  EXPECT_THAT(
      judged(guest),
      ElementsAre(
          Finding{.device = "0000:03:00.0",
                  .outcome = Outcome::skip,
                  .message =
                      "the hypervisor hides the path above it, and no other device is of the "
                      "same make"},
          Finding{.device = "node",
                  .outcome = Outcome::pass,
                  .message = "2 devices at the maximum PCIe payload"}));
  devices[2].payload_bytes = 128U;
  EXPECT_EQ(judged(guest).front().message,
            "the maximum PCIe payload of the GPU at 0000:04:00.0 is 128 bytes, devices of the same "
            "make use 256");
}

TEST(PciPayloadTest, SkipsWhatTellsNoPayloadAndDoesNotKnowWhatCannotBeRead) {
  auto node = small_node();
  node.pci.facts.devices[kGpu].payload_bytes = Fact<unsigned>::absent("no PCI Express capability");
  node.pci.facts.devices[kHca].payload_bytes = Fact<unsigned>::unreadable("only root may read it");
  EXPECT_THAT(
      judged(node),
      ElementsAre(
          Finding{.device = "0000:03:00.0",
                  .outcome = Outcome::unknown,
                  .message = "the maximum PCIe payload is not known: only root may read it"},
          Finding{.device = "0000:02:00.0",
                  .outcome = Outcome::skip,
                  .message = "configuration space tells no maximum PCIe payload"}));
}

}  // namespace
}  // namespace muster::pci_payload_test
