// SPDX-License-Identifier: Apache-2.0
// The node of gpu_node.hpp with facts about links, fabric, clocks and firmware: two
// healthy H100s behind NVSwitches, and the profile that they satisfy.
#pragma once

#include <string>
#include <vector>

#include "lib/state/counters.hpp"
#include "tests/checks/gpu/gpu_node.hpp"

namespace muster::linked_node {

inline constexpr double kUptime = 500000;
inline constexpr unsigned kLinks = 18;

inline NvLink link(unsigned number) {
  return {.link = number,
          .state = 1U,
          .speed_mbps = 26562U,
          .remote_type = 2U,
          .remote_address = Fact<std::string>::absent("Not Supported (3)"),
          .replays = 0U,
          .recoveries = 0U,
          .crc = 0U,
          .ber = 1e-15};
}

inline void complete(Gpu& gpu) {
  gpu.nvlinks = std::vector<NvLink>();
  for (unsigned i = 0; i < kLinks; ++i) gpu.nvlinks->push_back(link(i));
  gpu.fabric = GpuFabric{.state = 3, .health_mask = 0x1aaU, .health_summary = 1U};
  gpu.clocks = {.reasons = 0x4U,
                .sm_mhz = 345U,
                .sm_max_mhz = 1980U,
                .application_sm_mhz = 1980U,
                .default_sm_mhz = 1980U,
                .performance_state = 0U};
  gpu.link = {
      .generation = 1U, .generation_max = 5U, .width = 16U, .width_max = 16U, .replays = 0U};
  gpu.firmware = {.vbios = std::string("96.00.61.00.01"),
                  .inforom = std::string("G520.0200.00.05"),
                  .inforom_valid = true,
                  .gsp = std::string("550.54.15"),
                  .gsp_enabled = true,
                  .gsp_default = true};
}

inline Snapshot node() {
  Snapshot snapshot = gpu_node::node();
  snapshot.identity->uptime_s = kUptime;
  for (auto& gpu : snapshot.nvml->gpus) complete(gpu);
  return snapshot;
}

inline void each_link(Snapshot& snapshot, void (*change)(NvLink& link)) {
  for (auto& gpu : snapshot.nvml->gpus) {
    for (auto& link : *gpu.nvlinks) change(link);
  }
}

// Adds more GPUs of the same kind.
inline Snapshot node_of(unsigned gpus) {
  Snapshot snapshot = node();
  while (snapshot.nvml->gpus.size() < gpus) {
    const auto index = static_cast<unsigned>(snapshot.nvml->gpus.size());
    complete(snapshot.nvml->gpus.emplace_back(gpu_node::h100(index)));
  }
  return snapshot;
}

// The state that the next run would find: the counter had this value at the last run, this long
// ago.
inline void seen_before(Snapshot& snapshot, const std::string& key, std::uint64_t value,
                        double seconds_ago = 3600) {
  snapshot.earlier.last_uptime_s = kUptime - seconds_ago;
  snapshot.earlier.counters[key] = {{.uptime_s = kUptime - seconds_ago, .value = value}};
}

inline void all_seen_before(Snapshot& snapshot) {
  for (const auto& [key, value] : counters_of(snapshot)) seen_before(snapshot, key, value);
}

inline Profile profile() {
  Profile profile = gpu_node::profile();
  profile.gpu->nvlink_state = {.links = 18, .speed = BytesPerSecond{26.562e9}};
  profile.gpu->nvlink_errors = {.crc_fail_from_per_second = 100,
                                .ber_fail_above = 1e-12,
                                .replays_warn_above = 0,
                                .recoveries_warn_above = 0,
                                .window = Seconds{24 * 3600.0}};
  profile.gpu->clocks.application_sm = Hertz{1980e6};
  profile.gpu->compute_mode.expected = ComputeMode::standard;
  profile.topo->nvlink_matrix.ends_in = NvlinkEnd::nvswitch;
  return profile;
}

}  // namespace muster::linked_node

namespace muster {

inline NvLink& link_of(Snapshot& snapshot, std::size_t gpu, std::size_t number) {
  return gpu_of(snapshot, gpu).nvlinks->at(number);
}

}  // namespace muster
