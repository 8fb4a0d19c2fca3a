// SPDX-License-Identifier: Apache-2.0
// Faults of the machine and its running system: processors, memory, disks, mounts, tasks, the log,
// settings, services and programs. Full disks cannot be simulated: statfs reports the file system
// that the tree is on, so the check's own tests cover them.
#include <fmt/format.h>

#include <array>

#include "lib/base/units.hpp"
#include "tests/nodes/faults.hpp"
#include "tests/nodes/needed.hpp"

namespace muster::nodes {
namespace {

MountDescription& mount_at(NodeDescription& node, std::string_view point) {
  return needed(node.mounts, &MountDescription::point, point);
}

void report_pcie_error(NodeDescription& node) {
  const auto& gpu = node.gpus.at(0).pci;
  log(node, fmt::format("pcieport {}: AER: Uncorrected (Fatal) error received: {}",
                        gpu.bridges.at(0), gpu.address));
  log(node,
      fmt::format("nvidia {}: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction "
                  "Layer, (Requester ID)",
                  gpu.address),
      3, 0.1);
  log(node, fmt::format("pcieport {}: AER: device recovery failed", gpu.bridges.back()), 3, 1);
}

void report_memory_error(NodeDescription& node) {
  log(node, "mce: [Hardware Error]: CPU 12: Machine Check: 0 Bank 7: be00000000800400", 2);
  log(node, "EDAC MC2: 1 UE memory read error on CPU_SrcID#0_MC#2_Chan#0_DIMM#0", 3, 0.2);
  log(node, "Memory failure: 0x7740c0: recovery action for dirty LRU page: Recovered", 3, 0.3);
}

void report_dead_disk(NodeDescription& node) {
  log(node, "nvme nvme6: I/O 128 QID 3 timeout, aborting", 4, -30);
  log(node, "nvme nvme6: Device not ready; aborting reset, CSTS=0x1");
  log(node, "I/O error, dev nvme6n1, sector 2048 op 0x1:(WRITE) flags 0x800 phys_seg 1", 3, 1);
  log(node, "Buffer I/O error on dev nvme6n1p1, logical block 0, lost async page write", 3, 2);
  log(node, "EXT4-fs error (device nvme6n1p1): ext4_journal_check_start:83: Detected abort", 2, 9);
  log(node, "EXT4-fs (nvme6n1p1): Remounting filesystem read-only", 2, 9);
}

constexpr std::array kHostFaults{
    fails("core_offline", kH100, "host.cpu", "node",
          [](NodeDescription& node) { node.cpus.at(37).online = false; }),
    fails("memory_short", kH100, "host.memory", "node",
          [](NodeDescription& node) {
            for (auto& numa : node.numa) numa.memory_kib = numa.memory_kib / 8 * 7;
          }),
    fails("numa_node_without_memory", kA100, "host.memory", "numa2",
          [](NodeDescription& node) {
            node.numa.at(0).memory_kib += node.numa.at(2).memory_kib;
            node.numa.at(2).memory_kib = 0;
          }),
    warns("memory_taken", kH100, "host.memory_available", "node",
          [](NodeDescription& node) { node.available_kib /= 50; }),
    warns("swap_on", kH100, "host.swap", "node",
          [](NodeDescription& node) { node.swap_kib = 8'388'604; }),
    warns("hugepages_left_behind", kH100, "host.hugepages", "hugepages-2048kB",
          [](NodeDescription& node) {
            node.huge_pages.at(0).total = node.huge_pages.at(0).free = 4096;
          }),
    fails("memory_uncorrected", kBareMetal, "host.edac", "mc2",
          [](NodeDescription& node) { node.edac.at(2).uncorrected = 1; }),
    seen_before(kHour, warns("memory_corrected_often", kBareMetal, "host.edac", "mc1",
                             [](NodeDescription& node) { node.edac.at(1).corrected = 900; })),
    warns("load_left_behind", kH100, "host.load", "node",
          [](NodeDescription& node) { node.load1 = node.load5 = node.load15 = 288; }),
    warns("many_running", kA100, "host.load", "node",
          [](NodeDescription& node) {
            node.running = 400;
            node.load1 = 250;
          }),
    lasting(kHour, fails("task_stuck", kH100, "host.stuck_tasks", "pid 4242",
                         [](NodeDescription& node) {
                           node.processes.push_back({.pid = 4242,
                                                     .parent = 1234,
                                                     .name = "python",
                                                     .state = 'D',
                                                     .start_ticks = 7'000'000});
                         })),
    warns("zombies", kH100, "host.stuck_tasks", "zombies",
          [](NodeDescription& node) {
            for (unsigned pid = 6000; pid < 6080; ++pid) {
              node.processes.push_back({.pid = pid,
                                        .parent = 1234,
                                        .name = "orted",
                                        .state = 'Z',
                                        .start_ticks = 7'000'000});
            }
          }),
    fails("mount_missing", kH100, "host.mounts", "/shared",
          [](NodeDescription& node) {
            std::erase_if(node.mounts, [](const auto& mount) { return mount.point == "/shared"; });
          }),
    fails("mount_read_only", kH100, "host.mounts", "/mnt/nvme",
          [](NodeDescription& node) { mount_at(node, "/mnt/nvme").options = "ro,relatime"; }),
    fails("mount_of_wrong_type", kH100, "host.mounts", "/shared",
          [](NodeDescription& node) {
            mount_at(node, "/shared").type = "ext4";
            mount_at(node, "/shared").source = "/dev/sda1";
          }),
    fails("nvme_missing", kH100, "host.nvme", "node",
          [](NodeDescription& node) { drop(node.nvme, node.nvme.size() - 1); }),
    fails("nvme_dead", kH100, "host.nvme", "nvme6",
          [](NodeDescription& node) {
            node.nvme.at(6).state = "dead";
            node.nvme.at(6).sectors = 0;
          }),
    fails("nvme_narrow", kBareMetal, "host.nvme", "nvme5n1",
          [](NodeDescription& node) { node.nvme.at(5).pci.width = 1; }),
    fails("nvme_small", kBareMetal, "host.nvme", "nvme5n1",
          [](NodeDescription& node) { node.nvme.at(5).sectors /= 2; }),
    warns("nvme_other_firmware", kBareMetal, "host.nvme", "nvme2n1",
          [](NodeDescription& node) { node.nvme.at(2).firmware = "NVMDV001"; }),
    fails("nvme_read_only", kA100, "host.nvme", "nvme1n1",
          [](NodeDescription& node) { node.nvme.at(1).read_only = true; }),
    fails("array_degraded", kA100, "host.nvme", "md0",
          [](NodeDescription& node) {
            node.raid.at(0).level = "raid10";
            node.raid.at(0).degraded = 1;
          }),
    fails("array_inactive", kH100, "host.nvme", "md0",
          [](NodeDescription& node) { node.raid.at(0).state = "inactive"; }),
    fails("machine_check", kH100, "host.kernel_log", "node",
          [](NodeDescription& node) {
            log(node, "mce: [Hardware Error]: CPU 12: Machine Check: 0 Bank 7: be00000000800400",
                2);
          }),
    fails("soft_lockup", kH100, "host.kernel_log", "node",
          LogLine{"watchdog: BUG: soft lockup - CPU#17 stuck for 22s! [python:71234]", 0}),
    warns("hung_task", kA100, "host.kernel_log", "node",
          LogLine{"INFO: task python:71234 blocked for more than 120 seconds."}),
    fails("file_system_read_only", kH100, "host.kernel_log", "sda1",
          LogLine{"EXT4-fs (sda1): Remounting filesystem read-only", 2}),
    warns("out_of_memory", kH100, "host.kernel_log", "node",
          LogLine{"Out of memory: Killed process 71234 (python) total-vm:1992294400kB, "
                  "anon-rss:1840000000kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:1kB "
                  "oom_score_adj:0"}),
    warns("interface_timed_out", kH100, "host.kernel_log", "eth1",
          LogLine{"NETDEV WATCHDOG: eth1 (mlx5_core): transmit queue 3 timed out"}),
    fails("hca_health", kH100, "host.kernel_log", "0104:00:00.0",
          LogLine{"mlx5_core 0104:00:00.0: poll_health:800:(pid 0): device's health compromised - "
                  "reached miss count"}),
    warns("numa_balancing", kH100, "host.sysctl", "kernel.numa_balancing",
          [](NodeDescription& node) { node.system.sysctls["kernel.numa_balancing"] = "1"; }),
    warns("command_line_parameter", kH100, "host.kernel", "pci=nomsi",
          [](NodeDescription& node) { node.system.command_line.append(" pci=nomsi"); }),
    fails("memlock_limited", kH100, "host.limits", "locked memory",
          [](NodeDescription& node) {
            needed(node.processes, &ProcessDescription::name, "slurmd").memlock = "65536";
          }),
    fails("few_open_files", kA100, "host.limits", "open files",
          [](NodeDescription& node) {
            needed(node.processes, &ProcessDescription::name, "slurmd").open_files = "256";
          }),
    warns("slow_clocksource", kH100, "host.clock", "clocksource",
          [](NodeDescription& node) { node.system.clocksource = "acpi_pm"; }),
    fails("service_stopped", kH100, "host.services", "nvidia-fabricmanager.service",
          [](NodeDescription& node) {
            std::erase_if(node.processes, [](const ProcessDescription& process) {
              return process.unit == "nvidia-fabricmanager.service";
            });
          }),
    fails("module_missing", kH100, "host.modules", "nvidia_uvm",
          [](NodeDescription& node) { std::erase(node.system.modules, "nvidia_uvm"); }),
    fails("management_module_missing", kA100, "host.modules", "ib_umad",
          [](NodeDescription& node) { std::erase(node.system.modules, "ib_umad"); }),
    fails("ethernet_down", kH100, "host.ethernet", "eth0",
          [](NodeDescription& node) { take_down(node.netdevs.at(0)); }),
    warns("program_missing", kH100, "host.programs", "/usr/bin/enroot",
          [](NodeDescription& node) { std::erase(node.programs, "usr/bin/enroot"); }),
    warns("program_not_executable", kH100, "host.programs", "/usr/bin/nvidia-container-cli",
          [](Tree& tree) {
            static_cast<void>(needed(tree, "usr/bin/nvidia-container-cli"));
            tree.file("usr/bin/nvidia-container-cli", "not a program\n");
          }),
    warns("container_storage_missing", kH100, "host.container_storage", "/var/lib/enroot",
          [](NodeDescription& node) { std::erase(node.directories, "var/lib/enroot"); }),
};

// Faults that show in several places at once: several kernel log lines with several names of one
// device, and counters and states. Each must be one finding.
constexpr std::array kIncidents{
    seen_before(kHour,
                fails("pcie_error_in_log_and_counters", kBareMetal, "pci.errors", "0000:12:00.0",
                      [](NodeDescription& node) {
                        node.gpus.at(0).pci.fatal = 1;
                        report_pcie_error(node);
                      })),
    fails("pcie_error_in_the_log_alone", kBareMetal, "host.kernel_log", "0000:12:00.0",
          report_pcie_error),
    fails("memory_error_in_log_and_counters", kBareMetal, "host.edac", "mc2",
          [](NodeDescription& node) {
            node.edac.at(2).uncorrected = 1;
            report_memory_error(node);
          }),
    fails("memory_error_in_the_log_alone", kBareMetal, "host.kernel_log", "node",
          report_memory_error),
    fails("memory_error_reported_by_firmware", kBareMetal, "host.edac", "mc0",
          [](NodeDescription& node) {
            node.edac.at(0).uncorrected = 1;
            log(node, "{1}[Hardware Error]: event severity: recoverable");
            log(node, "{1}[Hardware Error]:  Error 0, type: recoverable");
            log(node, "{1}[Hardware Error]:   section_type: memory error");
          }),
    fails("disk_dead_in_log_and_state", kH100, "host.nvme", "nvme6",
          [](NodeDescription& node) {
            node.nvme.at(6).state = "dead";
            node.nvme.at(6).sectors = 0;
            report_dead_disk(node);
          }),
    fails("disk_dead_in_the_log_alone", kH100, "host.kernel_log", "nvme6", report_dead_disk),
    // As on AKS and plain Ubuntu: mlx5_0 to mlx5_7, and mlx5_8 for accelerated networking.
    warns("hcas_under_other_names", kH100, "ib.present", "node",
          [](NodeDescription& node) {
            for (std::size_t i = 0; i < node.hcas.size(); ++i)
              node.hcas[i].name = fmt::format("mlx5_{}", i);
          }),
    seen_before(23.6 * kHour, fails("link_retrains_through_a_day", kH100, "ib.errors", "mlx5_ib3",
                                    [](NodeDescription& node) {
                                      node.hcas.at(3).counters["link_error_recovery"] = "20";
                                    })),
};

}  // namespace

std::span<const Fault> host_faults() { return kHostFaults; }
std::span<const Fault> incident_faults() { return kIncidents; }

}  // namespace muster::nodes
