// SPDX-License-Identifier: Apache-2.0
// Matrix products on a GPU whose result the host knows to the last bit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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

// Products that one GPU computes many times, and whose last result can be verified.
class GpuLoad {
 public:
  explicit GpuLoad(NodeGpu& gpu) : gpu_(gpu) {}
  GpuLoad(const GpuLoad&) = delete;
  GpuLoad& operator=(const GpuLoad&) = delete;
  virtual ~GpuLoad() = default;

  // As in the names of quantities: bf16, f32_own.
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Makes a launch take about `seconds`, by timing one.
  [[nodiscard]] virtual Result<void> adjust_to(double seconds) = 0;
  // Enqueues one launch on the GPU's stream.
  [[nodiscard]] virtual Result<void> start() = 0;
  // Waits for the last launch, and returns a sentence if its result is wrong.
  [[nodiscard]] virtual Result<std::optional<std::string>> wrong() = 0;
  // The arithmetic operations of one launch.
  [[nodiscard]] virtual double operations() const = 0;
  [[nodiscard]] NodeGpu& gpu() const { return gpu_; }

 private:
  NodeGpu& gpu_;
};

// Known products by muster's own kernel.
class ProductLoad final : public GpuLoad {
 public:
  // `known` must outlive this object. `launches`: those of the GPU before.
  ProductLoad(NodeGpu& gpu, const KnownProduct& known, std::uint64_t launches = 0)
      : GpuLoad(gpu), known_(known), launches_(launches) {}
  [[nodiscard]] Result<void> prepare();
  [[nodiscard]] std::string_view name() const override { return "f32_own"; }
  [[nodiscard]] Result<void> adjust_to(double seconds) override;
  [[nodiscard]] Result<void> start() override;
  [[nodiscard]] Result<std::optional<std::string>> wrong() override;
  [[nodiscard]] double operations() const override;
  // Without those of adjust_to().
  [[nodiscard]] std::uint64_t launches() const { return launches_; }

 private:
  [[nodiscard]] std::uint64_t bytes() const;  // of all copies of the result
  [[nodiscard]] Result<cuda::Pointer> upload(const std::vector<float>& matrix);

  const KnownProduct& known_;
  std::uint64_t launches_;
  cuda::Pointer a_ = 0, b_ = 0, c_ = 0, expected_ = 0;
  std::uint64_t copies_ = 1;
  std::uint64_t repeats_ = 1;
};

}  // namespace muster::bench::node
