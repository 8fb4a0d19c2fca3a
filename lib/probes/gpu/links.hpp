// SPDX-License-Identifier: Apache-2.0
// What NVML tells of a GPU's NVLinks and of its place in the NVSwitch fabric.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/node/gpu.hpp"
#include "lib/probes/gpu/asked_gpu.hpp"

namespace muster::nvml {

// The speed serves links that do not tell their own.
[[nodiscard]] Fact<std::vector<NvLink>> read_links(const AskedGpu& gpu,
                                                   const Fact<std::uint64_t>& common_speed,
                                                   const Fact<unsigned>& told_count);

[[nodiscard]] Fact<GpuFabric> read_fabric(const AskedGpu& gpu);

}  // namespace muster::nvml
