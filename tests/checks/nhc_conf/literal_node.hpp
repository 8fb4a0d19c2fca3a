// SPDX-License-Identifier: Apache-2.0
// Parts of literal nodes: sound GPUs, and lines of the kernel log.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lib/node/snapshot.hpp"
#include "lib/node/xid.hpp"

namespace muster::nhc {

inline constexpr double kUptime = 10 * 86400;

inline Gpu sound_gpu(unsigned index, bool volta) {
  const GpuEcc none{.dram_corrected = std::uint64_t{0},
                    .dram_uncorrected = std::uint64_t{0},
                    .sram_corrected = std::uint64_t{0},
                    .sram_uncorrected = std::uint64_t{0}};
  Gpu gpu{.index = index,
          .address = fmt::format("00{:02x}:00:00.0", index + 1),
          .uuid = fmt::format("GPU-{}", index),
          .model = std::string(volta ? "Tesla V100-SXM2-32GB" : "NVIDIA H100 80GB HBM3"),
          .ecc_volatile = none,
          .ecc_aggregate = none};
  gpu.firmware.inforom_valid = true;
  gpu.modes.persistence = true;
  gpu.recovery_action = 0U;
  gpu.clocks.reasons = std::uint64_t{0};
  if (volta) {
    gpu.retired_pages = {
        .single_bit = std::uint64_t{0}, .double_bit = std::uint64_t{0}, .pending = false};
  } else {
    gpu.sram = GpuSram{};
    gpu.remapped_rows = GpuRemappedRows{};
  }
  gpu.nvlinks = std::vector<NvLink>{{.link = 0, .state = 1U}, {.link = 1, .state = 1U}};
  return gpu;
}

inline Nvme sound_disk(unsigned index) {
  return {.name = fmt::format("nvme{}n1", index),
          .controller = fmt::format("nvme{}", index),
          .state = std::string("live"),
          .size_bytes = std::uint64_t{1} << 40U,
          .read_only = false};
}

// Adds a line of the kernel.
inline void log(Snapshot& node, double hours_ago, std::string text) {
  const auto when = static_cast<std::uint64_t>((kUptime - 3600 * hours_ago) * 1e6);
  node.kernel_log.facts.records.push_back(
      {.time_us = when, .level = 3, .text = std::move(text), .last_us = when});
  node.xids = find_xids(*node.kernel_log);
}

}  // namespace muster::nhc
