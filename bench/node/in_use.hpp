// SPDX-License-Identifier: Apache-2.0
// NVML's view of the tested GPUs: the processes on them, and why their copies are slow.
#pragma once

#include <string>
#include <vector>

#include "lib/node/snapshot.hpp"
#include "lib/report/finding.hpp"

namespace muster::bench::node {

// Returns an `unknown` with the processes for each GPU that is in use, or else one finding for all.
// `visible`: CUDA_VISIBLE_DEVICES. If it lists numbers, only those GPUs count.
[[nodiscard]] std::vector<Finding> judge_use(const Section<Nvml>& nvml, const std::string& visible);

// "gpu3 is in use by python3 (process 1234)"; empty if none is.
[[nodiscard]] std::string first_use(const std::vector<Finding>& findings);

// Appends to findings about a GPU's copies that its PCI link has fewer lanes than it supports.
void add_causes(std::vector<Finding>& findings, const Section<Nvml>& nvml);

}  // namespace muster::bench::node
