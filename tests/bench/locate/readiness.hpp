// SPDX-License-Identifier: Apache-2.0
// The procedure that NVIDIA's Cluster Readiness Engine documents, for comparison: each stage, and
// each step of its bisection, is a job of its own, and a bisection ends at one fault.
#pragma once

#include <vector>

#include "bench/locate/measurer.hpp"

namespace muster::bench::locate {

struct Readiness {
  std::vector<Node> accused;
  int runs = 0;  // jobs
};

struct Thresholds {
  double inside_gbps = 0;  // of one node
  double gbps = 0;         // between nodes, and of one node without NVLink
};

// Intra-screening, the same without NVLink, inter-screening; then bisection, confirmation with a
// known good node, and pairs across the boundary of two halves that are good by themselves, until
// inter-screening passes.
[[nodiscard]] Result<Readiness> readiness_procedure(std::size_t nodes, Measurer& measurer,
                                                    const Thresholds& thresholds);

}  // namespace muster::bench::locate
