// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/pci/amd.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/text.hpp"
#include "lib/probes/attributes.hpp"

namespace muster {
namespace {

// "ue: 0\nce: 3\n"; newer drivers add "de: 0", errors in data that was not used.
Result<RasCounts> read_counts(const Root& root, const std::string& path) {
  TRY_ASSIGN(const auto text, root.read(path));
  std::optional<std::uint64_t> uncorrected;
  std::optional<std::uint64_t> corrected;
  for (const auto line : split_lines(text)) {
    const auto words = split_words(line);
    const auto count = words.size() == 2 ? parse_unsigned(words[1]) : make_error("");
    if (!count) continue;
    if (words[0] == "ue:") uncorrected = *count;
    if (words[0] == "ce:") corrected = *count;
  }
  if (uncorrected && corrected) {
    return RasCounts{.uncorrected = *uncorrected, .corrected = *corrected};
  }
  return make_error(fmt::format("read {}: \"{}\" has no ue and ce", path, printable(text, 60)));
}

// A GPU without RAS has no such folder; a block without counters has no file.
Fact<std::map<std::string, RasCounts>> read_ras(const Root& root, std::string_view folder) {
  constexpr std::string_view kSuffix = "_err_count";
  TRY_ASSIGN(const auto names, root.list(fmt::format("{}/ras", folder)));
  std::map<std::string, RasCounts> blocks;
  for (const auto& name : names) {
    if (!name.ends_with(kSuffix)) continue;
    const auto counts = read_counts(root, fmt::format("{}/ras/{}", folder, name));
    if (!counts) return make_error(counts.error().message);
    blocks.emplace(printable(name.substr(0, name.size() - kSuffix.size()), 32), *counts);
  }
  return blocks;
}

// "0x00001000 : 0x00001000 : R": retired, P: pending, F: failed.
Fact<AmdBadPages> read_bad_pages(const Root& root, std::string_view folder) {
  constexpr std::size_t kLargest = 1024UL * 1024;
  const auto path = fmt::format("{}/ras/gpu_vram_bad_pages", folder);
  TRY_ASSIGN(const auto text, root.read(path, kLargest));
  AmdBadPages pages;
  for (const auto line : split_lines(text)) {
    const auto words = split_words(line);
    if (words.empty()) continue;
    const auto state = words.back();
    if (words.size() != 5 || state.size() != 1) {
      return make_error(fmt::format("read {}: \"{}\" is not a page", path, printable(line, 60)));
    }
    if (state == "R") ++pages.retired;
    if (state == "P") ++pages.pending;
    if (state == "F") ++pages.failed;
  }
  return pages;
}

// The folder of the GPU's sensors, whose number depends on the order of drivers.
Result<std::string> sensors_of(const Root& root, std::string_view folder) {
  TRY_ASSIGN(const auto names, root.list(fmt::format("{}/hwmon", folder)));
  for (const auto& name : names) {
    if (name.starts_with("hwmon")) return fmt::format("{}/hwmon/{}", folder, name);
  }
  return make_missing(fmt::format("{}/hwmon has no sensors", folder));
}

// Omits sensors that do not answer, as in a GPU that sleeps.
std::vector<AmdSensor> read_temperatures(const Root& root, const std::string& sensors) {
  constexpr double kPerDegree = 1000;
  constexpr int kMostSensors = 16;
  std::vector<AmdSensor> temperatures;
  for (int i = 1; i <= kMostSensors; ++i) {
    const auto sensor = fmt::format("{}/temp{}", sensors, i);
    const auto label = read_text(root, fmt::format("{}_label", sensor));
    const auto now = read_scaled(root, fmt::format("{}_input", sensor), kPerDegree);
    if (!label || !now) continue;
    temperatures.push_back(
        {.name = *label,
         .now_c = *now,
         .critical_c = read_scaled(root, fmt::format("{}_crit", sensor), kPerDegree)});
  }
  return temperatures;
}

void read_sensors(const Root& root, std::string_view folder, AmdGpu& gpu) {
  constexpr double kPerWatt = 1000000;
  const auto sensors = sensors_of(root, folder);
  if (!sensors) {
    gpu.temperatures = tl::unexpected(sensors.error());
    for (auto* power : {&gpu.power_w, &gpu.power_cap_w, &gpu.power_cap_default_w}) {
      *power = tl::unexpected(sensors.error());
    }
    return;
  }
  gpu.temperatures = read_temperatures(root, *sensors);
  gpu.power_w = read_scaled(root, fmt::format("{}/power1_input", *sensors), kPerWatt);
  if (!gpu.power_w) {
    gpu.power_w = read_scaled(root, fmt::format("{}/power1_average", *sensors), kPerWatt);
  }
  gpu.power_cap_w = read_scaled(root, fmt::format("{}/power1_cap", *sensors), kPerWatt);
  gpu.power_cap_default_w =
      read_scaled(root, fmt::format("{}/power1_cap_default", *sensors), kPerWatt);
}

}  // namespace

AmdGpu read_amd_gpu(const Root& root, std::string_view address) {
  const auto folder = fmt::format("/sys/bus/pci/devices/{}", address);
  AmdGpu gpu{.address = std::string(address)};
  gpu.memory_bytes = read_unsigned(root, fmt::format("{}/mem_info_vram_total", folder));
  gpu.memory_used_bytes = read_unsigned(root, fmt::format("{}/mem_info_vram_used", folder));
  gpu.ras = read_ras(root, folder);
  gpu.bad_pages = read_bad_pages(root, folder);
  gpu.vbios = read_text(root, fmt::format("{}/vbios_version", folder));
  gpu.serial = read_text(root, fmt::format("{}/unique_id", folder));
  gpu.compute_partition = read_text(root, fmt::format("{}/current_compute_partition", folder));
  gpu.memory_partition = read_text(root, fmt::format("{}/current_memory_partition", folder));
  gpu.performance_level =
      read_text(root, fmt::format("{}/power_dpm_force_performance_level", folder));
  gpu.hive = read_text(root, fmt::format("{}/xgmi_hive_info/xgmi_hive_id", folder));
  if (const auto busy = read_unsigned(root, fmt::format("{}/gpu_busy_percent", folder))) {
    gpu.utilisation = static_cast<unsigned>(std::min<std::uint64_t>(*busy, 100));
  }
  gpu.replays = read_unsigned(root, fmt::format("{}/pcie_replay_count", folder));
  read_sensors(root, folder, gpu);
  return gpu;
}

}  // namespace muster
