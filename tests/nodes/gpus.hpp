// SPDX-License-Identifier: Apache-2.0
// Healthy GPUs as NVML reports them, by model. Values that an architecture does not offer are
// absent. Values that the rest of the node also has (address, link, model, serial number, peers)
// are added by scenario_of().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/node/gpu.hpp"

namespace muster::nodes {

// Its six links lead to other GPUs: `peers` has the address of each peer.
[[nodiscard]] Gpu v100_sxm2(std::uint64_t memory_mib, const std::vector<std::string>& peers);
// Their links lead to switches.
[[nodiscard]] Gpu a100_sxm4(std::uint64_t memory_mib);
[[nodiscard]] Gpu h100_sxm5();

}  // namespace muster::nodes
