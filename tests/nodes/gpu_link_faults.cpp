// SPDX-License-Identifier: Apache-2.0
// Faults of GPU links, firmware and clocks, and leftovers on GPUs.
#include <algorithm>
#include <cstdint>
#include <iterator>

#include "lib/base/units.hpp"
#include "tests/nodes/faults.hpp"
#include "tests/nodes/needed.hpp"
#include "tests/nodes/render.hpp"

namespace muster::nodes {
namespace {

constexpr std::uint64_t kForWeeksNs = 2'000'000'000'000'000;
constexpr int kLost = 15;
constexpr unsigned kInProgress = 2;

NvLink& link(NodeDescription& node, std::size_t gpu, std::size_t number) {
  return needed(facts(node, gpu).nvlinks).at(number);
}

void log(NodeDescription& node, std::string text) {
  const auto time_us = static_cast<std::uint64_t>((node.system.uptime_s - kHour) * 1e6);
  node.kernel_log.push_back({.level = 3, .time_us = time_us, .text = std::move(text)});
}

std::vector<Fault> bus_and_nvml() {
  return {
      fails("gpu_not_listed", kH100, "pci.devices", "0009:00:00.0",
            [](NodeDescription& node) { node.gpus.at(4).listed = false; }),
      // NVML still knows the address, and refuses every call to the GPU itself.
      {.name = "gpu_fell_off_in_use",
       .node = kH100,
       .check = "gpu.present",
       .device = "gpu2",
       .change =
           [](NodeDescription& node) { answer(node, 2, "nvmlDeviceGetMemoryInfo_v2", kLost); },
       .damage =
           [](Tree& tree) {
             const auto config = device_path(nd96isr_h100_v5().gpus[2].pci).append("/config");
             tree.file(config, std::string(needed(tree, config).size(), '\xff'));
           }},
  };
}

std::vector<Fault> firmware_faults() {
  return {
      warns("vbios_differs", kH100, "gpu.firmware", "gpu5",
            [](NodeDescription& node) {
              facts(node, 5).firmware.vbios = std::string("96.00.74.00.01");
            }),
      fails("inforom_corrupt", kH100, "gpu.firmware", "gpu2",
            [](NodeDescription& node) { facts(node, 2).firmware.inforom_valid = false; }),
      warns("gsp_off", kH100, "gpu.firmware", "gpu3",
            [](NodeDescription& node) { facts(node, 3).firmware.gsp_enabled = false; }),
  };
}

std::vector<Fault> link_faults() {
  return {
      fails("nvlink_down", kH100, "gpu.nvlink_state", "gpu2",
            [](NodeDescription& node) { link(node, 2, 7).state = 0U; }),
      fails("nvlink_down_on_an_older_driver", kA100, "gpu.nvlink_state", "gpu6",
            [](NodeDescription& node) { link(node, 6, 11).state = 0U; }),
      fails("nvlink_slow", kH100, "gpu.nvlink_state", "gpu4",
            [](NodeDescription& node) { link(node, 4, 3).speed_mbps = 13'281U; }),
      seen_before(kHour, fails("nvlink_crc_errors", kH100, "gpu.nvlink_errors", "gpu1",
                               [](NodeDescription& node) { link(node, 1, 5).crc = 900'000U; })),
      seen_before(kHour, warns("nvlink_replays", kA100, "gpu.nvlink_errors", "gpu6",
                               [](NodeDescription& node) { link(node, 6, 0).replays = 300U; })),
      seen_before(kHour,
                  warns("gpu_pcie_replays", kH100, "gpu.pcie_replay", "gpu0",
                        [](NodeDescription& node) { facts(node, 0).link.replays = 100'000U; })),
      fails(
          "no_access_to_a_peer", kH100, "gpu.p2p", "gpu2",
          [](NodeDescription& node) { needed(facts(node, 2).peers).emplace("0008:00:00.0", 1U); }),
  };
}

std::vector<Fault> fabric_faults() {
  return {
      fails("fabric_in_progress", kH100, "gpu.fabric", "gpu3",
            [](NodeDescription& node) { needed(facts(node, 3).fabric).state = kInProgress; }),
      fails("fabric_not_started", kH100, "gpu.fabric", "node",
            [](NodeDescription& node) {
              for (auto& gpu : node.gpus) needed(gpu.facts.fabric).state = 1;
            }),
      fails("fabric_of_another_cluster", kH100, "gpu.fabric", "gpu6",
            [](NodeDescription& node) {
              needed(facts(node, 6).fabric).cluster = "0123456789abcdef0123456789abcdef";
            }),
      fails("fabric_bandwidth_degraded", kH100, "gpu.fabric", "gpu1",
            [](NodeDescription& node) {
              needed(facts(node, 1).fabric).health_mask = 0x1a9U;
              needed(facts(node, 1).fabric).health_summary = 2U;
            }),
  };
}

std::vector<Fault> clock_faults() {
  constexpr std::string_view kCheck = "gpu.clocks";
  return {
      fails("clocks_held_by_heat", kH100, kCheck, "gpu4",
            [](NodeDescription& node) {
              facts(node, 4).clocks.reasons = 0x48U;
              facts(node, 4).clocks.hardware_thermal_ns = kForWeeksNs;
            }),
      fails("clocks_held_by_the_power_brake", kH100, kCheck, "gpu2",
            [](NodeDescription& node) {
              facts(node, 2).clocks.reasons = 0x88U;
              facts(node, 2).clocks.power_brake_ns = kForWeeksNs;
            }),
      warns("clocks_held_by_the_driver_for_heat", kH100, kCheck, "gpu5",
            [](NodeDescription& node) { facts(node, 5).clocks.reasons = 0x20U; }),
      warns("clocks_left_locked", kH100, kCheck, "gpu7",
            [](NodeDescription& node) { facts(node, 7).clocks.application_sm_mhz = 1200U; }),
  };
}

std::vector<Fault> leftovers() {
  return {
      fails("compute_prohibited", kH100, "gpu.compute_mode", "gpu3",
            [](NodeDescription& node) { facts(node, 3).modes.compute = 2U; }),
      // Warnings, because jobs may run.
      warns("process_of_no_job", kH100, "gpu.processes", "gpu2",
            [](NodeDescription& node) {
              node.processes.push_back({.pid = 4242, .name = "python3"});
              needed(facts(node, 2).processes)
                  .push_back({.pid = 4242, .memory_bytes = 40'000'000'000U});
            }),
      warns("memory_of_no_process", kH100, "gpu.memory_used", "gpu6",
            [](NodeDescription& node) { needed(facts(node, 6).memory).used = 2'147'483'648; }),
  };
}

std::vector<Fault> gpu_log_faults() {
  return {
      fails("xid_of_an_uncorrectable_error", kH100, "gpu.xid", "gpu4",
            [](NodeDescription& node) {
              log(node,
                  "NVRM: Xid (PCI:0009:00:00): 48, pid='<unknown>', name=<unknown>, An "
                  "uncorrectable "
                  "double bit error (DBE) has been detected on GPU in the framebuffer at physical "
                  "address 0x1f2a000 partition 3, subpartition 0.");
            }),
      // A warning, because no link is down.
      warns(
          "sxid_of_a_link", kH100, "gpu.sxid", "0000:c3:00.0",
          [](NodeDescription& node) {
            log(node,
                "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20034, Fatal, Link 30 LTSSM Fault Up");
          }),
  };
}

}  // namespace

std::vector<Fault> gpu_link_faults() {
  std::vector<Fault> faults;
  for (auto* table : {bus_and_nvml, firmware_faults, link_faults, fabric_faults, clock_faults,
                      leftovers, gpu_log_faults}) {
    std::ranges::move(table(), std::back_inserter(faults));
  }
  return faults;
}

}  // namespace muster::nodes
