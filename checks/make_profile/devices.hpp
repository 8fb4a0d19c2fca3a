// SPDX-License-Identifier: Apache-2.0
// Adds the keys about GPUs, HCAs, the bus and the topology to a profile made from nodes.
#pragma once

#include <optional>
#include <string>

#include "checks/make_profile/draft.hpp"
#include "lib/node/snapshot.hpp"
#include "lib/profile/choice.hpp"

namespace muster::app {

void add_devices(ProfileDraft& draft);

// The compute GPUs on the bus, and their number; nothing if the bus was not observed.
[[nodiscard]] std::optional<GpuIds> compute_gpus(const Snapshot& node);
[[nodiscard]] std::optional<int> gpu_count(const Snapshot& node);

// Whether NVML lists GPUs.
[[nodiscard]] bool has_nvml_gpus(const Snapshot& node);

// "112 cores, 8 x NVIDIA H100 80GB HBM3, 8 x 400 Gb/s InfiniBand".
[[nodiscard]] std::string summary_of(const Snapshot& node);

}  // namespace muster::app
