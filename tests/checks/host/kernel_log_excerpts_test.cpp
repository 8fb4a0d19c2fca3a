// SPDX-License-Identifier: Apache-2.0
// Excerpts of kernel logs in the forms that public reports of faults show, judged by the shipped
// patterns: which faults they are, of which device, and whether they take a node from work.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "checks/catalogue.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/load.hpp"
#include "tests/checks/ask.hpp"

namespace muster::host_kernel_log_excerpts_test {
namespace {

struct Excerpt {
  std::string_view name;
  std::string_view lines;
  std::vector<std::string> found;  // "outcome device class", sorted; empty where all is well
};

const std::vector<Excerpt> kExcerpts{
    {"A GPU whose firmware does not start",
     "NVRM: GPU6 _kgspBootGspRm: unexpected WPR2 already up, cannot proceed with booting GSP\n"
     "NVRM: GPU6 _kgspBootGspRm: (the GPU is likely in a bad state and may need to be reset)\n"
     "NVRM: GPU 0000:12:00.0: RmInitAdapter failed! (0x62:0x40:2168)\n"
     "NVRM: GPU 0000:12:00.0: rm_init_adapter failed, device minor number 7",
     {"fail 0000:12:00.0 gpu_init"}},
    {"An old driver's words for it",
     "NVRM: GPU 0000:12:00.0: RmInitAdapter failed! (0x26:0x56:1474)",
     {"fail 0000:12:00.0 gpu_init"}},
    {"The words of drivers before 400",
     "NVRM: RmInitAdapter failed! (0x26:0xffff:1123)\n"
     "NVRM: rm_init_adapter failed for device bearing minor number 0",
     {"fail node gpu_init"}},
    {"A GPU that its driver refuses",
     "nvidia 0000:12:00.0: probe with driver nvidia failed with error -1",
     {"fail 0000:12:00.0 gpu_init"}},
    {"An unanswered call to the GSP",
     "NVRM: GPU3 _issueRpcAndWait: rpcRecvPoll timedout for fn 76!",
     {"fail node gpu_firmware"}},
    {"An AMD GPU that does not start",
     "amdgpu 0000:12:00.0: amdgpu: hw_init of IP block <psp> failed -22\n"
     "amdgpu 0000:12:00.0: amdgpu: Fatal error during GPU init",
     {"fail 0000:12:00.0 gpu_init"}},
    {"Memory that lost data, in an older driver's words",
     "EDAC MC0: UE page 0x0, offset 0x0, grain 0, row 2, labels \"\": i3200 UE",
     {"fail node memory_uncorrected"}},
    {"IP over InfiniBand that sends no more",
     "ib0: transmit timeout: latency 2048 msecs\nib0: queue stopped 1, tx_head 8 tx_tail 4",
     {"warn node tx_timeout"}},
    {"Two GPUs that do not start",
     "NVRM: GPU 0000:12:00.0: RmInitAdapter failed! (0x11:0x45:2525)\n"
     "NVRM: GPU 0000:14:00.0: RmInitAdapter failed! (0x11:0x45:2525)",
     {"fail 0000:12:00.0 gpu_init", "fail 0000:14:00.0 gpu_init"}},
    {"A GPU that starts once the driver is loaded again",
     "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (root@b)\n"
     "NVRM: GPU 0000:12:00.0: RmInitAdapter failed! (0x62:0x40:2168)\n"
     "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (root@b)",
     {}},
    {"The GSP's heart stands still",
     "NVRM: GPU0 _kgspIsHeartbeatTimedOut: Heartbeat timed out, currentTimeMs 322227881 heartbeat "
     "0 heartbeatWithOffsetMs 318098841 diff 4129040 timeout 5200\n"
     "NVRM: GPU0 _kgspRpcRecvPoll: GSP RM heartbeat timed out",
     {"fail node gpu_firmware"}},
    {"The same from a driver that names no GPU",
     "NVRM: _kgspRpcRecvPoll: GSP RM heartbeat timed out",
     {"fail node gpu_firmware"}},
    {"NVLinks that do not train, in the older words",
     "NVRM: knvlinkUpdatePostRxDetectLinkMask_IMPL: Failed to update Rx Detect Link mask!\n"
     "NVRM: knvlinkDiscoverPostRxDetLinks_GH100: Getting peer0's postRxDetLinkMask failed!",
     {"fail node gpu_nvlink"}},
    {"NVLinks that do not train",
     "NVRM: knvlinkDiscoverPostRxDetLinks_GH100: Getting peer3's postRxDetLinkMask failed!",
     {"fail node gpu_nvlink"}},
    {"A job ended within GPUDirect",
     "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping "
     "further processing",
     {"warn node peermem"}},
    {"A program died in NCCL",
     "python3[4711]: segfault at 7f3c ip 00007f3cb1 sp 00007ffd error 4 in "
     "libnccl.so.2[7f3cb0000000+8000000] likely on CPU 12 (core 12, socket 0)",
     {}},
    {"A program died, and its name is a fault's",
     "NVRM: GPU : Rm[4711]: segfault at 0 ip 00007f sp 00007f error 4 in x[7f+1]",
     {}},
    {"An XID is gpu.xid's",
     "NVRM: Xid (PCI:0000:12:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
     {}},
    {"Chatter of the driver",
     "NVRM: GPU0 nvAssertFailedNoLog: Assertion failed: 0 @ kernel_gsp.c:1446\n"
     "nvidia 0000:12:00.0: Enabling HDA controller\n"
     "nvidia-nvlink: Nvlink Core is being initialized, major device number 239",
     {}},
    {"An interface of an HCA that sends no more",
     "mlx5_core 0000:13:00.0 ib0: TX timeout detected\n"
     "mlx5_core 0000:13:00.0 ib0: TX timeout on queue: 3, SQ: 0x1a2, CQ: 0x4c8, SQ Cons: 0x77 SQ "
     "Prod: 0x7f, usecs since last trans: 15123000",
     {"warn 0000:13:00.0 tx_timeout"}},
    {"The kernel's own word for it, until 5.18",
     "NETDEV WATCHDOG: eth2 (mlx5_core): transmit queue 9 timed out",
     {"warn node tx_timeout"}},
    {"The kernel's own word for it, from 5.19 on",
     "mlx5_core 0000:13:00.0 eth2: NETDEV WATCHDOG: CPU: 3: transmit queue 9 timed out 5010 ms",
     {"warn 0000:13:00.0 tx_timeout"}},
    {"Another maker's interface",
     "ice 0000:21:00.0 ens1f0: NETDEV WATCHDOG: CPU: 61: transmit queue 22 timed out 5408 ms",
     {"warn 0000:21:00.0 tx_timeout"}},
    {"An HCA whose firmware stopped",
     "mlx5_core 0000:13:00.0: poll_health:800:(pid 0): device's health compromised - reached miss "
     "count\n"
     "mlx5_core 0000:13:00.0: assert_exit_ptr 0x20b8e8fc",
     {"fail 0000:13:00.0 hca_health"}},
    {"A register that a virtual function may not read",
     "mlx5_core 0000:13:00.0: mlx5_cmd_out_err:803:(pid 12): ACCESS_REG(0x805) op_mod(0x1) "
     "failed, status bad operation(0x2), syndrome (0x6c4d48), err(-22)",
     {}},
    {"Memory that lost data, on a server",
     "EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0 (channel:0 slot:0 "
     "page:0xe16677 offset:0x0 grain:32 -  err_code:0000:009f socket:0 imc:0 rank:0 bg:0 ba:3)",
     {"fail node memory_uncorrected"}},
    {"Memory that was corrected",
     "EDAC sbridge MC1: HANDLING MCE MEMORY ERROR\n"
     "EDAC MC1: 1 CE memory scrubbing error on CPU_SrcID#1_Ha#0_Chan#0_DIMM#0 (channel:0 slot:0 "
     "page:0xee30a0 offset:0x0 grain:32 syndrome:0x0 -  area:DRAM err_code:0008:00c2 socket:1)\n"
     "EDAC MC0: 4 CE error on CPU#0Channel#2_DIMM#0 (channel:2 slot:0 page:0x0 offset:0x0)",
     {}},
    {"An error that no driver could recover from",
     "pcieport 0000:10:00.0: AER: Multiple Uncorrected (Fatal) error received: 0000:12:00.0\n"
     "nvidia 0000:12:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, "
     "(Requester ID)\n"
     "nvidia 0000:12:00.0: AER: can't recover (no error_detected callback)\n"
     "pcieport 0000:10:00.0: AER: device recovery failed",
     {"fail 0000:12:00.0 pcie_fatal"}},
    {"A source that does not know its own address",
     "pcieport 0000:10:00.0: AER: Uncorrected (Non-Fatal) error received: 0000:00:00.0\n"
     "nvidia 0000:12:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction "
     "Layer, (Requester ID)\n"
     "pcieport 0000:10:00.0: AER: device recovery failed",
     {"fail 0000:12:00.0 pcie_recovery"}},
    {"The same in the words of Linux 6.9",
     "pcieport 0000:10:00.0: AER: Uncorrectable (Non-Fatal) error message received from "
     "0000:00:00.0\n"
     "mlx5_core 0000:13:00.0: PCIe Bus Error: severity=Uncorrectable (Non-Fatal), "
     "type=Transaction Layer, (Requester ID)",
     {"warn 0000:13:00.0 pcie_nonfatal"}},
    {"A root port that reports itself",
     "pcieport 0000:10:00.0: AER: Uncorrected (Non-Fatal) error received: 0000:10:00.0\n"
     "pcieport 0000:10:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction "
     "Layer, (Receiver ID)",
     {"warn 0000:10:00.0 pcie_nonfatal"}},
    {"Errors that the link corrected",
     "pcieport 0000:10:00.0: AER: Correctable error message received from 0000:12:00.0\n"
     "nvidia 0000:12:00.0: PCIe Bus Error: severity=Correctable, type=Data Link Layer, (Receiver)",
     {}},
    {"A port that was cut off",
     "pcieport 0000:11:00.0: DPC: containment event, status:0x1f01 source:0x0000",
     {"fail 0000:11:00.0 pcie_fatal"}},
    {"An AMD GPU that fails",
     "amdgpu 0000:12:00.0: {1}uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!\n"
     "amdgpu 0000:12:00.0: {1}[Hardware Error]: aca entry[00].STATUS=0x98000800003e0000\n"
     "amdgpu 0000:12:00.0: amdgpu: GPU reset begin!",
     {"fail 0000:12:00.0 gpu_uncorrected"}},
    {"The same from an older driver",
     "amdgpu 0000:12:00.0: amdgpu: uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) "
     "detected!",
     {"fail 0000:12:00.0 gpu_uncorrected"}},
    {"Memory of an AMD GPU that lost data",
     "amdgpu 0000:12:00.0: amdgpu: socket: 2, die: 0 1 new uncorrectable hardware errors detected "
     "in umc block\n"
     "amdgpu 0000:12:00.0: amdgpu: socket: 2, die: 0 1 uncorrectable hardware errors detected in "
     "total in umc block",
     {"fail 0000:12:00.0 gpu_uncorrected"}},
    {"Memory of an AMD GPU that was corrected",
     "amdgpu 0000:12:00.0: amdgpu: socket: 2, die: 0 17 new correctable hardware errors detected "
     "in umc block\n"
     "amdgpu 0000:12:00.0: amdgpu: 0 uncorrectable hardware errors detected in umc block\n"
     "amdgpu 0000:12:00.0: amdgpu: {17}0 uncorrectable hardware errors detected in umc block",
     {}},
    {"A program that hung an AMD GPU",
     "amdgpu 0000:12:00.0: amdgpu: GPU reset begin!\n"
     "amdgpu 0000:12:00.0: amdgpu: MODE2 reset\n"
     "amdgpu 0000:12:00.0: amdgpu: GPU reset succeeded, trying to resume\n"
     "amdgpu 0000:12:00.0: amdgpu: GPU reset(2) succeeded!",
     {"warn 0000:12:00.0 gpu_reset"}},
    {"An AMD GPU that no reset helps",
     "amdgpu 0000:12:00.0: amdgpu: GPU reset begin!. Source:  3\n"
     "amdgpu 0000:12:00.0: amdgpu: GPU reset(3) failed\n"
     "amdgpu 0000:12:00.0: amdgpu: GPU reset end with ret = -62",
     {"fail 0000:12:00.0 gpu_reset_failed"}},
    {"An AMD GPU with too many bad pages",
     "amdgpu 0000:12:00.0: amdgpu: RAS records:129 exceed threshold:128",
     {"fail 0000:12:00.0 gpu_bad_memory"}},
    {"A page fault of a program whose name is a fault's",
     "amdgpu 0000:12:00.0: amdgpu:  for process : GPU reset( pid 4711 thread ) failed pid 4711",
     {}},
    {"An AMD GPU at its start",
     "amdgpu 0000:12:00.0: amdgpu: MEM ECC is active.\n"
     "amdgpu 0000:12:00.0: amdgpu: RAS: optional ras ta ucode is not available",
     {}},
    {"A processor that reports its memory",
     "mce: [Hardware Error]: CPU 12: Machine Check: 0 Bank 5: bea0000000000108\n"
     "Memory failure: 0x7740c0: recovery action for dirty LRU page: Recovered",
     {"fail node memory_uncorrected"}},
    {"A processor that hangs",
     "watchdog: BUG: soft lockup - CPU#7 stuck for 23s! [python:4711]",
     {"fail node lockup"}},
    {"A disk that is gone, with its file system",
     "nvme nvme3: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10\n"
     "nvme nvme3: Disabling device after reset failure: -19\n"
     "I/O error, dev nvme3n1, sector 3449468 op 0x1:(WRITE) flags 0x9800 phys_seg 1 prio class 2\n"
     "EXT4-fs error (device nvme3n1p1): ext4_journal_check_start:83: comm python: Detected abort",
     {"fail nvme3 nvme_down"}},
    {"A file server that comes back",
     "nfs: server filer1 not responding, still trying\n"
     "nfs: server filer1 OK",
     {"warn node network_storage"}},
    {"A job at the limit of its memory",
     "python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n"
     "Memory cgroup out of memory: Killed process 4711 (python) total-vm:123456kB, anon-rss:1024kB",
     {}},
};

// A root port and a switch port with two GPUs and an HCA below; seven seconds before now.
Snapshot node(std::string_view lines) {
  KernelLog log;
  double at_s = 7190;
  for (const auto line : split_lines(lines)) {
    log.records.push_back(
        {.time_us = static_cast<std::uint64_t>(at_s * 1e6), .level = 3, .text = std::string(line)});
    at_s += 0.25;
  }
  log.seen = log.records.size();
  const std::vector<std::string> above{"0000:10:00.0", "0000:11:00.0"};
  Snapshot snapshot{.identity = observed(Identity{.uptime_s = 7200.0}),
                    .kernel_log = observed(std::move(log))};
  snapshot.xids = find_xids(*snapshot.kernel_log);
  snapshot.pci = observed(
      Pci{.devices = {{.address = "0000:10:00.0", .kind = PciKind::bridge},
                      {.address = "0000:11:00.0", .kind = PciKind::bridge, .upstream = {above[0]}},
                      {.address = "0000:12:00.0", .kind = PciKind::gpu, .upstream = above},
                      {.address = "0000:13:00.0", .kind = PciKind::hca, .upstream = above},
                      {.address = "0000:14:00.0", .kind = PciKind::gpu, .upstream = above}}});
  return snapshot;
}

TEST(KernelLogExcerptsTest, ClassifiesEachLine) {
  const auto profile = load_profile({}, "generic");
  ASSERT_TRUE(profile) << profile.error().message;
  for (const auto& [name, lines, expected] : kExcerpts) {
    std::vector<std::string> found;
    for (const auto& finding : ask(checks::host_kernel_log::check, node(lines), *profile)) {
      if (finding.outcome == Outcome::pass) continue;
      found.push_back(fmt::format("{} {} {}", to_string(finding.outcome), finding.device,
                                  finding.message.substr(0, finding.message.find(':'))));
    }
    EXPECT_THAT(found, ::testing::UnorderedElementsAreArray(expected)) << name;
  }
}

TEST(KernelLogExcerptsTest, AreFortyAndEachHasItsName) {
  std::vector<std::string_view> names;
  for (const auto& excerpt : kExcerpts) names.push_back(excerpt.name);
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
  EXPECT_GE(names.size(), 40U);
}

}  // namespace
}  // namespace muster::host_kernel_log_excerpts_test
