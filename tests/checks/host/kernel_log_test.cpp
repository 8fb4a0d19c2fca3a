// SPDX-License-Identifier: Apache-2.0
// host.kernel_log judged on literal nodes.
#include "checks/shared/kernel_log.hpp"

#include "tests/checks/ask.hpp"

namespace muster::host_kernel_log_test {
namespace {

const KernelLogLimits kLimits{
    .window = Seconds{3600},
    .coalesce = Seconds{5},
    .kinds = {{"ignore", Outcome::pass}, {"io_error", Outcome::fail}, {"oom", Outcome::warn}},
    .patterns = {{"]: segfault at ", "ignore", Remedy::none},
                 {"^I/O error, dev ", "io_error", Remedy::reseat_or_replace},
                 {"^nvme nvme*: I/O *timeout", "io_error", Remedy::reboot},
                 {"^Out of memory: Kill", "oom", Remedy::watch},
                 {"^mystery", "unheard_of", Remedy::none}}};

// Two hours after boot.
Snapshot node(std::vector<KernelRecord> records) {
  return {.identity = observed(Identity{.uptime_s = 7200.0}),
          .kernel_log = observed(KernelLog{.records = std::move(records), .seen = 50})};
}

Findings judge(const Snapshot& snapshot) {
  return ask(checks::host_kernel_log::check, snapshot, {.host = HostLimits{.kernel_log = kLimits}});
}

KernelRecord said_at(double uptime_s, std::string text) {
  return {
      .time_us = static_cast<std::uint64_t>(uptime_s * 1e6), .level = 3, .text = std::move(text)};
}

Expected failure(std::string device, std::int64_t incidents) {
  return fails(std::move(device), Remedy::reseat_or_replace,
               {incidents, std::int64_t{0}, "incidents"});
}

TEST(HostKernelLogTest, CountsRepeatsAsLinesOfOneIncident) {
  KernelRecord record = said_at(6000, "I/O error, dev sda, sector 1");
  record.repeats = 40;
  record.last_us = 7080'000'000;
  EXPECT_THAT(judge(node({record, said_at(7083, "I/O error, dev sda, sector 2")})),
              ElementsAre(failure("sda", 1)));
}

TEST(HostKernelLogTest, SeparatesDevices) {
  Expected nvme = failure("nvme0n1", 1);
  nvme.finding.seen_by = {{.check = "host.nvme", .device = "nvme0"},
                          {.check = "host.nvme", .device = "nvme0n*"}};
  EXPECT_THAT(judge(node({said_at(7140, "I/O error, dev sda, sector 1"),
                          said_at(7140, "I/O error, dev nvme0n1, sector 1")})),
              ElementsAre(nvme, failure("sda", 1)));
}

TEST(HostKernelLogTest, ReachesBackToTheBootAndNoFurther) {
  Snapshot snapshot = node({said_at(1, "I/O error, dev sda, sector 1")});
  snapshot.identity->uptime_s = 3600.0;
  EXPECT_THAT(judge(snapshot), ElementsAre(failure("sda", 1)));
}

TEST(HostKernelLogTest, IgnoresLinesFromUserSpace) {
  KernelRecord record = said_at(7000, "I/O error, dev sda, sector 1");
  record.facility = 1;
  EXPECT_THAT(judge(node({record})), ElementsAre(passes()));
}

TEST(HostKernelLogTest, LeavesXidsToTheGpuChecks) {
  KernelLogLimits limits = kLimits;
  limits.patterns.insert(limits.patterns.begin(), {"Xid", "io_error", Remedy::reboot});
  const Snapshot snapshot =
      node({said_at(7000, "NVRM: Xid (PCI:0001:00:00): 79, GPU has fallen off the bus."),
            said_at(7000, "nvidia-nvswitch0: SXid (PCI:0001:00:00.0): 12028, Fatal")});
  EXPECT_THAT(
      ask(checks::host_kernel_log::check, snapshot, {.host = HostLimits{.kernel_log = limits}}),
      ElementsAre(passes()));
}

TEST(HostKernelLogTest, JudgesEachCase) {
  expect_each({
      {"counts lines within seconds as one incident",
       judge(node({said_at(6900, "I/O error, dev sda, sector 1"),
                   said_at(6904, "I/O error, dev sda, sector 2"),
                   said_at(6908, "I/O error, dev sda, sector 3"),
                   said_at(7100, "I/O error, dev sda, sector 4")})),
       {failure("sda", 2)}},
      {"ignores lines before the window",
       judge(node({said_at(3599, "I/O error, dev sda, sector 1")})),
       {passes()}},
      {"warns of a class that the profile gives no outcome",
       judge(node({said_at(7190, "mystery")})),
       {warns("node", Remedy::none, {std::int64_t{1}, std::int64_t{0}, "incidents"})}},
      {"lets the first pattern decide",
       judge(node({said_at(7000, "I/O error, dev [7]: segfault at 0 ip 0 sp 0 error 4")})),
       {passes()}},
      {"shows the newest line as printable text",
       judge(node({said_at(7190, "I/O error, dev sda\x1b[31m, sector 1")})),
       {failure("node", 1)}},
  });
}

TEST(HostKernelLogTest, IsUnknownIfPartOfTheLogIsMissing) {
  for (const KernelLog& log :
       {KernelLog{.lost = 3}, KernelLog{.truncated = true}, KernelLog{.unparsable = 1}}) {
    Snapshot snapshot = node({});
    snapshot.kernel_log = observed(log);
    EXPECT_THAT(judge(snapshot), ElementsAre(unknown()));
  }
}

TEST(HostKernelLogTest, FailsByTheLinesItHasIfOthersWereLost) {
  Snapshot snapshot = node({said_at(7190, "I/O error, dev sda, sector 1")});
  snapshot.kernel_log->lost = 3;
  EXPECT_THAT(judge(snapshot), ElementsAre(failure("sda", 1)));
}

TEST(HostKernelLogTest, IsUnknownWithoutTheTimeSinceBoot) {
  Snapshot snapshot = node({});
  snapshot.identity->uptime_s = make_error("uptime: garbled");
  EXPECT_THAT(judge(snapshot), ElementsAre(unknown()));
}

TEST(KernelPatternTest, IsTextWithStarsThatACaretTiesToTheStart) {
  EXPECT_TRUE(checks::matches_pattern("nvme*timeout", "xx nvme0: I/O 5 timeout, aborting"));
  EXPECT_FALSE(checks::matches_pattern("timeout*nvme", "nvme0: I/O 5 timeout, aborting"));
  EXPECT_TRUE(checks::matches_pattern("^XFS (*): Corruption", "XFS (md0): Corruption detected"));
  EXPECT_FALSE(checks::matches_pattern("^XFS (", "task XFS (md0)"));
  EXPECT_TRUE(checks::matches_pattern("[Hardware Error]?", "mce: [Hardware Error]?"));
  EXPECT_FALSE(checks::matches_pattern("a?c", "abc"));
}

TEST(KernelLineDeviceTest, IsWhatTheMessageIsAbout) {
  for (const auto& [text, device] : std::vector<std::pair<std::string, std::string>>{
           {"mlx5_core 0101:00:00.0: device's health compromised", "0101:00:00.0"},
           {"nvme nvme3: I/O 1 QID 2 timeout, aborting", "nvme3"},
           {"EXT4-fs error (device nvme0n1p1): ext4_lookup:1", "nvme0n1p1"},
           {"XFS (md0): Corruption detected", "md0"},
           {"md/raid1:md127: Disk failure on sdb1", "md127"},
           {"sd 0:0:0:0: [sdab] Unaligned partial completion", "sdab"},
           {"blk_update_request: critical medium error, dev dm-3, sector 9", "dm-3"},
           // A port passes on the errors of a device.
           {"pcieport 0000:00:03.1: AER: Uncorrected (Fatal) error received: 0000:05:01.0",
            "0000:05:01.0"},
           {"pcieport 0000:00:07.1: AER: Multiple Uncorrectable (Non-Fatal) error message received "
            "from 0000:05:01.0",
            "0000:05:01.0"},
           // Users choose the names of processes.
           {"INFO: task eth0: x:7 blocked for more than 120 seconds.", "node"},
           {"INFO: task nvme0n1:7 blocked for more than 120 seconds.", "node"},
           {"Out of memory: Killed process 7 (sda) total-vm:1kB", "node"},
           {"NETDEV WATCHDOG: eth1 (mlx5_core): transmit queue 3 timed out", "eth1"},
           {"NETDEV WATCHDOG: enP5s1np0 (mana): transmit queue 0 timed out 5010 ms", "enP5s1np0"},
           {"hv_netvsc 000d3a1b-0001-000d-3a1b-000d3a1b0001 eth0: NETDEV WATCHDOG: CPU: 3: "
            "transmit queue 0 timed out 5010 ms",
            "eth0"},
           {"mlx5_core 0101:00:00.0 ib0: NETDEV WATCHDOG: CPU: 3: transmit queue 0 timed out 5010",
            "0101:00:00.0"},
           {"ib0: transmit timeout: latency 2048 msecs", "ib0"},
           {"nvidia: probe of 0000:a1:00.0 failed with error -1", "0000:a1:00.0"},
           {"nvidia 0000:a1:00.0: probe with driver nvidia failed with error -1", "0000:a1:00.0"},
           {"NVRM: GPU 0000:a1:00.0: rm_init_adapter failed, device minor number 3",
            "0000:a1:00.0"},
           {"NVRM: rm_init_adapter failed, device minor number 3", "nvidia3"},
           {"EDAC MC1: 1 UE memory read error on CPU_SrcID#0_MC#1_Chan#1_DIMM#0", "mc1"},
           {"I/O error, dev vda, sector 2048 op 0x0:(READ) flags 0x80700", "vda"},
           {"I/O error, dev mmcblk0, sector 2048", "mmcblk0"},
           {"Aborting journal on device sda1-8.", "sda1"},
           {"Aborting journal on device dm-3-8.", "dm-3"},
           {"BTRFS info (device xvda2: state E): forced readonly", "xvda2"}}) {
    EXPECT_EQ(checks::device_of_line(text), device) << text;
  }
}

// A machine check, a lost page and the memory controller's line are one fault.
TEST(KernelLineDeviceTest, AMemoryControllerNamesTheFaultOfTheNodesMemory) {
  KernelLogLimits limits = kLimits;
  limits.kinds = {{"machine_check", Outcome::fail}, {"memory_uncorrected", Outcome::fail}};
  limits.patterns = {{"^mce: ", "machine_check", Remedy::reseat_or_replace},
                     {"^EDAC MC*: * UE ", "memory_uncorrected", Remedy::reseat_or_replace},
                     {"^Memory failure: ", "memory_uncorrected", Remedy::reseat_or_replace}};
  const auto named = [&](std::vector<KernelRecord> records) {
    const auto findings = ask(checks::host_kernel_log::check, node(std::move(records)),
                              {.host = HostLimits{.kernel_log = limits}});
    return findings.size() == 1 ? findings.front().device : fmt::format("{}", findings.size());
  };
  const auto check = said_at(7000, "mce: [Hardware Error]: CPU 1: Machine Check: 0 Bank 7: be00");
  const auto page = said_at(7002, "Memory failure: 0x1234: recovery action: Recovered");
  EXPECT_EQ(named({check, page, said_at(7003, "EDAC MC0: 1 UE memory read error on x")}), "mc0");
  EXPECT_EQ(named({check, said_at(7001, "EDAC MC0: 1 UE memory read error on x"), page}), "node");
  EXPECT_EQ(named({check, page}), "node");
  EXPECT_EQ(named({said_at(7001, "EDAC MC0: 1 UE error on x"),
                   said_at(7001, "EDAC MC1: 1 UE error on x")}),
            "node");
}

TEST(HostKernelLogTest, NamesTheOldestLineIfItIsWithinTheWindow) {
  Snapshot snapshot = node({});
  snapshot.kernel_log->first_sequence = 900'000;
  snapshot.kernel_log->first_us = 7'188'000'000;
  EXPECT_THAT(judge(snapshot).front().message,
              HasSubstr("oldest line in the kernel's buffer, 12 s"));
  snapshot.kernel_log->first_us = 3'000'000'000;
  EXPECT_THAT(judge(snapshot).front().message, HasSubstr("in the last 60 min"));
}

TEST(HostKernelLogTest, LeavesHardwareToTheProviderUnderAHypervisor) {
  Snapshot snapshot = node({said_at(7190, "I/O error, dev sda, sector 1")});
  snapshot.identity->hypervisor = true;
  EXPECT_EQ(judge(snapshot).front().remedy, Remedy::report_to_provider);
}

}  // namespace
}  // namespace muster::host_kernel_log_test
