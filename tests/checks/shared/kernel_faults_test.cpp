// SPDX-License-Identifier: Apache-2.0
// host.kernel_log makes one finding per fault, with the shipped patterns.

#include "checks/shared/kernel_log.hpp"
#include "lib/profile/load.hpp"
#include "tests/checks/ask.hpp"

namespace muster::shared_kernel_faults_test {
namespace {

KernelRecord said_at(double uptime_s, std::string text) {
  return {
      .time_us = static_cast<std::uint64_t>(uptime_s * 1e6), .level = 3, .text = std::move(text)};
}

// A root port, a switch port, and a GPU and an HCA below them.
Snapshot node(std::vector<KernelRecord> records) {
  Snapshot snapshot{.identity = observed(Identity{.uptime_s = 7200.0}),
                    .kernel_log = observed(KernelLog{.records = std::move(records), .seen = 50})};
  snapshot.pci = observed(
      Pci{.devices = {
              {.address = "0000:10:00.0", .kind = PciKind::bridge},
              {.address = "0000:11:00.0", .kind = PciKind::bridge, .upstream = {"0000:10:00.0"}},
              {.address = "0000:12:00.0",
               .kind = PciKind::gpu,
               .upstream = {"0000:10:00.0", "0000:11:00.0"}},
              {.address = "0000:13:00.0",
               .kind = PciKind::hca,
               .upstream = {"0000:10:00.0", "0000:11:00.0"}}}});
  return snapshot;
}

Findings findings_in(const Snapshot& snapshot) {
  static const Profile profile = load_profile({}, "generic").value();
  return ask(checks::host_kernel_log::check, snapshot, profile);
}

// "fail 0000:12:00.0 pcie_fatal: 1 incident (2 lines) …": up to the quoted line, and what is with
// it.
std::vector<std::string> judged(const Snapshot& snapshot) {
  std::vector<std::string> said;
  for (const Finding& finding : findings_in(snapshot)) {
    const auto with = finding.message.find("; with it");
    said.push_back(
        fmt::format("{} {} {}{}", to_string(finding.outcome), finding.device,
                    finding.message.substr(0, finding.message.find(" since boot")),
                    with == std::string::npos ? std::string() : finding.message.substr(with)));
  }
  return said;
}

const std::vector<KernelRecord> kAerIncident{
    said_at(7000.0, "pcieport 0000:10:00.0: AER: Uncorrected (Fatal) error received: 0000:12:00.0"),
    said_at(7000.1,
            "nvidia 0000:12:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), "
            "type=Transaction Layer, (Requester ID)"),
    said_at(7001.0, "pcieport 0000:11:00.0: AER: device recovery failed")};

TEST(KernelFaultsTest, LeavesAPortThatFailsAtAnotherTimeItsOwnFault) {
  auto records = kAerIncident;
  records[2].time_us += 60'000'000;
  EXPECT_THAT(judged(node(records)),
              ElementsAre("fail 0000:12:00.0 pcie_fatal: 1 incident (2 lines)",
                          "fail 0000:11:00.0 pcie_recovery: once"));
}

TEST(KernelFaultsTest, SeparatesDevicesBelowOnePort) {
  auto records = kAerIncident;
  records.pop_back();
  records.push_back(said_at(
      7002, "pcieport 0000:10:00.0: AER: Uncorrected (Fatal) error received: 0000:13:00.0"));
  EXPECT_THAT(judged(node(records)),
              ElementsAre("fail 0000:12:00.0 pcie_fatal: 1 incident (2 lines)",
                          "fail 0000:13:00.0 pcie_fatal: once"));
}

TEST(KernelFaultsTest, IsNamedByTheClassThatFails) {
  EXPECT_THAT(judged(node({said_at(7000,
                                   "mlx5_core 0000:13:00.0: PCIe Bus Error: severity=Uncorrected "
                                   "(Non-Fatal), type=Transaction Layer, (Requester ID)"),
                           said_at(7001, "pcieport 0000:11:00.0: AER: device recovery failed")})),
              ElementsAre("fail 0000:13:00.0 pcie_recovery: once; with it pcie_nonfatal "
                          "(1 line)"));
}

TEST(KernelFaultsTest, LeavesAMachineCheckAtAnotherTimeItsOwnFault) {
  EXPECT_THAT(
      judged(
          node({said_at(6000, "mce: [Hardware Error]: CPU 1: Machine Check: 0 Bank 7: be00"),
                said_at(6500, "mce: [Hardware Error]: CPU 1: Machine Check: 0 Bank 7: be00"),
                said_at(7000,
                        "Memory failure: 0x1234: recovery action for dirty LRU page: Recovered")})),
      ElementsAre("fail node machine_check: 2 incidents (2 lines)",
                  "fail node memory_uncorrected: once"));
}

std::vector<SeenBy> who_else(const Snapshot& snapshot) {
  return findings_in(snapshot).front().seen_by;
}

TEST(KernelFaultsTest, KnowsWhichChecksCountErrorsOfPcieAndMemory) {
  EXPECT_THAT(who_else(node(kAerIncident)), ElementsAre(SeenBy{"pci.errors", "0000:12:00.0"},
                                                        SeenBy{"pci.devices", "0000:12:00.0"}));
  const auto check = said_at(7000, "mce: [Hardware Error]: CPU 1: Machine Check: 0 Bank 7: be00");
  EXPECT_THAT(who_else(node({check})), IsEmpty());
  EXPECT_THAT(
      who_else(node(
          {check,
           said_at(7001, "Memory failure: 0x1: recovery action for dirty LRU page: Recovered")})),
      ElementsAre(SeenBy{"host.edac", "*"}));
}

TEST(KernelFaultsTest, ParsesTheSubjectOfAFirmwareRecord) {
  const auto severity = said_at(7000, "{1}[Hardware Error]: event severity: recoverable");
  EXPECT_THAT(who_else(node(
                  {severity, said_at(7000, "{1}[Hardware Error]:   section_type: memory error")})),
              ElementsAre(SeenBy{"host.edac", "*"}));
  EXPECT_THAT(
      who_else(node({severity, said_at(7000, "{1}[Hardware Error]:   section_type: PCIe error"),
                     said_at(7000, "{1}[Hardware Error]:   device_id: 0000:12:00.0")})),
      ElementsAre(SeenBy{"pci.errors", "0000:12:00.0"}, SeenBy{"pci.devices", "0000:12:00.0"}));
  EXPECT_THAT(who_else(node(
                  {severity, said_at(7000, "{2}[Hardware Error]:   section_type: memory error")})),
              IsEmpty());
}

TEST(KernelFaultsTest, LeavesADiskThatIsGoneToTheCountOfDisks) {
  Snapshot snapshot = node({said_at(7000, "nvme nvme6: Device not ready; aborting reset")});
  const std::vector<SeenBy> here{{"host.nvme", "nvme6"}, {"host.nvme", "nvme6n*"}};
  EXPECT_EQ(who_else(snapshot), here);
  snapshot.disks = observed(Disks{.dead_controllers = {"nvme6"}});
  EXPECT_EQ(who_else(snapshot), here);
  snapshot.disks->dead_controllers.clear();
  EXPECT_THAT(who_else(snapshot),
              ElementsAre(SeenBy{"host.nvme", "nvme6"}, SeenBy{"host.nvme", "nvme6n*"},
                          SeenBy{"host.nvme", "node"}));
}

TEST(WholeOfTest, IsTheDiskOfAPartition) {
  EXPECT_EQ(checks::line::whole_of("nvme6n1p2"), "nvme6");
  EXPECT_EQ(checks::line::whole_of("nvme16"), "nvme16");
  EXPECT_EQ(checks::line::whole_of("sdab12"), "sdab");
  EXPECT_EQ(checks::line::whole_of("md127p1"), "md127");
  EXPECT_EQ(checks::line::whole_of("dm-3"), "dm-3");
  EXPECT_EQ(checks::line::whole_of("0000:12:00.0"), "0000:12:00.0");
}

}  // namespace
}  // namespace muster::shared_kernel_faults_test
