// SPDX-License-Identifier: Apache-2.0
// What NVML knows of the GPUs that are tested: who works on them, and why their copies are slow.
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

// Adds to what was found of a GPU's copies that its PCI link has fewer lanes than it could have.
void add_causes(std::vector<Finding>& findings, const Section<Nvml>& nvml);

}  // namespace muster::bench::node
