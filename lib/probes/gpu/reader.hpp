// SPDX-License-Identifier: Apache-2.0
// Everything that NVML tells of one GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/node/gpu.hpp"
#include "lib/probes/gpu/caller.hpp"
#include "lib/probes/gpu/library.hpp"
#include "lib/probes/gpu/watch.hpp"

namespace muster::nvml {

inline constexpr const char* kNobodyAsked = "no check of this run asks for it";

struct GpuFacts {
  Gpu gpu;
  Device handle = nullptr;  // none where NVML refused it
};

// On a thread of its own. What `parts` leaves out is absent.
void read_gpu(const Functions& functions,
              unsigned index,
              NvmlParts parts,
              Watched<GpuFacts>& watched);

// A PCI address as sysfs writes it.
[[nodiscard]] std::string address_of(const PciInfo& info);

// The speed serves links that do not tell their own.
[[nodiscard]] Fact<std::vector<NvLink>> read_links(const AskedGpu& gpu,
                                                   const Fact<std::uint64_t>& common_speed,
                                                   const Fact<unsigned>& told_count);

// Its place in the NVSwitch fabric.
[[nodiscard]] Fact<GpuFabric> read_fabric(const AskedGpu& gpu);

}  // namespace muster::nvml
