// SPDX-License-Identifier: Apache-2.0
// Which counters are remembered between runs, and under which names.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "lib/node/snapshot.hpp"

namespace muster {

// Bits of NVML's reasons by which the hardware holds clocks down: slowdown, heat, power brake. A
// GPU that has one is remembered as a counter "gpu.ADDRESS.slowdown" of 1, and of 0 otherwise.
inline constexpr std::uint64_t kHardwareSlowdown = 0xc8;

// The error counters of a snapshot by the key under which earlier runs remember them:
// "ib.mlx5_ib0.1.link_downed", "pci.0001:00:00.0.correctable", "edac.mc0.corrected".
[[nodiscard]] std::map<std::string, std::uint64_t> counters_of(const Snapshot& snapshot);

}  // namespace muster
