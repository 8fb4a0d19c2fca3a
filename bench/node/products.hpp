// SPDX-License-Identifier: Apache-2.0
// Matrix products on a GPU whose result the host knows to the last bit.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/node/gpus.hpp"
#include "lib/base/result.hpp"

namespace muster::bench::node {

// Matrices of n x n, row by row, and their product.
struct KnownProduct {
  std::vector<float> a, b, c;
};

inline constexpr std::uint64_t kProductSize = 256;

// Varied numbers of either sign that use all bits of their mantissas. The product is summed along
// the rows of a with one rounding for each step.
[[nodiscard]] KnownProduct make_known_product(std::uint64_t seed);

// One GPU that computes a known product many times.
class ProductLoad {
 public:
  // `known` must outlive this object.
  ProductLoad(NodeGpu& gpu, const KnownProduct& known) : gpu_(gpu), known_(known) {}
  [[nodiscard]] Result<void> prepare();
  // Makes a launch take about `seconds`, by timing one.
  [[nodiscard]] Result<void> adjust_to(double seconds);
  // Enqueues one launch on the GPU's stream, on a poisoned result.
  [[nodiscard]] Result<void> start();
  // Waits for the last launch, and compares it with the known product.
  [[nodiscard]] Result<Counts> compare();
  // The arithmetic operations of one launch.
  [[nodiscard]] double operations() const;
  [[nodiscard]] NodeGpu& gpu() const { return gpu_; }

 private:
  [[nodiscard]] std::uint64_t bytes() const;  // of all copies of the result
  [[nodiscard]] Result<cuda::Pointer> upload(const std::vector<float>& matrix);

  NodeGpu& gpu_;
  const KnownProduct& known_;
  cuda::Pointer a_ = 0, b_ = 0, c_ = 0, expected_ = 0;
  std::uint64_t copies_ = 1;
  std::uint64_t repeats_ = 1;
};

[[nodiscard]] Finding wrong_product(const NodeGpu& gpu, const Counts& counts, std::uint64_t launch);

}  // namespace muster::bench::node
