// SPDX-License-Identifier: Apache-2.0
// The shipped patterns of host.kernel_log against lines as kernels write them, and against lines
// whose process or file names were chosen to look like a fault.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "checks/shared/kernel_log.hpp"
#include "lib/profile/limits/host.hpp"
#include "lib/profile/load.hpp"

namespace muster::host_kernel_log_patterns_test {
namespace {

struct Line {
  std::string_view text;
  std::string_view kind;  // empty where no pattern is to match
};

// Real faults.
constexpr auto kFaults = std::to_array<Line>({
    {"mce: [Hardware Error]: CPU 12: Machine Check: 0 Bank 5: bea0000000000108", "machine_check"},
    {"mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 0: 9000004000010005",
     "machine_check_corrected"},
    {"mce: [Hardware Error]: CPU 1: Machine Check Exception: 5 Bank 4: "
     "b200000000070f0f",
     "machine_check"},
    {"mce: [Hardware Error]: Machine check events logged", "machine_check_corrected"},
    {"[Hardware Error]: Corrected error, no action required.", "machine_check_corrected"},
    {"[Hardware Error]: Uncorrected, software restartable error.", "machine_check"},
    {"{1}[Hardware Error]: event severity: fatal", "machine_check"},
    {"{2}[Hardware Error]: event severity: corrected", "machine_check_corrected"},
    {"BERT: Error records from previous boot:", "machine_check_earlier"},
    {"Memory failure: 0x7740c0: recovery action for dirty LRU page: Recovered",
     "memory_uncorrected"},
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
    {"general protection fault, probably for non-canonical address "
     "0xdead000000000100: 0000 [#1] SMP",
     "kernel_oops"},
    {"pcieport 0000:00:03.1: AER: Uncorrected (Fatal) error received: 0000:05:01.0", "pcie_fatal"},
    {"pcieport 0000:00:07.1: AER: Multiple Uncorrectable (Non-Fatal) error message "
     "received from 0000:00:07.1",
     "pcie_nonfatal"},
    {"nvidia 0000:07:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), "
     "type=Transaction Layer, (Receiver ID)",
     "pcie_fatal"},
    {"mlx5_core 0000:08:00.0: PCIe Bus Error: severity=Uncorrectable (Non-Fatal), "
     "type=Transaction Layer, (Requester ID)",
     "pcie_nonfatal"},
    {"pcieport 0000:00:03.1: AER: device recovery failed", "pcie_recovery"},
    {"mlx5_core 0101:00:00.0: poll_health:800:(pid 0): device's health compromised - "
     "reached miss count",
     "hca_health"},
    {"mlx5_core 0101:00:00.0: print_health_info:429:(pid 0): Health issue observed, "
     "firmware internal error, severity(3) ERROR:",
     "hca_health"},
    {"mlx5_core 0101:00:00.0: print_health_info:520:(pid 0): Health issue observed, "
     "High temperature, severity(2) CRITICAL:",
     "thermal"},
    {"mlx5_core 0101:00:00.0: temp_warn:170:(pid 0): High temperature on sensors with "
     "bit set 0 1",
     "thermal"},
    {"mlx5_core 0101:00:00.0: wait_func_handle_exec_timeout:1062:(pid 991): cmd[0]: "
     "CREATE_MKEY(0x200) timeout. Will cause a leak of a command resource",
     "hca_health"},
    {"mlx5_core 0101:00:00.0: assert_exit_ptr 0x20b8e8fc", "hca_health"},
    {"mlx5_core 0101:00:00.0: Port module event[error]: module 0, Cable error, Power "
     "budget exceeded",
     "hca_cable"},
    {"mce: CPU12: Package temperature above threshold, cpu clock throttled (total "
     "events = 3)",
     "thermal"},
    {"CPU12: Core temperature is above threshold, cpu clock is throttled (total "
     "events = 1)",
     "thermal"},
    {"nvme nvme3: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10", "nvme_down"},
    {"nvme nvme3: Device not ready; aborting reset, CSTS=0x1", "nvme_down"},
    {"nvme nvme3: Disabling device after reset failure: -19", "nvme_down"},
    {"nvme nvme3: I/O 12 QID 3 timeout, aborting", "nvme_timeout"},
    {"nvme nvme0: I/O tag 70 (e046) opcode 0x2 (I/O Cmd) QID 6 timeout, aborting "
     "req_op:READ(0) size:131072",
     "nvme_timeout"},
    {"critical medium error, dev nvme0n1, sector 3449468 op 0x0:(READ) flags 0x0 "
     "phys_seg 1 prio class 2",
     "medium_error"},
    {"I/O error, dev nvme0n1, sector 3449468 op 0x1:(WRITE) flags 0x9800 phys_seg 1 "
     "prio class 2",
     "io_error"},
    {"blk_update_request: I/O error, dev sda, sector 2048 op 0x0:(READ) flags 0x80700 "
     "phys_seg 1 prio class 0",
     "io_error"},
    {"Buffer I/O error on dev nvme0n1p1, logical block 7, lost async page write", "io_error"},
    {"EXT4-fs error (device sda1): ext4_lookup:1785: inode #2: comm python: deleted "
     "inode referenced: 12",
     "filesystem"},
    {"EXT4-fs (sda1): Remounting filesystem read-only", "filesystem_read_only"},
    {"XFS (md0): Corruption detected. Unmount and run xfs_repair", "filesystem"},
    {"XFS (md0): Filesystem has been shut down due to log error (0x2).", "filesystem"},
    {"BTRFS error (device sda2): parent transid verify failed on 30408704 wanted 5 "
     "found 3",
     "filesystem"},
    {"nfs: server filer1 not responding, still trying", "network_storage"},
    {"Out of memory: Killed process 4711 (python) total-vm:123456kB, anon-rss:1024kB, "
     "file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:100kB oom_score_adj:0",
     "oom"},
    {"Memory cgroup out of memory: Killed process 4711 (python) total-vm:123456kB, "
     "anon-rss:1024kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:100kB "
     "oom_score_adj:0",
     "oom_cgroup"},
});

// Lines that are harmless, or that another check judges.
constexpr auto kHarmless = std::to_array<Line>({
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
});

// Kernel lines about programs whose process or file names look like a fault.
constexpr auto kForged = std::to_array<Line>({
    {"XFS ([4711]: segfault at 0 ip 00007f sp 00007f error 4 in ): Corruption "
     "[7f0000+1000]",
     "ignore"},
    {"Oops: [4711]: segfault at 0 ip 00007f sp 00007f error 4 in [#[7f0000+1000]", "ignore"},
    {"I/O error, dev  invoked oom-killer: gfp_mask=0x100cca(GFP_HIGHUSER_MOVABLE), "
     "order=0, oom_score_adj=0",
     "ignore"},
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

TEST(KernelLogPatternsTest, MatchesTheKernelsOwnLines) {
  for (const auto& [text, kind] : kFaults) EXPECT_EQ(kind_of(text), kind) << text;
}

TEST(KernelLogPatternsTest, IgnoresHarmlessLines) {
  for (const auto& [text, kind] : kHarmless) EXPECT_EQ(kind_of(text), kind) << text;
}

TEST(KernelLogPatternsTest, NamesThatUsersChooseForgeNoFault) {
  for (const auto& [text, kind] : kForged) EXPECT_EQ(kind_of(text), kind) << text;
}

TEST(KernelLogPatternsTest, IgnoresExcludedClassesAndMemoryLimitsOfJobs) {
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

}  // namespace
}  // namespace muster::host_kernel_log_patterns_test
