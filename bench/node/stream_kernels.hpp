// SPDX-License-Identifier: Apache-2.0
// The four kernels of STREAM on a stretch of its arrays, with ordinary stores and with stores that
// go past the caches.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace muster::bench::node {

inline constexpr double kScalar = 3;

// Of one thread. Each begins at 64 bytes, and `count` is a multiple of 8. No kernel changes what it
// reads, so that each can be repeated and each result be verified: b = a, b = 3a, c = a + b,
// c = b + 3a.
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

}  // namespace muster::bench::node
