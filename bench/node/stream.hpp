// SPDX-License-Identifier: Apache-2.0
// STREAM over some of a node's CPUs, each element of each result verified.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

#include "bench/node/stream_kernels.hpp"
#include "lib/base/result.hpp"

namespace muster::bench::node {

struct StreamPlan {
  std::vector<unsigned> cpus;
  std::uint64_t array_bytes = 0;
  std::chrono::duration<double> time{1};
};

struct StreamOutcome {
  std::array<std::vector<double>, kStreamKernels> seconds;  // of each round, by kernel
  std::uint64_t bytes = 0;                                  // of an array
  std::uint64_t wrong = 0;                                  // elements, over all rounds
  unsigned wrong_cpu = 0;                                   // that saw the first of them
};

// What element `index` of array a holds: whole numbers of 50 bits, whose sums and products here are
// exact, with a period that fits no page.
[[nodiscard]] double stream_value(std::size_t index);

[[nodiscard]] Result<StreamOutcome> run_stream(const StreamPlan& plan);

// STREAM's arrays are four times as large as all caches together, and here no more than a sixth of
// the free memory each.
[[nodiscard]] std::uint64_t stream_array_bytes(std::uint64_t caches, std::uint64_t available);

}  // namespace muster::bench::node
