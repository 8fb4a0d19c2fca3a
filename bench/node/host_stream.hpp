// SPDX-License-Identifier: Apache-2.0
// STREAM on some of a node's CPUs. Each element of each result is verified.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace muster::bench::node {

inline constexpr double kScalar = 3;

// The arrays of one thread. Each is aligned to 64 bytes, and `count` is a multiple of 8. No kernel
// changes its input, so each can be repeated and verified: b = a, b = 3a, c = a + b, c = b + 3a.
struct StreamArrays {
  double* a = nullptr;
  double* b = nullptr;
  double* c = nullptr;
  std::size_t count = 0;
};

struct StreamKernel {
  std::string_view name;
  double bytes_per_element = 0;  // as STREAM counts: read and written
  bool into_c = false;           // else into b
  void (*ordinary)(const StreamArrays&) = nullptr;
  // With stores that bypass the caches; the same function if the processor has none.
  void (*streaming)(const StreamArrays&) = nullptr;
};

inline constexpr std::size_t kStreamKernels = 4;

// Copy, scale, add, triad, with the widest vectors of this processor. Each uses the results of
// those before it.
[[nodiscard]] const std::array<StreamKernel, kStreamKernels>& stream_kernels();

// Returns element `index` of array a: a 50-bit integer, for which the kernels are exact. The period
// is not that of a page.
[[nodiscard]] double stream_value(std::size_t index);

// Returns the size of an array: four times all caches together, as STREAM requires, and at most a
// sixth of the free memory.
[[nodiscard]] std::uint64_t stream_array_bytes(std::uint64_t caches, std::uint64_t available);

}  // namespace muster::bench::node
