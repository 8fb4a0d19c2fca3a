// SPDX-License-Identifier: Apache-2.0
// Faults that show in several places at once: in the kernel log by several lines about several
// names of the same hardware, and in counters and states. Each is one finding.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "lib/base/units.hpp"
#include "tests/nodes/faults.hpp"

namespace muster::nodes {
namespace {

// An hour before the snapshot, `after_s` into the incident.
void say(NodeDescription& node, double after_s, std::string text, unsigned level = 3) {
  const auto time_us = static_cast<std::uint64_t>((node.system.uptime_s - kHour + after_s) * 1e6);
  node.kernel_log.push_back({.level = level, .time_us = time_us, .text = std::move(text)});
}

void report_pcie_error(NodeDescription& node) {
  const auto& gpu = node.gpus.at(0).pci;
  say(node, 0,
      fmt::format("pcieport {}: AER: Uncorrected (Fatal) error received: {}", gpu.bridges.at(0),
                  gpu.address));
  say(node, 0.1,
      fmt::format("nvidia {}: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction "
                  "Layer, (Requester ID)",
                  gpu.address));
  say(node, 1, fmt::format("pcieport {}: AER: device recovery failed", gpu.bridges.back()));
}

void report_memory_error(NodeDescription& node) {
  say(node, 0, "mce: [Hardware Error]: CPU 12: Machine Check: 0 Bank 7: be00000000800400", 2);
  say(node, 0.2, "EDAC MC2: 1 UE memory read error on CPU_SrcID#0_MC#2_Chan#0_DIMM#0");
  say(node, 0.3, "Memory failure: 0x7740c0: recovery action for dirty LRU page: Recovered");
}

void report_dead_disk(NodeDescription& node) {
  say(node, -30, "nvme nvme6: I/O 128 QID 3 timeout, aborting", 4);
  say(node, 0, "nvme nvme6: Device not ready; aborting reset, CSTS=0x1");
  say(node, 1, "I/O error, dev nvme6n1, sector 2048 op 0x1:(WRITE) flags 0x800 phys_seg 1");
  say(node, 2, "Buffer I/O error on dev nvme6n1p1, logical block 0, lost async page write");
  say(node, 9, "EXT4-fs error (device nvme6n1p1): ext4_journal_check_start:83: Detected abort", 2);
  say(node, 9, "EXT4-fs (nvme6n1p1): Remounting filesystem read-only", 2);
}

std::vector<Fault> pcie_incidents() {
  return {
      {.name = "pcie_error_in_log_and_counters",
       .node = kBareMetal,
       .check = "pci.errors",
       .device = "0000:12:00.0",
       .change =
           [](NodeDescription& node) {
             node.gpus.at(0).pci.fatal = 1;
             report_pcie_error(node);
           },
       .earlier_s = kHour},
      {.name = "pcie_error_in_the_log_alone",
       .node = kBareMetal,
       .check = "host.kernel_log",
       .device = "0000:12:00.0",
       .change = report_pcie_error},
  };
}

std::vector<Fault> memory_incidents() {
  return {
      {.name = "memory_error_in_log_and_counters",
       .node = kBareMetal,
       .check = "host.edac",
       .device = "mc2",
       .change =
           [](NodeDescription& node) {
             node.edac.at(2).uncorrected = 1;
             report_memory_error(node);
           }},
      {.name = "memory_error_in_the_log_alone",
       .node = kBareMetal,
       .check = "host.kernel_log",
       .device = "node",
       .change = report_memory_error},
      {.name = "memory_error_reported_by_firmware",
       .node = kBareMetal,
       .check = "host.edac",
       .device = "mc0",
       .change =
           [](NodeDescription& node) {
             node.edac.at(0).uncorrected = 1;
             say(node, 0, "{1}[Hardware Error]: event severity: recoverable");
             say(node, 0, "{1}[Hardware Error]:  Error 0, type: recoverable");
             say(node, 0, "{1}[Hardware Error]:   section_type: memory error");
           }},
  };
}

std::vector<Fault> other_incidents() {
  return {
      {.name = "disk_dead_in_log_and_state",
       .node = kH100,
       .check = "host.nvme",
       .device = "nvme6",
       .change =
           [](NodeDescription& node) {
             node.nvme.at(6).state = "dead";
             node.nvme.at(6).sectors = 0;
             report_dead_disk(node);
           }},
      {.name = "disk_dead_in_the_log_alone",
       .node = kH100,
       .check = "host.kernel_log",
       .device = "nvme6",
       .change = report_dead_disk},
      // As on AKS and plain Ubuntu: mlx5_0 to mlx5_7, and mlx5_8 for accelerated networking.
      {.name = "hcas_under_other_names",
       .node = kH100,
       .check = "ib.present",
       .device = "node",
       .outcome = Outcome::warn,
       .change =
           [](NodeDescription& node) {
             for (std::size_t i = 0; i < node.hcas.size(); ++i)
               node.hcas[i].name = fmt::format("mlx5_{}", i);
           }},
      {.name = "link_retrains_through_a_day",
       .node = kH100,
       .check = "ib.errors",
       .device = "mlx5_ib3",
       .change =
           [](NodeDescription& node) { node.hcas.at(3).counters["link_error_recovery"] = "20"; },
       .earlier_s = 23.6 * kHour},
  };
}

}  // namespace

std::vector<Fault> incident_faults() {
  auto faults = pcie_incidents();
  std::ranges::move(memory_incidents(), std::back_inserter(faults));
  std::ranges::move(other_incidents(), std::back_inserter(faults));
  return faults;
}

}  // namespace muster::nodes
