// SPDX-License-Identifier: Apache-2.0
// What goes wrong with AMD's GPUs, as the bus, the amdgpu driver and the kernel's log show it.
#include "lib/base/units.hpp"
#include "tests/nodes/faults.hpp"
#include "tests/nodes/needed.hpp"

namespace muster::nodes {
namespace {

AmdGpu& amd(NodeDescription& node, std::size_t index) { return node.amd_gpus.at(index).facts; }

void log_of_gpu(NodeDescription& node, std::string_view text) {
  static_cast<void>(node.amd_gpus.at(2));
  node.kernel_log.push_back(
      {.level = 3,
       .time_us = static_cast<std::uint64_t>((node.system.uptime_s - 60) * 1e6),
       .text = fmt::format("amdgpu 0004:00:00.0: amdgpu: {}", text)});
}

std::vector<Fault> amd_bus_faults() {
  return {
      {.name = "amd_gpu_missing",
       .node = kMi300x,
       .check = "pci.devices",
       .device = "node",
       .change = [](NodeDescription& node) { drop(node.amd_gpus, 4); }},
      {.name = "amd_gpu_off_the_bus",
       .node = kMi300x,
       .check = "pci.devices",
       .device = "0004:00:00.0",
       .change = [](NodeDescription& node) { node.amd_gpus.at(2).pci.responding = false; }},
      {.name = "amd_gpu_half_width",
       .node = kMi300x,
       .check = "pci.link",
       .device = "0002:00:00.0",
       .change = [](NodeDescription& node) { node.amd_gpus.at(0).pci.width = 8; }},
      {.name = "amd_gpu_without_driver",
       .node = kMi300x,
       .check = "gpu.ras",
       .device = "0003:00:00.0",
       .change = [](NodeDescription& node) { node.amd_gpus.at(1).pci.driver.clear(); }},
      {.name = "amd_driver_not_loaded",
       .node = kMi300x,
       .check = "host.modules",
       .device = "amdgpu",
       .change = [](NodeDescription& node) { std::erase(node.system.modules, "amdgpu"); }},
      {.name = "amd_pcie_replays",
       .node = kMi300x,
       .check = "gpu.amd",
       .device = "0005:00:00.0",
       .outcome = Outcome::warn,
       .change = [](NodeDescription& node) { amd(node, 3).replays = std::uint64_t{9000}; },
       .earlier_s = kHour},
  };
}

std::vector<Fault> memory_faults() {
  return {
      {.name = "amd_uncorrected_errors",
       .node = kMi300x,
       .check = "gpu.ras",
       .device = "0004:00:00.0",
       .change = [](NodeDescription& node) { needed(amd(node, 2).ras)["umc"].uncorrected = 1; }},
      {.name = "amd_many_corrected_errors",
       .node = kMi300x,
       .check = "gpu.ras",
       .device = "0004:00:00.0",
       .outcome = Outcome::warn,
       .change =
           [](NodeDescription& node) { needed(amd(node, 2).ras)["umc"].corrected = 90'000'000; }},
      {.name = "amd_less_memory",
       .node = kMi300x,
       .check = "gpu.ras",
       .device = "0006:00:00.0",
       .change =
           [](NodeDescription& node) {
             amd(node, 4).memory_bytes = std::uint64_t{163'840} << 20U;
           }},
      {.name = "amd_page_waits_for_a_reset",
       .node = kMi300x,
       .check = "gpu.amd",
       .device = "0006:00:00.0",
       .change = [](NodeDescription& node) { needed(amd(node, 4).bad_pages).pending = 1; }},
      {.name = "amd_page_not_retired",
       .node = kMi300x,
       .check = "gpu.amd",
       .device = "0006:00:00.0",
       .change = [](NodeDescription& node) { needed(amd(node, 4).bad_pages).failed = 1; }},
  };
}

std::vector<Fault> state_faults() {
  return {
      {.name = "amd_gpu_hot",
       .node = kMi300x,
       .check = "gpu.amd",
       .device = "0007:00:00.0",
       .change = [](NodeDescription& node) { needed(amd(node, 5).temperatures)[0].now_c = 103; }},
      {.name = "amd_power_limit",
       .node = kMi300x,
       .check = "gpu.amd",
       .device = "0007:00:00.0",
       .outcome = Outcome::warn,
       .change = [](NodeDescription& node) { amd(node, 5).power_cap_w = 500; }},
      {.name = "amd_other_partition",
       .node = kMi300x,
       .check = "gpu.amd",
       .device = "0008:00:00.0",
       .outcome = Outcome::warn,
       .change =
           [](NodeDescription& node) { amd(node, 6).compute_partition = std::string("CPX"); }},
      {.name = "amd_other_vbios",
       .node = kMi300x,
       .check = "gpu.amd",
       .device = "0008:00:00.0",
       .outcome = Outcome::warn,
       .change = [](NodeDescription& node) { amd(node, 6).vbios = std::string("113-OLD"); }},
      {.name = "amd_clocks_forced",
       .node = kMi300x,
       .check = "gpu.amd",
       .device = "0008:00:00.0",
       .outcome = Outcome::warn,
       .change =
           [](NodeDescription& node) { amd(node, 6).performance_level = std::string("low"); }},
      {.name = "amd_outside_the_hive",
       .node = kMi300x,
       .check = "gpu.amd",
       .device = "0009:00:00.0",
       .change = [](NodeDescription& node) { amd(node, 7).hive = std::string("0"); }},
  };
}

std::vector<Fault> amd_log_faults() {
  return {
      {.name = "amd_uncorrected_in_the_log",
       .node = kMi300x,
       .check = "host.kernel_log",
       .device = "0004:00:00.0",
       .change =
           [](NodeDescription& node) {
             log_of_gpu(node,
                        "socket: 0, die: 0 1 new uncorrectable hardware errors detected in umc "
                        "block");
           }},
      {.name = "amd_reset_failed",
       .node = kMi300x,
       .check = "host.kernel_log",
       .device = "0004:00:00.0",
       .change = [](NodeDescription& node) { log_of_gpu(node, "GPU reset(2) failed"); }},
  };
}

}  // namespace

std::vector<Fault> amd_faults() {
  std::vector<Fault> faults;
  for (auto* table : {amd_bus_faults, memory_faults, state_faults, amd_log_faults}) {
    auto more = table();
    faults.insert(faults.end(), more.begin(), more.end());
  }
  return faults;
}

}  // namespace muster::nodes
