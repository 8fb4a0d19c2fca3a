// SPDX-License-Identifier: Apache-2.0
#include "tests/nodes/nvml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/nodes/needed.hpp"
#include "tests/nodes/parts.hpp"

namespace muster::nodes {
namespace {

constexpr unsigned kVolta = 5;
constexpr unsigned kAmpere = 7;
constexpr unsigned kHopper = 9;
constexpr std::uint64_t kMebibyte = 1024ULL * 1024;
constexpr std::uint64_t kIdle = 1;  // clock event reasons

GpuMemory memory_of(std::uint64_t total_mib, const Fact<std::uint64_t>& reserved_mib) {
  constexpr std::uint64_t kUsedMib = 4;
  const auto reserved = reserved_mib.value_or(0);
  GpuMemory memory{.total = total_mib * kMebibyte,
                   .used = kUsedMib * kMebibyte,
                   .free = (total_mib - reserved - kUsedMib) * kMebibyte};
  if (reserved_mib) memory.reserved = reserved * kMebibyte;
  return memory;
}

std::vector<NvLink> links(unsigned count, std::uint64_t speed_mbps) {
  constexpr unsigned kToSwitch = 2;
  std::vector<NvLink> result;
  for (unsigned link = 0; link < count; ++link) {
    result.push_back({.link = link,
                      .state = 1U,
                      .speed_mbps = speed_mbps,
                      .remote_type = kToSwitch,
                      .replays = 0U,
                      .recoveries = 0U,
                      .crc = 0U});
  }
  return result;
}

GpuClocks idle_at(unsigned now_mhz, unsigned applications_mhz, unsigned most_mhz) {
  return {.reasons = kIdle,
          .sm_mhz = now_mhz,
          .sm_max_mhz = most_mhz,
          .application_sm_mhz = applications_mhz,
          .default_sm_mhz = applications_mhz,
          .performance_state = 0U};
}

GpuPower at_rest(std::uint64_t usage_w, std::uint64_t limit_w) {
  return {.usage_mw = usage_w * 1000, .enforced_mw = limit_w * 1000, .default_mw = limit_w * 1000};
}

// Values of every data-centre GPU.
Gpu any_gpu() {
  Gpu gpu;
  gpu.firmware.inforom_valid = true;
  gpu.modes = {.ecc = true, .ecc_pending = true, .persistence = true, .compute = 0U};
  gpu.ecc_volatile = {.dram_corrected = 0U, .dram_uncorrected = 0U};
  gpu.ecc_aggregate = {.dram_corrected = 0U, .dram_uncorrected = 0U};
  gpu.link.replays = 0U;
  gpu.processes = std::vector<GpuProcess>{};
  gpu.peers = std::map<std::string, unsigned>{};
  return gpu;
}

// Values since Ampere.
Gpu with_row_remapper(std::uint64_t banks) {
  Gpu gpu = any_gpu();
  gpu.modes.mig = false;
  gpu.modes.mig_pending = false;
  for (auto* ecc : {&gpu.ecc_volatile, &gpu.ecc_aggregate}) {
    ecc->sram_corrected = 0U;
    ecc->sram_uncorrected = 0U;
  }
  gpu.sram = GpuSram{};
  gpu.remapped_rows = GpuRemappedRows{};
  gpu.spare_rows = GpuSpareRows{.all = banks};
  gpu.repairs = GpuRepairs{};
  gpu.recovery_action = 0U;
  gpu.firmware.gsp_enabled = true;
  gpu.firmware.gsp_default = true;
  return gpu;
}

constexpr std::string_view kScenario = "nvml/scenario";
constexpr int kDriverNotLoaded = 9;

unsigned generation_of(double gts) {
  constexpr std::array kSpeeds{2.5, 5.0, 8.0, 16.0, 32.0, 64.0};
  return static_cast<unsigned>(std::ranges::upper_bound(kSpeeds, gts) - kSpeeds.begin());
}

GpuLink link_of(const PciDescription& pci, const GpuLink& told) {
  return {.generation = generation_of(pci.speed_gts),
          .generation_max = generation_of(pci.max_speed_gts),
          .width = pci.width,
          .width_max = pci.max_width,
          .replays = told.replays};
}

Gpu gpu_of(const NodeDescription& node, const GpuDescription& description) {
  Gpu gpu = description.facts;
  gpu.address = description.pci.address;
  gpu.uuid = description.uuid;
  gpu.serial = description.serial;
  gpu.model = description.model;
  gpu.link = link_of(description.pci, gpu.link);
  if (gpu.firmware.gsp_enabled.value_or(false)) gpu.firmware.gsp = node.nvml.driver;
  return gpu;
}

// Peer access is possible by default.
void add_peers(std::vector<Gpu>& gpus) {
  for (auto& gpu : gpus) {
    if (!gpu.peers) continue;
    for (const auto& peer : gpus) {
      if (peer.address != gpu.address) gpu.peers->try_emplace(peer.address, 0U);
    }
  }
}

}  // namespace

Gpu v100_sxm2(std::uint64_t memory_mib, const std::vector<std::string>& peers) {
  constexpr unsigned kToGpu = 0;
  Gpu gpu = any_gpu();
  gpu.architecture = kVolta;
  gpu.firmware.vbios = std::string("88.00.6B.00.01");
  gpu.firmware.inforom = std::string("G503.0203.00.05");
  gpu.memory = memory_of(memory_mib, {});
  gpu.retired_pages = {.single_bit = 0U, .double_bit = 0U, .pending = false};
  gpu.nvlinks = links(6, 25'000);
  for (auto& link : *gpu.nvlinks) {
    link.remote_type = kToGpu;
    link.remote_address = peers.at(link.link);
  }
  gpu.clocks = idle_at(135, 1290, 1530);
  gpu.heat = {.gpu_c = 36, .memory_c = 34, .memory_max_c = 85, .margin_c = 51};
  gpu.power = at_rest(43, 300);
  return gpu;
}

Gpu a100_sxm4(std::uint64_t memory_mib) {
  Gpu gpu = with_row_remapper(640);
  gpu.architecture = kAmpere;
  gpu.firmware.vbios = std::string("92.00.19.00.10");
  gpu.firmware.inforom = std::string("G506.0200.00.04");
  gpu.memory = memory_of(memory_mib, 512U);
  gpu.nvlinks = links(12, 25'000);
  gpu.clocks = idle_at(210, 1410, 1410);
  gpu.heat = {.gpu_c = 33, .memory_c = 39, .memory_max_c = 95, .margin_c = 56};
  gpu.power = at_rest(55, 400);
  return gpu;
}

Gpu h100_sxm5() {
  Gpu gpu = with_row_remapper(2560);
  gpu.architecture = kHopper;
  gpu.firmware.vbios = std::string("96.00.99.00.0C");
  gpu.firmware.inforom = std::string("G520.0200.00.05");
  gpu.memory = memory_of(81'559, 551U);
  gpu.nvlinks = links(18, 26'562);
  // A single node, no cluster. Every part of the health mask is clean.
  gpu.fabric = GpuFabric{.state = 3, .health_mask = 0x1aaU, .health_summary = 1U};
  gpu.clocks = idle_at(345, 1980, 1980);
  gpu.heat = {.gpu_c = 32, .memory_c = 41, .margin_c = 55};
  gpu.power = at_rest(71, 700);
  return gpu;
}

fakes::Scenario scenario_of(const NodeDescription& node) {
  fakes::Scenario scenario{.nvml = {}, .answers = node.nvml.answers, .hangs = node.nvml.hangs};
  scenario.nvml.driver = node.nvml.driver;
  scenario.nvml.cuda = node.nvml.cuda;
  for (const auto& description : node.gpus) {
    // The driver gives up a GPU that the bus cannot reach.
    if (!description.listed || !description.pci.responding) continue;
    auto gpu = gpu_of(node, description);
    gpu.index = static_cast<unsigned>(scenario.nvml.gpus.size());
    scenario.nvml.gpus.push_back(std::move(gpu));
  }
  add_peers(scenario.nvml.gpus);
  if (std::ranges::count(node.system.modules, "nvidia") == 0) {
    scenario.answers["nvmlInit_v2"] = kDriverNotLoaded;
  }
  return scenario;
}

void change_scenario(Tree& tree, const std::function<void(fakes::Scenario&)>& change) {
  auto scenario = fakes::parse_scenario(needed(tree, std::string(kScenario))).value();
  change(scenario);
  tree.file(kScenario, to_text(scenario));
}

void render_nvml(const NodeDescription& node, Tree& tree) {
  if (node.gpus.empty()) return;
  tree.file(kScenario, to_text(scenario_of(node)));
  tree.link_outside(kNvmlLibrary,
                    fmt::format("{}/nvml-{}/libnvidia-ml.so.1", MUSTER_FAKES, node.nvml.branch));
}

}  // namespace muster::nodes
