// SPDX-License-Identifier: Apache-2.0
#include "bench/train/step.hpp"

#include <atomic>
#include <utility>

namespace muster::bench::train {
namespace {

// The events on the stream of products, and on the stream of all-reduces.
constexpr std::size_t kBegin = 0;
constexpr std::size_t kEnd = 1;
constexpr std::size_t kFirstLayer = 2;
constexpr std::size_t kReduced = 2;

Result<void> start_all(const std::vector<std::unique_ptr<node::Gemm>>& products) {
  for (const auto& each : products) TRY(each->start());
  return {};
}

}  // namespace

Result<std::unique_ptr<TrainStep>> TrainStep::prepare(StreamedOperation& reduce,
                                                      const cublas::Library& cublas,
                                                      const node::GemmKind& kind,
                                                      const Transformer& model,
                                                      std::uint64_t tokens) {
  // NOLINTNEXTLINE(modernize-make-unique): private
  std::unique_ptr<TrainStep> step(new TrainStep(reduce, model.layers));
  TRY_ASSIGN(step->gpu_, node::NodeGpu::open(reduce.cuda(), reduce.ordinal(), ""));
  const auto shapes = products_of_layer(model, tokens);
  for (const auto& [of, made] : {std::pair(&shapes.forward, &step->forward_),
                                 std::pair(&shapes.backward, &step->backward_)}) {
    for (const auto& shape : *of) {
      TRY_ASSIGN(auto gemm, node::Gemm::prepare(*step->gpu_, cublas, kind, shape));
      made->push_back(std::move(gemm));
    }
  }
  return step;
}

// The GPU is released last.
TrainStep::~TrainStep() {
  forward_.clear();
  backward_.clear();
}

Result<void> TrainStep::enqueue(StepShare share) {
  auto& work = gpu_->gpu();
  auto& reductions = reduce_.gpu();
  TRY(work.mark(kBegin));
  TRY(reductions.wait_for(work, kBegin));
  for (int layer = 0; layer < layers_ && share != StepShare::reductions; ++layer) {
    TRY(start_all(forward_));
  }
  for (int layer = 0; layer < layers_; ++layer) {
    if (share != StepShare::reductions) TRY(start_all(backward_));
    if (share == StepShare::products) continue;
    const auto gradients = kFirstLayer + static_cast<std::size_t>(layer);
    TRY(work.mark(gradients));
    TRY(reductions.wait_for(work, gradients));
    TRY(reduce_.start());
    const auto last = kReduced + static_cast<std::size_t>(layer);
    TRY(reductions.mark(last));
    if (layer + 1 == layers_) TRY(work.wait_for(reductions, last));
  }
  return work.mark(kEnd);
}

// If a product hangs, its rank has computed fewer gradients than the ranks that wait for it.
void TrainStep::update(Progress& progress) const {
  const auto count = [this](std::atomic<std::uint64_t>& layers, const Gpu& gpu, std::size_t first) {
    while (layers < static_cast<std::uint64_t>(layers_) && gpu.has_reached(first + layers)) {
      ++layers;
    }
  };
  count(progress.started, gpu_->gpu(), kFirstLayer);
  count(progress.finished, reduce_.gpu(), kReduced);
}

Result<double> TrainStep::run(StepShare share, Progress& progress) {
  auto& work = gpu_->gpu();
  progress.reset();
  TRY(work.use());
  TRY(enqueue(share));
  TRY(work.wait([&] {
    if (share != StepShare::products) update(progress);
    return reduce_.healthy();
  }));
  return work.seconds_between(kBegin, kEnd);
}

Result<std::vector<std::string>> TrainStep::wrong_products() {
  std::vector<std::string> sentences;
  for (const auto* products : {&forward_, &backward_}) {
    for (const auto& each : *products) {
      TRY_ASSIGN(auto wrong, each->wrong());
      if (wrong) sentences.push_back(*std::move(wrong));
    }
  }
  return sentences;
}

}  // namespace muster::bench::train
