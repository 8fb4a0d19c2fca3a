// SPDX-License-Identifier: Apache-2.0
// Healthy GPUs as NVML tells of them, by model: what an architecture does not offer is absent. What
// the rest of the node says as well (address, link, model, serial number, peers) is left out:
// scenario_of() takes it from there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/node/gpu.hpp"

namespace muster::nodes {

// Its six links lead to other GPUs: `peers` has the address of each one's peer.
[[nodiscard]] Gpu v100_sxm2(std::uint64_t memory_mib, const std::vector<std::string>& peers);
// The links of these lead to switches.
[[nodiscard]] Gpu a100_sxm4(std::uint64_t memory_mib);
[[nodiscard]] Gpu h100_sxm5();

}  // namespace muster::nodes
