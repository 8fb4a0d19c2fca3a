// SPDX-License-Identifier: Apache-2.0
#include "tests/nodes/nvml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "tests/nodes/needed.hpp"
#include "tests/nodes/parts.hpp"

namespace muster::nodes {
namespace {

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
