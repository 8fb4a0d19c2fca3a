// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "tests/checks/ask.hpp"
#include "tests/checks/pci/bus_fixture.hpp"

namespace muster {
namespace {

using ::testing::ElementsAre;

Findings judged(const Snapshot& snapshot, const Profile& profile) {
  return ask(checks::pci_devices, snapshot, profile);
}

TEST(PciDevicesTest, PassesWhenAllAreThereAndAnswer) {
  EXPECT_THAT(judged(small_node(), one_gpu_and_hca()),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::pass,
                                  .message = "1 GPU, 1 HCA on the PCI bus, and all answer"}));
}

TEST(PciDevicesTest, NamesTheMissingDeviceWhereTheProfileKnowsItsAddress) {
  auto profile = one_gpu_and_hca();
  profile.gpu.present.count = 2;
  profile.topo.numa.gpu = {{"0000:02:00.0", 0}, {"0000:12:00.0", 1}};
  EXPECT_THAT(
      judged(small_node(), profile),
      ElementsAre(Finding{.device = "0000:12:00.0",
                          .outcome = Outcome::fail,
                          .message = "no GPU at 0000:12:00.0: 1 GPU on the PCI bus, expected 2",
                          .observed = std::int64_t{1},
                          .limit = std::int64_t{2},
                          .remedy = Remedy::reseat_or_replace,
                          .code = "NHC2009"}));
}

TEST(PciDevicesTest, CountsMissingDevicesWithoutAddresses) {
  auto profile = one_gpu_and_hca();
  profile.ib.present.count = 8;
  profile.pci.devices.nvswitches = 4;
  auto guest = small_guest();
  EXPECT_THAT(judged(guest, profile),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::fail,
                                  .message = "0 NVSwitches on the PCI bus, expected 4",
                                  .observed = std::int64_t{0},
                                  .limit = std::int64_t{4},
                                  .remedy = Remedy::report_to_provider,
                                  .code = "NHC2016"},
                          Finding{.device = "node",
                                  .outcome = Outcome::fail,
                                  .message = "1 HCA on the PCI bus, expected 8",
                                  .observed = std::int64_t{1},
                                  .limit = std::int64_t{8},
                                  .remedy = Remedy::report_to_provider,
                                  .code = "NHC2002"}));
}

TEST(PciDevicesTest, FailsADeviceThatReadsAllOnes) {
  auto node = small_node();
  node.pci.facts.devices[kGpu].responding = false;
  EXPECT_THAT(judged(node, one_gpu_and_hca()),
              ElementsAre(Finding{
                  .device = "0000:02:00.0",
                  .outcome = Outcome::fail,
                  .message = "the GPU at 0000:02:00.0 is on the PCI bus and does not answer: its "
                             "configuration space reads all ones",
                  .observed = false,
                  .limit = true,
                  .remedy = Remedy::reboot,
                  .code = "NHC2013"}));
}

TEST(PciDevicesTest, ADeviceThatCannotBeAskedIsUnknown) {
  auto node = small_node();
  node.pci.facts.devices[kHca].responding =
      Fact<bool>::unreadable("read config: Input/output error");
  EXPECT_THAT(judged(node, one_gpu_and_hca()),
              ElementsAre(Finding{
                  .device = "0000:03:00.0",
                  .outcome = Outcome::unknown,
                  .message = "whether the HCA at 0000:03:00.0 answers is not known: read config: "
                             "Input/output error"}));
}

TEST(PciDevicesTest, SkipsWhereNothingIsExpectedAndNothingIsThere) {
  auto node = small_node();
  node.pci.facts.devices.clear();
  EXPECT_THAT(
      judged(node, Profile{}),
      ElementsAre(Finding{.device = "node",
                          .outcome = Outcome::skip,
                          .message = "no GPU, NVSwitch or HCA is expected by this profile"}));
}

TEST(PciDevicesTest, WithoutABusItIsUnknownOnlyWhereSomethingIsExpected) {
  Snapshot snapshot;
  snapshot.pci.reason = "list /sys/bus/pci/devices: No such file or directory";
  EXPECT_EQ(judged(snapshot, one_gpu_and_hca()).front().outcome, Outcome::unknown);
  EXPECT_EQ(judged(snapshot, Profile{}).front().outcome, Outcome::skip);
}

TEST(PciDevicesTest, DoesNotCountTheVirtualFunctionsOfAHost) {
  auto profile = one_gpu_and_hca();
  profile.ib.present.count = 2;
  auto node = small_node();
  auto part = pci_device("0000:03:00.2", PciKind::hca);
  part.virtual_function = true;
  node.pci.facts.devices.push_back(part);
  EXPECT_EQ(judged(node, profile).front().message, "1 HCA on the PCI bus, expected 2");
}

}  // namespace
}  // namespace muster
