// SPDX-License-Identifier: Apache-2.0
// Matrix products on a GPU whose answer the host knows to the last bit.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/node/gpus.hpp"
#include "lib/base/result.hpp"

namespace muster::bench::node {

// Matrices of n x n, row by row.
struct Answer {
  std::vector<float> a, b, c;
};

inline constexpr std::uint64_t kProductSize = 256;

// Varied numbers of either sign, none of them nought or one, that use all bits of their mantissas;
// and their product, summed along the rows of a with one rounding for each step.
[[nodiscard]] Answer make_answer(std::uint64_t seed);

// One GPU that computes an answer many times over.
class Products {
 public:
  // `answer` lives longer.
  Products(NodeGpu& gpu, const Answer& answer) : gpu_(gpu), answer_(answer) {}

  [[nodiscard]] Result<void> prepare();
  // Puts one launch on the GPU's stream.
  [[nodiscard]] Result<void> start();
  // What of the last launch differs from the answer; waits for it.
  [[nodiscard]] Result<Counts> compare();
  // Makes a launch take about so long; one is timed for that.
  [[nodiscard]] Result<void> take(double seconds);
  // The arithmetic operations of one launch.
  [[nodiscard]] double operations() const;

  [[nodiscard]] NodeGpu& gpu() const { return gpu_; }

 private:
  [[nodiscard]] Result<cuda::Pointer> upload(const std::vector<float>& matrix);

  NodeGpu& gpu_;
  const Answer& answer_;
  cuda::Pointer a_ = 0, b_ = 0, c_ = 0, expected_ = 0;
  std::uint64_t copies_ = 1;
  std::uint64_t repeats_ = 1;
};

// "3 numbers of a product are wrong, the first in row 7, column 1; bits 00002000 differ".
[[nodiscard]] Finding wrong_product(const NodeGpu& gpu, const Counts& counts, std::uint64_t launch);

}  // namespace muster::bench::node
