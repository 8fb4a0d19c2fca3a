// SPDX-License-Identifier: Apache-2.0
// What goes wrong with the running system: its log, settings, services, modules, interfaces and
// programs.
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
      {.name = "machine_check",
       .node = kH100,
       .check = "host.kernel_log",
       .device = "node",
       .change =
           [](NodeDescription& node) {
             say(node, "mce: [Hardware Error]: CPU 12: Machine Check: 0 Bank 7: be00000000800400",
                 2);
           }},
      {.name = "soft_lockup",
       .node = kH100,
       .check = "host.kernel_log",
       .device = "node",
       .change =
           [](NodeDescription& node) {
             say(node, "watchdog: BUG: soft lockup - CPU#17 stuck for 22s! [python:71234]", 0);
           }},
      {.name = "hung_task",
       .node = kA100,
       .check = "host.kernel_log",
       .device = "node",
       .outcome = Outcome::warn,
       .change =
           [](NodeDescription& node) {
             say(node, "INFO: task python:71234 blocked for more than 120 seconds.");
           }},
      {.name = "file_system_read_only",
       .node = kH100,
       .check = "host.kernel_log",
       .device = "sda1",
       .change =
           [](NodeDescription& node) {
             say(node, "EXT4-fs (sda1): Remounting filesystem read-only", 2);
           }},
      {.name = "out_of_memory",
       .node = kH100,
       .check = "host.kernel_log",
       .device = "node",
       .outcome = Outcome::warn,
       .change =
           [](NodeDescription& node) {
             say(node,
                 "Out of memory: Killed process 71234 (python) total-vm:1992294400kB, "
                 "anon-rss:1840000000kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:1kB "
                 "oom_score_adj:0");
           }},
      {.name = "hca_health",
       .node = kH100,
       .check = "host.kernel_log",
       .device = "0104:00:00.0",
       .change =
           [](NodeDescription& node) {
             say(node,
                 "mlx5_core 0104:00:00.0: poll_health:800:(pid 0): device's health compromised - "
                 "reached miss count");
           }},
  };
}

std::vector<Fault> setting_faults() {
  return {
      {.name = "numa_balancing",
       .node = kH100,
       .check = "host.sysctl",
       .device = "kernel.numa_balancing",
       .outcome = Outcome::warn,
       .change = [](NodeDescription& node) { node.system.sysctls["kernel.numa_balancing"] = "1"; }},
      {.name = "command_line_parameter",
       .node = kH100,
       .check = "host.kernel",
       .device = "pci=nomsi",
       .outcome = Outcome::warn,
       .change = [](NodeDescription& node) { node.system.command_line.append(" pci=nomsi"); }},
      {.name = "memlock_limited",
       .node = kH100,
       .check = "host.limits",
       .device = "locked memory",
       .change =
           [](NodeDescription& node) {
             needed(node.processes, &ProcessDescription::name, "slurmd").memlock = "65536";
           }},
      {.name = "few_open_files",
       .node = kA100,
       .check = "host.limits",
       .device = "open files",
       .change =
           [](NodeDescription& node) {
             needed(node.processes, &ProcessDescription::name, "slurmd").open_files = "256";
           }},
      {.name = "slow_clocksource",
       .node = kH100,
       .check = "host.clock",
       .device = "clocksource",
       .outcome = Outcome::warn,
       .change = [](NodeDescription& node) { node.system.clocksource = "acpi_pm"; }},
  };
}

std::vector<Fault> software_faults() {
  return {
      {.name = "service_stopped",
       .node = kH100,
       .check = "host.services",
       .device = "nvidia-fabricmanager.service",
       .change =
           [](NodeDescription& node) {
             std::erase_if(node.processes, [](const ProcessDescription& process) {
               return process.unit == "nvidia-fabricmanager.service";
             });
           }},
      {.name = "module_missing",
       .node = kH100,
       .check = "host.modules",
       .device = "nvidia_uvm",
       .change = [](NodeDescription& node) { std::erase(node.system.modules, "nvidia_uvm"); }},
      {.name = "management_module_missing",
       .node = kA100,
       .check = "host.modules",
       .device = "ib_umad",
       .change = [](NodeDescription& node) { std::erase(node.system.modules, "ib_umad"); }},
      {.name = "ethernet_down",
       .node = kH100,
       .check = "host.ethernet",
       .device = "eth0",
       .change =
           [](NodeDescription& node) {
             node.netdevs.at(0).operstate = "down";
             node.netdevs.at(0).carrier = false;
           }},
      {.name = "program_missing",
       .node = kH100,
       .check = "host.programs",
       .device = "/usr/bin/enroot",
       .outcome = Outcome::warn,
       .change = [](NodeDescription& node) { std::erase(node.programs, "usr/bin/enroot"); }},
      {.name = "program_not_executable",
       .node = kH100,
       .check = "host.programs",
       .device = "/usr/bin/nvidia-container-cli",
       .outcome = Outcome::warn,
       .damage =
           [](Tree& tree) {
             static_cast<void>(needed(tree, "usr/bin/nvidia-container-cli"));
             tree.file("usr/bin/nvidia-container-cli", "not a program\n");
           }},
      {.name = "container_storage_missing",
       .node = kH100,
       .check = "host.container_storage",
       .device = "/var/lib/enroot",
       .outcome = Outcome::warn,
       .change = [](NodeDescription& node) { std::erase(node.directories, "var/lib/enroot"); }},
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
