// SPDX-License-Identifier: Apache-2.0
// Faults of the running system: its log, settings, services, modules, interfaces and programs.
#include <algorithm>
#include <iterator>

#include "tests/nodes/faults.hpp"
#include "tests/nodes/needed.hpp"

namespace muster::nodes {
namespace {

void say(NodeDescription& node, std::string text, unsigned level = 3) {
  // An hour before the snapshot.
  const auto time_us = static_cast<std::uint64_t>((node.system.uptime_s - 3600) * 1e6);
  node.kernel_log.push_back({.level = level, .time_us = time_us, .text = std::move(text)});
}

std::vector<Fault> log_faults() {
  return {
      fails("machine_check", kH100, "host.kernel_log", "node",
            [](NodeDescription& node) {
              say(node, "mce: [Hardware Error]: CPU 12: Machine Check: 0 Bank 7: be00000000800400",
                  2);
            }),
      fails("soft_lockup", kH100, "host.kernel_log", "node",
            [](NodeDescription& node) {
              say(node, "watchdog: BUG: soft lockup - CPU#17 stuck for 22s! [python:71234]", 0);
            }),
      warns("hung_task", kA100, "host.kernel_log", "node",
            [](NodeDescription& node) {
              say(node, "INFO: task python:71234 blocked for more than 120 seconds.");
            }),
      fails("file_system_read_only", kH100, "host.kernel_log", "sda1",
            [](NodeDescription& node) {
              say(node, "EXT4-fs (sda1): Remounting filesystem read-only", 2);
            }),
      warns("out_of_memory", kH100, "host.kernel_log", "node",
            [](NodeDescription& node) {
              say(node,
                  "Out of memory: Killed process 71234 (python) total-vm:1992294400kB, "
                  "anon-rss:1840000000kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:1kB "
                  "oom_score_adj:0");
            }),
      fails("hca_health", kH100, "host.kernel_log", "0104:00:00.0",
            [](NodeDescription& node) {
              say(node,
                  "mlx5_core 0104:00:00.0: poll_health:800:(pid 0): device's health compromised - "
                  "reached miss count");
            }),
  };
}

std::vector<Fault> setting_faults() {
  return {
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
  };
}

std::vector<Fault> software_faults() {
  return {
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
            [](NodeDescription& node) {
              node.netdevs.at(0).operstate = "down";
              node.netdevs.at(0).carrier = false;
            }),
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
}

}  // namespace

std::vector<Fault> system_faults() {
  auto faults = log_faults();
  std::ranges::move(setting_faults(), std::back_inserter(faults));
  std::ranges::move(software_faults(), std::back_inserter(faults));
  return faults;
}

}  // namespace muster::nodes
