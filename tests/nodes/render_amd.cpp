// SPDX-License-Identifier: Apache-2.0
// Files that the amdgpu driver adds to the PCI folder of each of its GPUs.
#include <fmt/format.h>

#include "tests/nodes/parts.hpp"
#include "tests/nodes/render.hpp"

namespace muster::nodes {
namespace {

template <class T>
void known_attribute(Tree& tree, std::string_view folder, std::string_view name,
                     const Fact<T>& value) {
  if (value) attribute(tree, folder, name, fmt::format("{}", *value));
}

void add_errors(const AmdGpu& gpu, const std::string& folder, Tree& tree) {
  if (gpu.ras) {
    for (const auto& [block, counts] : *gpu.ras) {
      tree.file(fmt::format("{}/ras/{}_err_count", folder, block),
                fmt::format("ue: {}\nce: {}\n", counts.uncorrected, counts.corrected));
    }
  }
  if (!gpu.bad_pages) return;
  std::string pages;
  const auto add = [&](std::uint64_t count, char state) {
    for (std::uint64_t i = 0; i < count; ++i) {
      pages.append(fmt::format("0x{:08x} : 0x00001000 : {}\n", 0x1000 * (i + 1), state));
    }
  };
  add(gpu.bad_pages->retired, 'R');
  add(gpu.bad_pages->pending, 'P');
  add(gpu.bad_pages->failed, 'F');
  tree.file(fmt::format("{}/ras/gpu_vram_bad_pages", folder), pages);
}

void add_sensors(const AmdGpu& gpu, const std::string& folder, Tree& tree) {
  const auto hwmon = fmt::format("{}/hwmon/hwmon3", folder);
  const auto scaled = [&](std::string_view name, const Fact<double>& value, double unit) {
    if (value) attribute(tree, hwmon, name, fmt::format("{:.0f}", *value * unit));
  };
  scaled("power1_input", gpu.power_w, 1e6);
  scaled("power1_cap", gpu.power_cap_w, 1e6);
  scaled("power1_cap_default", gpu.power_cap_default_w, 1e6);
  if (!gpu.temperatures) return;
  for (std::size_t i = 0; i < gpu.temperatures->size(); ++i) {
    const auto& sensor = gpu.temperatures->at(i);
    const auto name = [&](std::string_view what) { return fmt::format("temp{}_{}", i + 2, what); };
    attribute(tree, hwmon, name("label"), sensor.name);
    attribute(tree, hwmon, name("input"), fmt::format("{:.0f}", sensor.now_c * 1000));
    if (!sensor.critical_c) continue;
    attribute(tree, hwmon, name("crit"), fmt::format("{:.0f}", *sensor.critical_c * 1000));
  }
}

}  // namespace

void render_amd(const NodeDescription& node, Tree& tree) {
  for (const auto& each : node.amd_gpus) {
    if (each.pci.driver != "amdgpu") continue;
    const auto& gpu = each.facts;
    const auto folder = device_path(each.pci);
    known_attribute(tree, folder, "mem_info_vram_total", gpu.memory_bytes);
    known_attribute(tree, folder, "mem_info_vram_used", gpu.memory_used_bytes);
    known_attribute(tree, folder, "vbios_version", gpu.vbios);
    known_attribute(tree, folder, "unique_id", gpu.serial);
    known_attribute(tree, folder, "current_compute_partition", gpu.compute_partition);
    known_attribute(tree, folder, "current_memory_partition", gpu.memory_partition);
    known_attribute(tree, folder, "power_dpm_force_performance_level", gpu.performance_level);
    known_attribute(tree, folder, "gpu_busy_percent", gpu.utilisation);
    known_attribute(tree, folder, "pcie_replay_count", gpu.replays);
    known_attribute(tree, fmt::format("{}/xgmi_hive_info", folder), "xgmi_hive_id", gpu.hive);
    add_errors(gpu, folder, tree);
    add_sensors(gpu, folder, tree);
  }
}

}  // namespace muster::nodes
