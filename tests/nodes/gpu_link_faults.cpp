// SPDX-License-Identifier: Apache-2.0
// What goes wrong with the links of GPUs, with their firmware and clocks, and with what was left on
// them.
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
      {.name = "gpu_not_listed",
       .node = kH100,
       .check = "pci.devices",
       .device = "0009:00:00.0",
       .change = [](NodeDescription& node) { node.gpus.at(4).listed = false; }},
      // NVML knows the address still, and what it asks of the GPU itself is refused.
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
      {.name = "vbios_differs",
       .node = kH100,
       .check = "gpu.firmware",
       .device = "gpu5",
       .outcome = Outcome::warn,
       .change =
           [](NodeDescription& node) {
             facts(node, 5).firmware.vbios = std::string("96.00.74.00.01");
           }},
      {.name = "inforom_corrupt",
       .node = kH100,
       .check = "gpu.firmware",
       .device = "gpu2",
       .change = [](NodeDescription& node) { facts(node, 2).firmware.inforom_valid = false; }},
      {.name = "gsp_off",
       .node = kH100,
       .check = "gpu.firmware",
       .device = "gpu3",
       .outcome = Outcome::warn,
       .change = [](NodeDescription& node) { facts(node, 3).firmware.gsp_enabled = false; }},
  };
}

std::vector<Fault> link_faults() {
  return {
      {.name = "nvlink_down",
       .node = kH100,
       .check = "gpu.nvlink_state",
       .device = "gpu2",
       .change = [](NodeDescription& node) { link(node, 2, 7).state = 0U; }},
      {.name = "nvlink_down_on_an_older_driver",
       .node = kA100,
       .check = "gpu.nvlink_state",
       .device = "gpu6",
       .change = [](NodeDescription& node) { link(node, 6, 11).state = 0U; }},
      {.name = "nvlink_slow",
       .node = kH100,
       .check = "gpu.nvlink_state",
       .device = "gpu4",
       .change = [](NodeDescription& node) { link(node, 4, 3).speed_mbps = 13'281U; }},
      {.name = "nvlink_crc_errors",
       .node = kH100,
       .check = "gpu.nvlink_errors",
       .device = "gpu1",
       .change = [](NodeDescription& node) { link(node, 1, 5).crc = 900'000U; },
       .earlier_s = kHour},
      {.name = "nvlink_replays",
       .node = kA100,
       .check = "gpu.nvlink_errors",
       .device = "gpu6",
       .outcome = Outcome::warn,
       .change = [](NodeDescription& node) { link(node, 6, 0).replays = 300U; },
       .earlier_s = kHour},
      {.name = "gpu_pcie_replays",
       .node = kH100,
       .check = "gpu.pcie_replay",
       .device = "gpu0",
       .outcome = Outcome::warn,
       .change = [](NodeDescription& node) { facts(node, 0).link.replays = 100'000U; },
       .earlier_s = kHour},
      {.name = "no_access_to_a_peer",
       .node = kH100,
       .check = "gpu.p2p",
       .device = "gpu2",
       .change =
           [](NodeDescription& node) { needed(facts(node, 2).peers).emplace("0008:00:00.0", 1U); }},
  };
}

std::vector<Fault> fabric_faults() {
  return {
      {.name = "fabric_in_progress",
       .node = kH100,
       .check = "gpu.fabric",
       .device = "gpu3",
       .change = [](NodeDescription& node) { needed(facts(node, 3).fabric).state = kInProgress; }},
      {.name = "fabric_not_started",
       .node = kH100,
       .check = "gpu.fabric",
       .device = "node",
       .change =
           [](NodeDescription& node) {
             for (auto& gpu : node.gpus) needed(gpu.facts.fabric).state = 1;
           }},
      {.name = "fabric_of_another_cluster",
       .node = kH100,
       .check = "gpu.fabric",
       .device = "gpu6",
       .change =
           [](NodeDescription& node) {
             needed(facts(node, 6).fabric).cluster = "0123456789abcdef0123456789abcdef";
           }},
      {.name = "fabric_bandwidth_degraded",
       .node = kH100,
       .check = "gpu.fabric",
       .device = "gpu1",
       .change =
           [](NodeDescription& node) {
             needed(facts(node, 1).fabric).health_mask = 0x1a9U;
             needed(facts(node, 1).fabric).health_summary = 2U;
           }},
  };
}

std::vector<Fault> clock_faults() {
  constexpr std::string_view kCheck = "gpu.clocks";
  return {
      {.name = "clocks_held_by_heat",
       .node = kH100,
       .check = kCheck,
       .device = "gpu4",
       .change =
           [](NodeDescription& node) {
             facts(node, 4).clocks.reasons = 0x48U;
             facts(node, 4).clocks.hardware_thermal_ns = kForWeeksNs;
           }},
      {.name = "clocks_held_by_the_power_brake",
       .node = kH100,
       .check = kCheck,
       .device = "gpu2",
       .change =
           [](NodeDescription& node) {
             facts(node, 2).clocks.reasons = 0x88U;
             facts(node, 2).clocks.power_brake_ns = kForWeeksNs;
           }},
      {.name = "clocks_held_by_the_driver_for_heat",
       .node = kH100,
       .check = kCheck,
       .device = "gpu5",
       .outcome = Outcome::warn,
       .change = [](NodeDescription& node) { facts(node, 5).clocks.reasons = 0x20U; }},
      {.name = "clocks_left_locked",
       .node = kH100,
       .check = kCheck,
       .device = "gpu7",
       .outcome = Outcome::warn,
       .change = [](NodeDescription& node) { facts(node, 7).clocks.application_sm_mhz = 1200U; }},
  };
}

std::vector<Fault> leftovers() {
  return {
      {.name = "compute_prohibited",
       .node = kH100,
       .check = "gpu.compute_mode",
       .device = "gpu3",
       .change = [](NodeDescription& node) { facts(node, 3).modes.compute = 2U; }},
      {.name = "process_of_no_job",
       .node = kH100,
       .check = "gpu.processes",
       .device = "gpu2",
       .outcome = Outcome::warn,  // jobs may run meanwhile
       .change =
           [](NodeDescription& node) {
             node.processes.push_back({.pid = 4242, .name = "python3"});
             needed(facts(node, 2).processes)
                 .push_back({.pid = 4242, .memory_bytes = 40'000'000'000U});
           }},
      {.name = "memory_of_no_process",
       .node = kH100,
       .check = "gpu.memory_used",
       .device = "gpu6",
       .outcome = Outcome::warn,  // jobs may run meanwhile
       .change = [](NodeDescription& node) { needed(facts(node, 6).memory).used = 2'147'483'648; }},
  };
}

std::vector<Fault> gpu_log_faults() {
  return {
      {.name = "xid_of_an_uncorrectable_error",
       .node = kH100,
       .check = "gpu.xid",
       .device = "gpu4",
       .change =
           [](NodeDescription& node) {
             log(node,
                 "NVRM: Xid (PCI:0009:00:00): 48, pid='<unknown>', name=<unknown>, An "
                 "uncorrectable "
                 "double bit error (DBE) has been detected on GPU in the framebuffer at physical "
                 "address 0x1f2a000 partition 3, subpartition 0.");
           }},
      {.name = "sxid_of_a_link",
       .node = kH100,
       .check = "gpu.sxid",
       .device = "0000:c3:00.0",
       .outcome = Outcome::warn,  // no link is down
       .change =
           [](NodeDescription& node) {
             log(node,
                 "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20034, Fatal, Link 30 LTSSM Fault Up");
           }},
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
