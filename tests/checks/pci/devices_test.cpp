// SPDX-License-Identifier: Apache-2.0

#include "checks/run.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/pci/bus_fixture.hpp"

namespace muster::pci_devices_test {
namespace {

constexpr AskedCheck judged{checks::pci_devices::check, one_gpu_and_hca};

TEST(PciDevicesTest, CountsMissingDevicesWithoutAddresses) {
  auto profile = one_gpu_and_hca();
  profile.ib->present.count = 8;
  profile.pci->devices.nvswitches = 4;
  auto guest = small_guest();
  EXPECT_THAT(judged(guest, profile),
              ElementsAre(fails("node", Remedy::report_to_provider, {0, 4}, "NHC2016"),
                          fails("node", Remedy::report_to_provider, {1, 8}, "NHC2002")));
}

TEST(PciDevicesTest, ADeviceThatCannotBeAskedIsUnknown) {
  auto node = small_node();
  device(node, kHca).responding = unreadable();
  EXPECT_THAT(judged(node), ElementsAre(unknown("0000:03:00.0")));
}

TEST(PciDevicesTest, SkipsIfNothingIsExpectedAndNothingIsThere) {
  auto node = small_node();
  node.pci->devices.clear();
  EXPECT_THAT(judged(node, Profile{}), ElementsAre(skips()));
}

TEST(PciDevicesTest, WithoutABusItIsUnknownOnlyIfSomethingIsExpected) {
  Snapshot snapshot;
  snapshot.pci.reason = "list /sys/bus/pci/devices: No such file or directory";
  EXPECT_EQ(judged(snapshot).front().outcome, Outcome::unknown);
  EXPECT_EQ(judged(snapshot, Profile{}).front().outcome, Outcome::skip);
}

TEST(PciDevicesTest, DoesNotCountTheVirtualFunctionsOfAHost) {
  auto profile = one_gpu_and_hca();
  profile.ib->present.count = 2;
  auto node = small_node();
  auto part = pci_device("0000:03:00.2", PciKind::hca);
  part.virtual_function = true;
  node.pci->devices.push_back(part);
  EXPECT_EQ(judged(node, profile).front(),
            fails("node", Remedy::reseat_or_replace, {1, 2}, "NHC2002"));
}

Gpu listed(unsigned index, std::string address) {
  Gpu gpu{.index = index, .address = std::move(address)};
  gpu.uuid = "GPU-1"s;
  gpu.serial = "1650"s;
  return gpu;
}

Gpu refused(unsigned index) {
  Gpu gpu = listed(index, "");
  gpu.lost = "nvmlDeviceGetHandleByIndex_v2: GPU is lost (15)";
  return gpu;
}

// A node with NVML.
Snapshot with_nvml(std::vector<Gpu> gpus) {
  Snapshot node = small_node();
  device(node, kGpu).vendor = 0x10de;
  device(node, kGpu).driver = "nvidia";
  node.nvml = observed(Nvml{.gpus = std::move(gpus)});
  return node;
}

const std::string kGpuAddress = "0000:02:00.0";

Expected not_in_nvml(Remedy remedy = Remedy::reboot, std::string code = "NHC2013") {
  return fails(kGpuAddress, remedy, {false, true}, std::move(code));
}

TEST(PciDevicesWithNvmlTest, AGpuWithoutTheDriverIsAConfigurationFault) {
  Snapshot node = with_nvml({});
  device(node, kGpu).driver = "";
  EXPECT_THAT(judged(node), ElementsAre(not_in_nvml(Remedy::reboot, "NHC2015")));
  device(node, kGpu).driver = "vfio-pci";
  EXPECT_THAT(judged(node), ElementsAre(not_in_nvml(Remedy::fix_config, "NHC2015")));
}

TEST(PciDevicesWithNvmlTest, WithoutExpectationOnlyTheDriversOwnGpusAreCompared) {
  Snapshot node = with_nvml({});
  Expected hidden = not_in_nvml();
  hidden.finding.outcome = Outcome::unknown;
  EXPECT_THAT(judged(node, Profile{}), ElementsAre(hidden));
  device(node, kGpu).driver = "nouveau";
  EXPECT_EQ(judged(node, Profile{}).front().outcome, Outcome::pass);
}

const std::string kOtherAddress = "0000:04:00.0";

// Adds a second GPU like the first.
PciDevice& add_gpu(Snapshot& node, std::string driver) {
  PciDevice second = device(node, kGpu);
  second.address = kOtherAddress;
  second.driver = std::move(driver);
  node.pci->devices.push_back(second);
  return node.pci->devices.back();
}

TEST(PciDevicesWithNvmlTest, AGpuWithoutAnyDriverFailsIfTheDriverRunsOthers) {
  Snapshot node = with_nvml({listed(0, kGpuAddress)});
  add_gpu(node, "");
  const auto unbound = fails(kOtherAddress, Remedy::reboot, {false, true}, "NHC2015");
  EXPECT_THAT(judged(node, Profile{}), ElementsAre(unbound));
  node.pci->devices.back().driver = "nouveau";
  EXPECT_THAT(judged(node, Profile{}), ElementsAre(passes()));
  node.pci->devices.back().driver = "";
  node.pci->devices.back().vendor = 0x1002;
  EXPECT_THAT(judged(node, Profile{}), ElementsAre(passes()));
}

TEST(PciDevicesWithNvmlTest, GpusWithoutAnyDriverAreUnknownIfItRunsNone) {
  Snapshot node = with_nvml({});
  device(node, kGpu).driver = "";
  add_gpu(node, "vfio-pci");
  EXPECT_THAT(judged(node, Profile{}), ElementsAre(unknown(kGpuAddress)));
  node.nvml = {.status = Status::absent, .reason = "libnvidia-ml.so.1: cannot open"};
  EXPECT_THAT(judged(node, Profile{}), ElementsAre(unknown(kGpuAddress)));
  add_gpu(node, "").address = "0000:05:00.0";
  EXPECT_THAT(judged(node, Profile{}), ElementsAre(unknown(kGpuAddress), unknown("0000:05:00.0")));
}

TEST(PciDevicesWithNvmlTest, AGpuThatNvmlLostFailsWithoutExpectationIfNothingIsHidden) {
  Snapshot node = with_nvml({listed(0, kGpuAddress)});
  add_gpu(node, "nvidia");
  const auto outcome = [&](const std::string& context) {
    return ask(checks::pci_devices::check, node, Profile{}, {.name = context}).front();
  };
  for (const auto* const context : {"prolog", "epilog", "periodic", "boot"}) {
    EXPECT_EQ(outcome(context), fails(kOtherAddress, Remedy::reboot, {false, true}, "NHC2013"))
        << context;
  }
  EXPECT_EQ(outcome("manual").outcome, Outcome::unknown) << "it may run inside a job";
  node.identity->container = Container{.recognised_by = {"/.dockerenv"}};
  EXPECT_EQ(outcome("prolog").outcome, Outcome::unknown);
  node.identity->container = unreadable();
  EXPECT_EQ(outcome("prolog").outcome, Outcome::unknown);
}

TEST(PciDevicesWithNvmlTest, AGpuOfAnotherMakerIsNotNvmls) {
  Snapshot node = with_nvml({});
  device(node, kGpu).vendor = 0x1002;
  EXPECT_EQ(judged(node).front().outcome, Outcome::pass);
}

TEST(PciDevicesWithNvmlTest, WithoutAUsableNvmlNothingIsCompared) {
  Snapshot node = with_nvml({});
  node.nvml->trouble = "nvmlInit_v2: Driver Not Loaded (9)";
  EXPECT_EQ(judged(node).front().outcome, Outcome::pass);
  node.nvml = {.status = Status::absent, .reason = "foreign root"};
  EXPECT_EQ(judged(node).front().outcome, Outcome::pass);
}

TEST(PciDevicesWithNvmlTest, AGpuWhoseHandleIsRefusedIsNamedByGpuPresentAlone) {
  Snapshot node = with_nvml({refused(0)});
  EXPECT_EQ(judged(node).front().outcome, Outcome::pass);
  node.pci->devices.push_back(device(node, kGpu));
  node.pci->devices.back().address = "0000:04:00.0";
  EXPECT_THAT(judged(node), ElementsAre(fails("node", Remedy::reboot, {2, 0}, "NHC2013")));
}

TEST(PciDevicesWithNvmlTest, AGpuThatNvmlHasAndTheBusHasNotIsUnknown) {
  EXPECT_THAT(judged(with_nvml({listed(0, kGpuAddress), listed(1, "0000:05:00.0")})),
              ElementsAre(unknown("0000:05:00.0")));
}

std::vector<Finding> failures(const Snapshot& node, const Profile& profile) {
  auto report = judge(node, profile, {.only = {"pci.devices", "gpu.present"}});
  std::erase_if(report.findings,
                [](const Finding& finding) { return finding.outcome != Outcome::fail; });
  return report.findings;
}

// However a GPU leaves the bus, the two checks together report it once.
TEST(PciDevicesWithNvmlTest, AGpuThatLeftTheBusIsOneFinding) {
  Gpu lost = listed(0, kGpuAddress);
  lost.lost = "nvmlDeviceGetName: GPU is lost (15)";
  Gpu stuck = listed(0, kGpuAddress);
  stuck.stuck = "nvmlDeviceGetName";
  for (const auto& gpu : {lost, stuck, refused(0)}) {
    Snapshot silent = with_nvml({gpu});
    device(silent, kGpu).responding = false;
    Snapshot gone = with_nvml({gpu});
    gone.pci->devices.erase(gone.pci->devices.begin() + kGpu);
    for (const auto& node : {silent, gone}) {
      EXPECT_THAT(failures(node, one_gpu_and_hca()),
                  ElementsAre(AllOf(::testing::Field(&Finding::check, "gpu.present"),
                                    ::testing::Field(&Finding::device, "gpu0"))));
      Profile with_places = one_gpu_and_hca();
      with_places.topo->numa.gpu = {{kGpuAddress, 0}};
      EXPECT_EQ(failures(node, with_places).size(), 1U);
    }
  }
}

TEST(PciDevicesWithNvmlTest, OneRefusedGpuDoesNotExplainTwoThatAreGone) {
  Snapshot node = with_nvml({refused(0)});
  device(node, kGpu).responding = false;
  node.pci->devices.push_back(device(node, kGpu));
  node.pci->devices.back().address = "0000:04:00.0";
  EXPECT_EQ(failures(node, one_gpu_and_hca()).size(), 3U);
}

TEST(PciDevicesWithNvmlTest, ARefusedGpuDoesNotExplainAnotherThatNvmlStillLists) {
  Snapshot node = with_nvml({listed(0, "0000:05:00.0"), refused(1)});
  Profile profile = one_gpu_and_hca();
  profile.gpu->present.count = 2;
  std::vector<std::string> checks;
  for (const auto& finding : failures(node, profile)) checks.push_back(finding.check);
  EXPECT_THAT(checks, ElementsAre("pci.devices", "gpu.present"));
}

TEST(PciDevicesWithNvmlTest, AGpuThatIsGoneForBothIsTheBussFinding) {
  Snapshot node = with_nvml({});
  node.pci->devices.erase(node.pci->devices.begin() + kGpu);
  EXPECT_THAT(failures(node, one_gpu_and_hca()),
              ElementsAre(::testing::Field(&Finding::check, "pci.devices")));
}

TEST(PciDevicesWithNvmlTest, AGpuThatReadsAllOnesAndIsNotInNvmlIsOneFinding) {
  Snapshot node = with_nvml({});
  device(node, kGpu).responding = false;
  auto silent = fails("0000:02:00.0", Remedy::reseat_or_replace, {false, true}, "NHC2013");
  silent.finding.category = "Resource.Hpc.Unhealthy.XID79FallenOffBus";
  EXPECT_THAT(failures(node, one_gpu_and_hca()), ElementsAre(silent));
}

TEST(PciDevicesWithNvmlTest, AllGpusThatAreNotInNvmlHaveOneRemedy) {
  Snapshot node = with_nvml({});
  node.pci->devices.push_back(device(node, kGpu));
  node.pci->devices.back().address = "0000:04:00.0";
  Profile profile = one_gpu_and_hca();
  profile.gpu->present.count = 2;
  const auto needs = [](std::string gpu, Remedy remedy) {
    return AllOf(::testing::Field(&Finding::device, std::move(gpu)),
                 ::testing::Field(&Finding::remedy, remedy));
  };
  EXPECT_THAT(failures(node, profile),
              ElementsAre(needs(kGpuAddress, Remedy::reseat_or_replace),
                          needs("0000:04:00.0", Remedy::reseat_or_replace)));
}

TEST(PciDevicesWithNvmlTest, ASilentGpuIsStillFoundIfGpuPresentIsNotAsked) {
  Gpu lost = listed(0, kGpuAddress);
  lost.lost = "nvmlDeviceGetName: GPU is lost (15)";
  Snapshot node = with_nvml({lost});
  device(node, kGpu).responding = false;
  EXPECT_EQ(judge(node, one_gpu_and_hca(), {.only = {"pci.devices"}}).verdict, Verdict::unhealthy);
}

}  // namespace
}  // namespace muster::pci_devices_test
