// SPDX-License-Identifier: Apache-2.0
// The shipped patterns of host.kernel_log against the beginnings of lines as kernels write them,
// against lines whose process or file names were chosen to look like a fault, and against excerpts
// in the forms that public reports of faults show.
#include <array>

#include "checks/shared/kernel_log.hpp"
#include "lib/profile/load.hpp"
#include "tests/checks/ask.hpp"

namespace muster::host_kernel_log_patterns_test {
namespace {

struct Line {
  std::string_view text;
  std::string_view kind;  // empty if no pattern is to match
};

constexpr auto kLines = std::to_array<Line>({
    {"mce: [Hardware Error]: CPU 12: Machine Check: 0 Bank 5: bea0000000000108", "machine_check"},
    {"mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 0", "machine_check_corrected"},
    {"mce: [Hardware Error]: CPU 1: Machine Check Exception: 5 Bank 4", "machine_check"},
    {"mce: [Hardware Error]: Machine check events logged", "machine_check_corrected"},
    {"[Hardware Error]: Corrected error, no action required.", "machine_check_corrected"},
    {"[Hardware Error]: Uncorrected, software restartable error.", "machine_check"},
    {"{1}[Hardware Error]: event severity: fatal", "machine_check"},
    {"{2}[Hardware Error]: event severity: corrected", "machine_check_corrected"},
    {"BERT: Error records from previous boot:", "machine_check_earlier"},
    {"Memory failure: 0x7740c0: recovery action for dirty LRU page", "memory_uncorrected"},
    {"mce: Uncorrected hardware memory error in user-access at 7740c0000", "memory_uncorrected"},
    {"watchdog: BUG: soft lockup - CPU#7 stuck for 23s! [python:4711]", "lockup"},
    {"watchdog: CPU3: Watchdog detected hard LOCKUP on cpu 3", "lockup"},
    {"NMI watchdog: Watchdog detected hard LOCKUP on cpu 12", "lockup"},
    {"rcu: INFO: rcu_sched self-detected stall on CPU", "rcu_stall"},
    {"rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:", "rcu_stall"},
    {"rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: { 1-... }", "rcu_stall"},
    {"INFO: task python:4711 blocked for more than 120 seconds.", "hung_task"},
    {"BUG: unable to handle page fault for address: ffffb0c100a4f000", "kernel_oops"},
    {"BUG: kernel NULL pointer dereference, address: 0000000000000008", "kernel_oops"},
    {"kernel BUG at mm/slub.c:305!", "kernel_oops"},
    {"Oops: 0002 [#1] SMP NOPTI", "kernel_oops"},
    {"general protection fault, probably for non-canonical address 0xdead000000000100: 0000 [#1] "
     "SMP",
     "kernel_oops"},
    // The same on Arm.
    {"Internal error: Oops: 0000000096000004 [#1] SMP", "kernel_oops"},
    {"Internal error: Oops - BUG: 00000000f2000800 [#1] PREEMPT SMP", "kernel_oops"},
    {"Internal error: synchronous external abort: 0000000096000210 [#1] PREEMPT SMP",
     "kernel_oops"},
    {"Unable to handle kernel NULL pointer dereference at virtual address 0000000000000008",
     "kernel_oops"},
    {"Unable to handle kernel paging request at virtual address ffff800012345678", "kernel_oops"},
    {"SError Interrupt on CPU3, code 0x00000000be000411 -- SError", "machine_check"},
    {"pcieport 0000:00:03.1: AER: Uncorrected (Fatal) error received: 0000:05:01.0", "pcie_fatal"},
    {"pcieport 0000:00:07.1: AER: Multiple Uncorrectable (Non-Fatal) error message received from ",
     "pcie_nonfatal"},
    {"nvidia 0000:07:00.0: PCIe Bus Error: severity=Uncorrected (Fatal)", "pcie_fatal"},
    {"mlx5_core 0000:08:00.0: PCIe Bus Error: severity=Uncorrectable (Non-Fatal)", "pcie_nonfatal"},
    {"pcieport 0000:00:03.1: AER: device recovery failed", "pcie_recovery"},
    {"mlx5_core 0101:00:00.0: poll_health:800:(pid 0): device's health compromised", "hca_health"},
    {"mlx5_core 0101:00:00.0: print_health_info:429:(pid 0): Health issue observed, firmware "
     "internal error, severity(3) ERROR:",
     "hca_health"},
    {"mlx5_core 0101:00:00.0: print_health_info:520:(pid 0): Health issue observed, High "
     "temperature",
     "thermal"},
    {"mlx5_core 0101:00:00.0: temp_warn:170:(pid 0): High temperature on sensors with bit set 0 1",
     "thermal"},
    {"mlx5_core 0101:00:00.0: wait_func_handle_exec_timeout:1062:(pid 991): cmd[0]: "
     "CREATE_MKEY(0x200) timeout. Will cause a leak of a command resource",
     "hca_health"},
    {"mlx5_core 0101:00:00.0: assert_exit_ptr 0x20b8e8fc", "hca_health"},
    {"mlx5_core 0101:00:00.0: Port module event[error]: module 0, Cable error", "hca_cable"},
    {"mce: CPU12: Package temperature above threshold, cpu clock throttled (total", "thermal"},
    {"CPU12: Core temperature is above threshold, cpu clock is throttled (total", "thermal"},
    {"nvme nvme3: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10", "nvme_down"},
    {"nvme nvme3: Device not ready; aborting reset, CSTS=0x1", "nvme_down"},
    {"nvme nvme3: Disabling device after reset failure: -19", "nvme_down"},
    {"nvme nvme3: I/O 12 QID 3 timeout, aborting", "nvme_timeout"},
    {"nvme nvme0: I/O tag 70 (e046) opcode 0x2 (I/O Cmd) QID 6 timeout, aborting", "nvme_timeout"},
    {"critical medium error, dev nvme0n1, sector 3449468 op 0x0:(READ) flags 0x0", "medium_error"},
    {"I/O error, dev nvme0n1, sector 3449468 op 0x1:(WRITE) flags 0x9800 phys_seg 1", "io_error"},
    {"blk_update_request: I/O error, dev sda, sector 2048 op 0x0:(READ) flags", "io_error"},
    {"Buffer I/O error on dev nvme0n1p1, logical block 7, lost async page write", "io_error"},
    {"EXT4-fs error (device sda1): ext4_lookup:1785: inode #2: comm python", "filesystem"},
    {"EXT4-fs (sda1): Remounting filesystem read-only", "filesystem_read_only"},
    {"XFS (md0): Corruption detected. Unmount and run xfs_repair", "filesystem"},
    {"XFS (md0): Filesystem has been shut down due to log error (0x2).", "filesystem"},
    {"BTRFS error (device sda2): parent transid verify failed on 30408704 wanted 5", "filesystem"},
    {"md/raid0md0: Disk failure on nvme3n1 detected, failing array.", "raid_failed"},
    {"md/raid0:md0: Disk failure on nvme3n1 detected, failing array.", "raid_failed"},
    {"md/linearmd0: Disk failure on sdb1 detected, failing array.", "raid_failed"},
    {"md/raid1:md0: Disk failure on nvme3n1, disabling device.", "raid_disk_failed"},
    {"md/raid:md127: Disk failure on sdb, disabling device.", "raid_disk_failed"},
    {"md/raid10:md0: Disk failure on nvme3n1, disabling device.", "raid_disk_failed"},
    {"nfs: server filer1 not responding, still trying", "network_storage"},
    {"Out of memory: Killed process 4711 (python) total-vm:123456kB, anon-rss:1024kB", "oom"},
    {"Memory cgroup out of memory: Killed process 4711 (python) total-vm:123456kB", "oom_cgroup"},
    // Lines that are harmless, or that another check judges.
    {"EDAC MC0: 4 CE error on CPU#0Channel#2_DIMM#0 (channel:2 slot:0 page:0x0)", "ignore"},
    {"pcieport 0000:00:03.1: AER: Corrected error received: 0000:05:01.0", "ignore"},
    {"pcieport 0000:05:01.0: PCIe Bus Error: severity=Correctable, type=Data Link "
     "Layer, (Receiver ID)",
     "ignore"},
    {"mlx5_core 0101:00:00.0: mlx5_cmd_out_err:803:(pid 12): ACCESS_REG(0x805) "
     "op_mod(0x1) failed, status bad operation(0x2), syndrome (0x6c4d48), err(-22)",
     "ignore"},
    {"mlx5_core 0101:00:00.0 mlx5_ib0: Port: 1 Link DOWN", ""},
    {"nvme nvme0: I/O 12 QID 3 timeout, completion polled", "ignore"},
    {"critical target error, dev sdc, sector 2048 op 0x3:(DISCARD) flags 0x800 "
     "phys_seg 1 prio class 0",
     "ignore"},
    {"blk_update_request: I/O error, dev fd0, sector 0 op 0x0:(READ) flags 0x0 "
     "phys_seg 1 prio class 0",
     "ignore"},
    {"Buffer I/O error on dev sr0, logical block 0, async page read", "ignore"},
    {"EXT4-fs (sda1): mounted filesystem with ordered data mode. Opts: (null)", ""},
    {"XFS (md0): Mounting V5 Filesystem", ""},
    {"python invoked oom-killer: gfp_mask=0x100cca(GFP_HIGHUSER_MOVABLE), order=0, "
     "oom_score_adj=0",
     "ignore"},
    {"NVRM: Xid (PCI:0001:00:00): 79, pid=1234, GPU has fallen off the bus.", ""},
    {"python[4711]: segfault at 0 ip 00007f sp 00007f error 4 in "
     "libc.so.6[7f0000+1000]",
     "ignore"},
    // Kernel lines about programs whose process or file names look like a fault.
    {"XFS ([4711]: segfault at 0 ip 00007f sp 00007f error 4 in ): Corruption "
     "[7f0000+1000]",
     "ignore"},
    {"Oops: [4711]: segfault at 0 ip 00007f sp 00007f error 4 in [#[7f0000+1000]", "ignore"},
    {"I/O error, dev  invoked oom-killer: gfp_mask=0x100cca(GFP_HIGHUSER_MOVABLE), "
     "order=0, oom_score_adj=0",
     "ignore"},
    {"Internal error:[4711]: unhandled exception: x: 1 [#1], ESR 0x92000004, in x[7f+1]", "ignore"},
    {"Unable to handl (4711): drop_caches: 3", ""},
    {"overlayfs: failed to resolve '/tmp/EXT4-fs (sda1): Remounting filesystem "
     "read-only': -2",
     "ignore"},
    {"traps: kernel BUG at [4711] trap invalid opcode ip:7f sp:7f error:0 in "
     "x:1![7f0000+1000]",
     "ignore"},
    {"nvme nvme0[4711]: segfault at 0 ip 00007f sp 00007f error 4 in : controller is "
     "down; will reset[7f+1]",
     "ignore"},
});

const KernelLogLimits& shipped() {
  static const auto loaded = load_profile({}, "generic");
  static const KernelLogLimits limits = loaded ? loaded->host->kernel_log : KernelLogLimits{};
  return limits;
}

std::string kind_of(std::string_view text) {
  const auto& patterns = shipped().patterns;
  const auto found = std::ranges::find_if(patterns, [&](const KernelLogPattern& each) {
    return checks::matches_pattern(each.pattern, text);
  });
  return found == patterns.end() ? std::string() : found->kind;
}

TEST(KernelLogPatternsTest, ClassifiesEachLine) {
  for (const auto& [text, kind] : kLines) EXPECT_EQ(kind_of(text), kind) << text;
  EXPECT_EQ(shipped().kinds.at("ignore"), Outcome::pass);
  EXPECT_EQ(shipped().kinds.at("oom_cgroup"), Outcome::pass);
}

// A process name is 15 characters: what a line may begin with when a program is named in it first.
TEST(KernelLogPatternsTest, AnUntiedPatternIsLongerThanAProcessName) {
  constexpr std::size_t kProcessName = 15;
  for (const auto& [pattern, kind, remedy] : shipped().patterns) {
    if (pattern.starts_with('^')) continue;
    EXPECT_GT(pattern.size(), kProcessName) << pattern;
    EXPECT_EQ(kind, "ignore") << pattern << " could match a name that a user chose";
  }
}

TEST(KernelLogPatternsTest, EveryFaultHasARemedy) {
  for (const auto& [pattern, kind, remedy] : shipped().patterns) {
    const bool is_fault = shipped().kinds.at(kind) != Outcome::pass;
    if (!is_fault) continue;
    EXPECT_NE(remedy, Remedy::none) << pattern;
  }
}

// Excerpts of kernel logs in the forms that public reports of faults show, judged by the shipped
// patterns: which faults they are, of which device, and whether they make a node unfit.
struct Excerpt {
  std::string_view lines;
  std::vector<std::string> found;  // "outcome device class", sorted; empty if all is well
};

const std::vector<Excerpt> kExcerpts{
    {"NVRM: GPU6 _kgspBootGspRm: unexpected WPR2 already up, cannot proceed with booting GSP\n"
     "NVRM: GPU6 _kgspBootGspRm: (the GPU is likely in a bad state and may need to be reset)\n"
     "NVRM: GPU 0000:12:00.0: RmInitAdapter failed! (0x62:0x40:2168)\n"
     "NVRM: GPU 0000:12:00.0: rm_init_adapter failed, device minor number 7",
     {"fail 0000:12:00.0 gpu_init"}},
    {"NVRM: GPU 0000:12:00.0: RmInitAdapter failed! (0x26:0x56:1474)",
     {"fail 0000:12:00.0 gpu_init"}},
    {"NVRM: RmInitAdapter failed! (0x26:0xffff:1123)\n"
     "NVRM: rm_init_adapter failed for device bearing minor number 0",
     {"fail nvidia0 gpu_init"}},
    {"nvidia 0000:12:00.0: probe with driver nvidia failed with error -1",
     {"fail 0000:12:00.0 gpu_init"}},
    {"NVRM: GPU3 _issueRpcAndWait: rpcRecvPoll timedout for fn 76!", {"fail node gpu_firmware"}},
    {"amdgpu 0000:12:00.0: amdgpu: hw_init of IP block <psp> failed -22\n"
     "amdgpu 0000:12:00.0: amdgpu: Fatal error during GPU init",
     {"fail 0000:12:00.0 gpu_init"}},
    {"EDAC MC0: UE page 0x0, offset 0x0, grain 0, row 2, labels \"\": i3200 UE",
     {"fail mc0 memory_uncorrected"}},
    {"ib0: transmit timeout: latency 2048 msecs\nib0: queue stopped 1, tx_head 8 tx_tail 4",
     {"warn ib0 tx_timeout"}},
    {"NVRM: GPU 0000:12:00.0: RmInitAdapter failed! (0x11:0x45:2525)\n"
     "NVRM: GPU 0000:14:00.0: RmInitAdapter failed! (0x11:0x45:2525)",
     {"fail 0000:12:00.0 gpu_init", "fail 0000:14:00.0 gpu_init"}},
    {"NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (root@b)\n"
     "NVRM: GPU 0000:12:00.0: RmInitAdapter failed! (0x62:0x40:2168)\n"
     "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (root@b)",
     {}},
    {"NVRM: GPU0 _kgspIsHeartbeatTimedOut: Heartbeat timed out, currentTimeMs 322227881 heartbeat "
     "0 heartbeatWithOffsetMs 318098841 diff 4129040 timeout 5200\n"
     "NVRM: GPU0 _kgspRpcRecvPoll: GSP RM heartbeat timed out",
     {"fail node gpu_firmware"}},
    {"NVRM: knvlinkUpdatePostRxDetectLinkMask_IMPL: Failed to update Rx Detect Link mask!\n"
     "NVRM: knvlinkDiscoverPostRxDetLinks_GH100: Getting peer0's postRxDetLinkMask failed!",
     {"fail node gpu_nvlink"}},
    {"nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping "
     "further processing",
     {"warn node peermem"}},
    {"NVRM: GPU : Rm[4711]: segfault at 0 ip 00007f sp 00007f error 4 in x[7f+1]", {}},
    {"NVRM: GPU0 nvAssertFailedNoLog: Assertion failed: 0 @ kernel_gsp.c:1446\n"
     "nvidia 0000:12:00.0: Enabling HDA controller\n"
     "nvidia-nvlink: Nvlink Core is being initialized, major device number 239",
     {}},
    {"mlx5_core 0000:13:00.0 ib0: TX timeout detected\n"
     "mlx5_core 0000:13:00.0 ib0: TX timeout on queue: 3, SQ: 0x1a2, CQ: 0x4c8, SQ Cons: 0x77 SQ "
     "Prod: 0x7f, usecs since last trans: 15123000",
     {"warn 0000:13:00.0 tx_timeout"}},
    {"NETDEV WATCHDOG: eth2 (mlx5_core): transmit queue 9 timed out", {"warn eth2 tx_timeout"}},
    {"mlx5_core 0000:13:00.0 eth2: NETDEV WATCHDOG: CPU: 3: transmit queue 9 timed out 5010 ms",
     {"warn 0000:13:00.0 tx_timeout"}},
    {"ice 0000:21:00.0 ens1f0: NETDEV WATCHDOG: CPU: 61: transmit queue 22 timed out 5408 ms",
     {"warn 0000:21:00.0 tx_timeout"}},
    {"mlx5_core 0000:13:00.0: poll_health:800:(pid 0): device's health compromised - reached miss "
     "count\n"
     "mlx5_core 0000:13:00.0: assert_exit_ptr 0x20b8e8fc",
     {"fail 0000:13:00.0 hca_health"}},
    {"EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0 (channel:0 slot:0 "
     "page:0xe16677 offset:0x0 grain:32 -  err_code:0000:009f socket:0 imc:0 rank:0 bg:0 ba:3)",
     {"fail mc0 memory_uncorrected"}},
    {"EDAC sbridge MC1: HANDLING MCE MEMORY ERROR\n"
     "EDAC MC1: 1 CE memory scrubbing error on CPU_SrcID#1_Ha#0_Chan#0_DIMM#0 (channel:0 slot:0 "
     "page:0xee30a0 offset:0x0 grain:32 syndrome:0x0 -  area:DRAM err_code:0008:00c2 socket:1)\n"
     "EDAC MC0: 4 CE error on CPU#0Channel#2_DIMM#0 (channel:2 slot:0 page:0x0 offset:0x0)",
     {}},
    {"pcieport 0000:10:00.0: AER: Multiple Uncorrected (Fatal) error received: 0000:12:00.0\n"
     "nvidia 0000:12:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, "
     "(Requester ID)\n"
     "nvidia 0000:12:00.0: AER: can't recover (no error_detected callback)\n"
     "pcieport 0000:10:00.0: AER: device recovery failed",
     {"fail 0000:12:00.0 pcie_fatal"}},
    {"pcieport 0000:10:00.0: AER: Uncorrected (Non-Fatal) error received: 0000:00:00.0\n"
     "nvidia 0000:12:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction "
     "Layer, (Requester ID)\n"
     "pcieport 0000:10:00.0: AER: device recovery failed",
     {"fail 0000:12:00.0 pcie_recovery"}},
    {"pcieport 0000:10:00.0: AER: Uncorrectable (Non-Fatal) error message received from "
     "0000:00:00.0\n"
     "mlx5_core 0000:13:00.0: PCIe Bus Error: severity=Uncorrectable (Non-Fatal), "
     "type=Transaction Layer, (Requester ID)",
     {"warn 0000:13:00.0 pcie_nonfatal"}},
    {"pcieport 0000:10:00.0: AER: Uncorrected (Non-Fatal) error received: 0000:10:00.0\n"
     "pcieport 0000:10:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction "
     "Layer, (Receiver ID)",
     {"warn 0000:10:00.0 pcie_nonfatal"}},
    {"pcieport 0000:10:00.0: AER: Correctable error message received from 0000:12:00.0\n"
     "nvidia 0000:12:00.0: PCIe Bus Error: severity=Correctable, type=Data Link Layer, (Receiver)",
     {}},
    {"pcieport 0000:11:00.0: DPC: containment event, status:0x1f01 source:0x0000",
     {"fail 0000:11:00.0 pcie_fatal"}},
    {"amdgpu 0000:12:00.0: {1}uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!\n"
     "amdgpu 0000:12:00.0: {1}[Hardware Error]: aca entry[00].STATUS=0x98000800003e0000\n"
     "amdgpu 0000:12:00.0: amdgpu: GPU reset begin!",
     {"fail 0000:12:00.0 gpu_uncorrected"}},
    {"amdgpu 0000:12:00.0: amdgpu: socket: 2, die: 0 1 new uncorrectable hardware errors detected "
     "in umc block\n"
     "amdgpu 0000:12:00.0: amdgpu: socket: 2, die: 0 1 uncorrectable hardware errors detected in "
     "total in umc block",
     {"fail 0000:12:00.0 gpu_uncorrected"}},
    {"amdgpu 0000:12:00.0: amdgpu: socket: 2, die: 0 17 new correctable hardware errors detected "
     "in umc block\n"
     "amdgpu 0000:12:00.0: amdgpu: 0 uncorrectable hardware errors detected in umc block\n"
     "amdgpu 0000:12:00.0: amdgpu: {17}0 uncorrectable hardware errors detected in umc block",
     {}},
    {"amdgpu 0000:12:00.0: amdgpu: GPU reset begin!\n"
     "amdgpu 0000:12:00.0: amdgpu: MODE2 reset\n"
     "amdgpu 0000:12:00.0: amdgpu: GPU reset succeeded, trying to resume\n"
     "amdgpu 0000:12:00.0: amdgpu: GPU reset(2) succeeded!",
     {"warn 0000:12:00.0 gpu_reset"}},
    {"amdgpu 0000:12:00.0: amdgpu: GPU reset begin!. Source:  3\n"
     "amdgpu 0000:12:00.0: amdgpu: GPU reset(3) failed\n"
     "amdgpu 0000:12:00.0: amdgpu: GPU reset end with ret = -62",
     {"fail 0000:12:00.0 gpu_reset_failed"}},
    {"amdgpu 0000:12:00.0: amdgpu: RAS records:129 exceed threshold:128",
     {"fail 0000:12:00.0 gpu_bad_memory"}},
    {"amdgpu 0000:12:00.0: amdgpu:  for process : GPU reset( pid 4711 thread ) failed pid 4711",
     {}},
    {"amdgpu 0000:12:00.0: amdgpu: MEM ECC is active.\n"
     "amdgpu 0000:12:00.0: amdgpu: RAS: optional ras ta ucode is not available",
     {}},
    {"mce: [Hardware Error]: CPU 12: Machine Check: 0 Bank 5: bea0000000000108\n"
     "Memory failure: 0x7740c0: recovery action for dirty LRU page: Recovered",
     {"fail node memory_uncorrected"}},
    {"nvme nvme3: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10\n"
     "nvme nvme3: Disabling device after reset failure: -19\n"
     "I/O error, dev nvme3n1, sector 3449468 op 0x1:(WRITE) flags 0x9800 phys_seg 1 prio class 2\n"
     "EXT4-fs error (device nvme3n1p1): ext4_journal_check_start:83: comm python: Detected abort",
     {"fail nvme3 nvme_down"}},
    {"Unable to handle kernel NULL pointer dereference at virtual address 0000000000000008\n"
     "Mem abort info:\n"
     "Internal error: Oops: 0000000096000004 [#1] SMP",
     {"fail node kernel_oops"}},
    {"I/O error, dev nvme3n1, sector 3449468 op 0x1:(WRITE) flags 0x9800 phys_seg 1 prio class 2\n"
     "md/raid0md0: Disk failure on nvme3n1p1 detected, failing array.",
     {"fail nvme3n1 io_error", "fail md0 raid_failed"}},
    {"md/raid0md0: Disk failure on sdb1 detected, failing array.", {"fail md0 raid_failed"}},
    {"md/raid1:md0: Disk failure on sdb1, disabling device.\n"
     "md/raid1:md0: Operation continuing on 1 devices.",
     {"warn md0 raid_disk_failed"}},
    {"nfs: server filer1 not responding, still trying\n"
     "nfs: server filer1 OK",
     {"warn node network_storage"}},
    {"python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n"
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
  for (const auto& [lines, expected] : kExcerpts) {
    std::vector<std::string> found;
    for (const auto& finding : ask(checks::host_kernel_log::check, node(lines), *profile)) {
      if (finding.outcome == Outcome::pass) continue;
      found.push_back(fmt::format("{} {} {}", to_string(finding.outcome), finding.device,
                                  finding.message.substr(0, finding.message.find(':'))));
    }
    EXPECT_THAT(found, ::testing::UnorderedElementsAreArray(expected)) << lines;
  }
}

}  // namespace
}  // namespace muster::host_kernel_log_patterns_test
