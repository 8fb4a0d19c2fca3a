// SPDX-License-Identifier: Apache-2.0
// A training step of one rank: the products of all layers on one stream of its GPU, and on another
// the all-reduce of each layer's gradients as soon as they are computed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/backends/nccl/nccl.hpp"
#include "bench/node/gemm/gemm.hpp"
#include "bench/node/gpus.hpp"
#include "bench/train/transformer.hpp"
#include "lib/base/result.hpp"

namespace muster::bench::train {

enum class StepShare { products, reductions, both };

class TrainStep {
 public:
  // `reduce` has chosen an all-reduce of a layer's gradients, and must outlive this object.
  [[nodiscard]] static Result<std::unique_ptr<TrainStep>> prepare(StreamedOperation& reduce,
                                                                  const cublas::Library& cublas,
                                                                  const node::GemmKind& kind,
                                                                  const Transformer& model,
                                                                  std::uint64_t tokens);
  TrainStep(const TrainStep&) = delete;
  TrainStep& operator=(const TrainStep&) = delete;
  ~TrainStep();

  // Runs this share of a step once. Returns the GPU's seconds from start to end. `progress` counts
  // the layers whose gradients are computed, and those whose all-reduce is done.
  [[nodiscard]] Result<double> run(StepShare share, Progress& progress);

  // Returns a sentence for each kind of product whose last result is wrong.
  [[nodiscard]] Result<std::vector<std::string>> wrong_products();

 private:
  TrainStep(StreamedOperation& reduce, int layers) : reduce_(reduce), layers_(layers) {}
  [[nodiscard]] Result<void> enqueue(StepShare share);
  void update(Progress& progress) const;

  StreamedOperation& reduce_;
  int layers_;
  std::unique_ptr<node::NodeGpu> gpu_;
  // One of each shape, since all layers have the same shapes.
  std::vector<std::unique_ptr<node::Gemm>> forward_, backward_;
};

}  // namespace muster::bench::train
