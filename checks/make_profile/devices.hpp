// SPDX-License-Identifier: Apache-2.0
// What a profile says about GPUs, HCAs and where they are, made from nodes.
#pragma once

#include <optional>
#include <string>

#include "checks/make_profile/draft.hpp"
#include "lib/node/snapshot.hpp"
#include "lib/profile/recognise.hpp"

namespace muster::app {

void add_devices(ProfileDraft& draft);

// GPUs for computing on the bus, and how many there are; nothing where the bus could not be
// observed.
[[nodiscard]] std::optional<GpuIds> compute_gpus(const Snapshot& node);
[[nodiscard]] std::optional<int> gpu_count(const Snapshot& node);

// NVML lists the GPUs.
[[nodiscard]] bool asks_nvml(const Snapshot& node);

// "112 cores, 8 x NVIDIA H100 80GB HBM3, 8 x 400 Gb/s InfiniBand".
[[nodiscard]] std::string summary_of(const Snapshot& node);

}  // namespace muster::app
