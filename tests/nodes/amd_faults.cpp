// SPDX-License-Identifier: Apache-2.0
// Faults of AMD GPUs, as the bus, the amdgpu driver and the kernel log show them.
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
      fails("amd_gpu_missing", kMi300x, "pci.devices", "node",
            [](NodeDescription& node) { drop(node.amd_gpus, 4); }),
      fails("amd_gpu_off_the_bus", kMi300x, "pci.devices", "0004:00:00.0",
            [](NodeDescription& node) { node.amd_gpus.at(2).pci.responding = false; }),
      fails("amd_gpu_half_width", kMi300x, "pci.link", "0002:00:00.0",
            [](NodeDescription& node) { node.amd_gpus.at(0).pci.width = 8; }),
      fails("amd_gpu_without_driver", kMi300x, "gpu.ras", "0003:00:00.0",
            [](NodeDescription& node) { node.amd_gpus.at(1).pci.driver.clear(); }),
      fails("amd_driver_not_loaded", kMi300x, "host.modules", "amdgpu",
            [](NodeDescription& node) { std::erase(node.system.modules, "amdgpu"); }),
      seen_before(kHour,
                  warns("amd_pcie_replays", kMi300x, "gpu.amd", "0005:00:00.0",
                        [](NodeDescription& node) { amd(node, 3).replays = std::uint64_t{9000}; })),
  };
}

std::vector<Fault> memory_faults() {
  return {
      fails("amd_uncorrected_errors", kMi300x, "gpu.ras", "0004:00:00.0",
            [](NodeDescription& node) { needed(amd(node, 2).ras)["umc"].uncorrected = 1; }),
      warns("amd_many_corrected_errors", kMi300x, "gpu.ras", "0004:00:00.0",
            [](NodeDescription& node) { needed(amd(node, 2).ras)["umc"].corrected = 90'000'000; }),
      fails(
          "amd_less_memory", kMi300x, "gpu.ras", "0006:00:00.0",
          [](NodeDescription& node) { amd(node, 4).memory_bytes = std::uint64_t{163'840} << 20U; }),
      fails("amd_page_waits_for_a_reset", kMi300x, "gpu.amd", "0006:00:00.0",
            [](NodeDescription& node) { needed(amd(node, 4).bad_pages).pending = 1; }),
      fails("amd_page_not_retired", kMi300x, "gpu.amd", "0006:00:00.0",
            [](NodeDescription& node) { needed(amd(node, 4).bad_pages).failed = 1; }),
  };
}

std::vector<Fault> state_faults() {
  return {
      fails("amd_gpu_hot", kMi300x, "gpu.amd", "0007:00:00.0",
            [](NodeDescription& node) { needed(amd(node, 5).temperatures)[0].now_c = 103; }),
      warns("amd_power_limit", kMi300x, "gpu.amd", "0007:00:00.0",
            [](NodeDescription& node) { amd(node, 5).power_cap_w = 500; }),
      warns("amd_other_partition", kMi300x, "gpu.amd", "0008:00:00.0",
            [](NodeDescription& node) { amd(node, 6).compute_partition = std::string("CPX"); }),
      warns("amd_other_vbios", kMi300x, "gpu.amd", "0008:00:00.0",
            [](NodeDescription& node) { amd(node, 6).vbios = std::string("113-OLD"); }),
      warns("amd_clocks_forced", kMi300x, "gpu.amd", "0008:00:00.0",
            [](NodeDescription& node) { amd(node, 6).performance_level = std::string("low"); }),
      fails("amd_outside_the_hive", kMi300x, "gpu.amd", "0009:00:00.0",
            [](NodeDescription& node) { amd(node, 7).hive = std::string("0"); }),
  };
}

std::vector<Fault> amd_log_faults() {
  return {
      fails("amd_uncorrected_in_the_log", kMi300x, "host.kernel_log", "0004:00:00.0",
            [](NodeDescription& node) {
              log_of_gpu(node,
                         "socket: 0, die: 0 1 new uncorrectable hardware errors detected in umc "
                         "block");
            }),
      fails("amd_reset_failed", kMi300x, "host.kernel_log", "0004:00:00.0",
            [](NodeDescription& node) { log_of_gpu(node, "GPU reset(2) failed"); }),
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
