// SPDX-License-Identifier: Apache-2.0
// Who works on the GPUs before they are tested.
#pragma once

#include <string>
#include <vector>

#include "bench/launch/place.hpp"
#include "lib/node/gpu.hpp"
#include "lib/node/section.hpp"
#include "lib/report/finding.hpp"

namespace muster::bench::node {

// Asks NVML, in a process of its own. `library` in place of the driver's where it is not empty.
[[nodiscard]] Section<Nvml> ask_nvml(const std::string& library, const Variables& variables);

// An `unknown` for each GPU that is in use, which names the processes; else one finding for all.
// `visible` is CUDA_VISIBLE_DEVICES: where it has numbers, only those GPUs count.
[[nodiscard]] std::vector<Finding> judge_use(const Section<Nvml>& nvml, const std::string& visible);

// "gpu3 is in use by python3 (process 1234)"; empty where none is.
[[nodiscard]] std::string who_works(const std::vector<Finding>& findings);

}  // namespace muster::bench::node
