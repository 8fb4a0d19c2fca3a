// SPDX-License-Identifier: Apache-2.0
// The counters that are remembered between runs.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "lib/node/snapshot.hpp"

namespace muster {

// The reasons of NVML for which the hardware lowers clocks: slowdown, heat, power brake. The
// counter "gpu.ADDRESS.slowdown" is 1 for a GPU with one of them, else 0.
inline constexpr std::uint64_t kHardwareSlowdown = 0xc8;

// The error counters of a snapshot by key: "ib.mlx5_ib0.1.link_downed",
// "pci.0001:00:00.0.correctable", "edac.mc0.corrected".
[[nodiscard]] std::map<std::string, std::uint64_t> counters_of(const Snapshot& snapshot);

}  // namespace muster
