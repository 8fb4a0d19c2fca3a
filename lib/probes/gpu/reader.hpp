// SPDX-License-Identifier: Apache-2.0
// Everything that NVML tells of one GPU.
#pragma once

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

// Reads a GPU on a thread of its own. What `parts` leaves out is absent.
void read_gpu(const Functions& functions, unsigned index, NvmlParts parts,
              Watched<GpuFacts>& watched);

// A PCI address as sysfs writes it.
[[nodiscard]] std::string address_of(const PciInfo& info);

}  // namespace muster::nvml
