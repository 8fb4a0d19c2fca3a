// SPDX-License-Identifier: Apache-2.0
// What NVML tells of a GPU's NVLinks and of its place in the NVSwitch fabric.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/node/gpu.hpp"
#include "lib/probes/gpu/caller.hpp"

namespace muster::nvml {

// The links that the GPU has. `common_speed` serves those that do not tell their own; where
// `told_count` is absent, the first link that the driver refuses ends them.
[[nodiscard]] Fact<std::vector<NvLink>> read_links(const AskedGpu& gpu,
                                                   const Fact<std::uint64_t>& common_speed,
                                                   const Fact<unsigned>& told_count);

// The GPU's place in the NVSwitch fabric.
[[nodiscard]] Fact<GpuFabric> read_fabric(const AskedGpu& gpu);

}  // namespace muster::nvml
