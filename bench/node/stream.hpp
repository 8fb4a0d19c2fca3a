// SPDX-License-Identifier: Apache-2.0
// STREAM over some of a node's CPUs, each element of each result verified.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"

namespace muster::bench::node {

// The four kernels on a stretch of the arrays, with ordinary stores and with stores that go past
// the caches.

inline constexpr double kScalar = 3;

// The arrays of one thread. Each begins at 64 bytes, and `count` is a multiple of 8. No kernel
// changes what it reads, so that each can be repeated and each result be verified: b = a, b = 3a,
// c = a + b, c = b + 3a.
struct Arrays {
  double* a = nullptr;
  double* b = nullptr;
  double* c = nullptr;
  std::size_t count = 0;
};

struct StreamKernel {
  std::string_view name;
  double bytes_per_element = 0;  // as STREAM counts: what is read and written
  bool into_c = false;           // else into b
  void (*ordinary)(const Arrays&) = nullptr;
  void (*past_caches)(const Arrays&) = nullptr;  // the same where this processor has none
};

inline constexpr std::size_t kStreamKernels = 4;

// Copy, scale, add, triad; in this order each finds what it reads. The widest that this processor
// has.
[[nodiscard]] const std::array<StreamKernel, kStreamKernels>& stream_kernels();

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
