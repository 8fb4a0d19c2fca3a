// SPDX-License-Identifier: Apache-2.0
#include "bench/train/step.hpp"

#include <atomic>
#include <utility>

namespace muster::bench::train {
namespace {

// Events of the stream of products, and of that of the all-reduces.
constexpr std::size_t kBegin = 0;
constexpr std::size_t kEnd = 1;
constexpr std::size_t kFirstLayer = 2;
constexpr std::size_t kReduced = 2;

Result<void> start_all(const std::vector<std::unique_ptr<node::Gemm>>& products) {
  for (const auto& each : products) {
    if (auto started = each->start(); !started) return started;
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Step>> Step::prepare(StreamedOperation& reduce,
                                            const cublas::Library& cublas,
                                            const node::GemmKind& kind, const Transformer& model,
                                            std::uint64_t tokens) {
  // NOLINTNEXTLINE(modernize-make-unique): private
  std::unique_ptr<Step> step(new Step(reduce, model.layers));
  TRY(put(step->gpu_, node::NodeGpu::open(reduce.cuda(), reduce.ordinal(), "")));
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

// The GPU's memory is given back last.
Step::~Step() {
  forward_.clear();
  backward_.clear();
}

Result<void> Step::enqueue(Share share) {
  auto& work = gpu_->gpu();
  auto& reductions = reduce_.gpu();
  auto done = work.mark(kBegin);
  if (done) done = reductions.wait_for(work, kBegin);
  for (int layer = 0; layer < layers_ && done && share != Share::reductions; ++layer) {
    done = start_all(forward_);
  }
  for (int layer = 0; layer < layers_ && done; ++layer) {
    if (share != Share::reductions) done = start_all(backward_);
    if (!done || share == Share::products) continue;
    const auto gradients = kFirstLayer + static_cast<std::size_t>(layer);
    done = work.mark(gradients);
    if (done) done = reductions.wait_for(work, gradients);
    if (done) done = reduce_.start();
    const auto last = kReduced + static_cast<std::size_t>(layer);
    if (done) done = reductions.mark(last);
    if (done && layer + 1 == layers_) done = work.wait_for(reductions, last);
  }
  return done ? work.mark(kEnd) : done;
}

// A rank of which a product hangs has fewer gradients than those that wait for it.
void Step::look(Progress& progress) const {
  const auto count = [this](std::atomic<std::uint64_t>& layers, const Gpu& gpu, std::size_t first) {
    while (layers < static_cast<std::uint64_t>(layers_) && gpu.has_reached(first + layers)) {
      ++layers;
    }
  };
  count(progress.started, gpu_->gpu(), kFirstLayer);
  count(progress.finished, reduce_.gpu(), kReduced);
}

Result<double> Step::run(Share share, Progress& progress) {
  auto& work = gpu_->gpu();
  progress.reset();
  auto done = work.use();
  if (done) done = enqueue(share);
  if (done) {
    done = work.wait([&] {
      if (share != Share::products) look(progress);
      return reduce_.healthy();
    });
  }
  if (!done) return tl::unexpected(done.error());
  return work.seconds_between(kBegin, kEnd);
}

Result<std::vector<std::string>> Step::wrong_products() {
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
