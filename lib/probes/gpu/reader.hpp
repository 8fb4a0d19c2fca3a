// SPDX-License-Identifier: Apache-2.0
// Reads the facts of one GPU from NVML.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/node/gpu.hpp"
#include "lib/probes/gpu/caller.hpp"
#include "lib/probes/gpu/library.hpp"

namespace muster::nvml {

inline constexpr const char* kNotRequested = "no check of this run asks for it";

struct GpuFacts {
  Gpu gpu;
  Device handle = nullptr;  // null if NVML refused it
};

// Reads a GPU on the current thread, and publishes after each step. Facts that `parts` excludes are
// absent.
void read_gpu(const Functions& functions, unsigned index, NvmlParts parts,
              Watched<GpuFacts>& watched);

// Returns the GPU's NVLinks. `common_speed` is for links that do not report their own. If
// `known_count` is absent, the first link that the driver refuses ends the list.
[[nodiscard]] Fact<std::vector<NvLink>> read_links(const QueriedGpu& gpu,
                                                   const Fact<std::uint64_t>& common_speed,
                                                   const Fact<unsigned>& known_count);

// Returns the GPU's state in the NVSwitch fabric.
[[nodiscard]] Fact<GpuFabric> read_fabric(const QueriedGpu& gpu);

// A PCI address as sysfs writes it.
[[nodiscard]] std::string address_of(const PciInfo& info);

}  // namespace muster::nvml
