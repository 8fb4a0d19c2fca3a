// SPDX-License-Identifier: Apache-2.0
// A training step of one rank: the products of all layers on one stream of its GPU, and on another
// the all-reduce of each layer's gradients as soon as they are there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/backends/nccl/streamed.hpp"
#include "bench/node/gemm/gemm.hpp"
#include "bench/node/gpus.hpp"
#include "bench/train/transformer.hpp"
#include "lib/base/result.hpp"

namespace muster::bench::train {

enum class Share { products, reductions, both };

class Step {
 public:
  // `reduce`, which lives longer, has an all-reduce of a layer's gradients chosen.
  [[nodiscard]] static Result<std::unique_ptr<Step>> prepare(StreamedOperation& reduce,
                                                             const cublas::Library& cublas,
                                                             const node::GemmKind& kind,
                                                             const Transformer& model,
                                                             std::uint64_t tokens);
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
  ~Step();

  // Runs that share of a step once: the GPU's seconds, from the first product to the end of both.
  // `progress` counts the layers whose gradients are there, and those that all ranks have.
  [[nodiscard]] Result<double> run(Share share, Progress& progress);

  // What is wrong of the last products, a sentence for each kind of product that is.
  [[nodiscard]] Result<std::vector<std::string>> wrong_products();

 private:
  Step(StreamedOperation& reduce, int layers) : reduce_(reduce), layers_(layers) {}

  [[nodiscard]] Result<void> enqueue(Share share);
  void look(Progress& progress) const;

  StreamedOperation& reduce_;
  int layers_;
  std::unique_ptr<node::NodeGpu> gpu_;
  // The products of each shape once; a layer's are the same as the next one's.
  std::vector<std::unique_ptr<node::Gemm>> forward_, backward_;
};

}  // namespace muster::bench::train
