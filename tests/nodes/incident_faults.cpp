// SPDX-License-Identifier: Apache-2.0
// Faults that show in several places at once: several kernel log lines with several names of one
// device, and counters and states. Each must be one finding.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "lib/base/units.hpp"
#include "tests/nodes/faults.hpp"

namespace muster::nodes {
namespace {

// An hour before the snapshot; `after_s` is the time into the incident.
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
      seen_before(kHour,
                  fails("pcie_error_in_log_and_counters", kBareMetal, "pci.errors", "0000:12:00.0",
                        [](NodeDescription& node) {
                          node.gpus.at(0).pci.fatal = 1;
                          report_pcie_error(node);
                        })),
      fails("pcie_error_in_the_log_alone", kBareMetal, "host.kernel_log", "0000:12:00.0",
            report_pcie_error),
  };
}

std::vector<Fault> memory_incidents() {
  return {
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
              say(node, 0, "{1}[Hardware Error]: event severity: recoverable");
              say(node, 0, "{1}[Hardware Error]:  Error 0, type: recoverable");
              say(node, 0, "{1}[Hardware Error]:   section_type: memory error");
            }),
  };
}

std::vector<Fault> other_incidents() {
  return {
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
}

}  // namespace

std::vector<Fault> incident_faults() {
  auto faults = pcie_incidents();
  std::ranges::move(memory_incidents(), std::back_inserter(faults));
  std::ranges::move(other_incidents(), std::back_inserter(faults));
  return faults;
}

}  // namespace muster::nodes
