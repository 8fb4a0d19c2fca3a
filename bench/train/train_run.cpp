// SPDX-License-Identifier: Apache-2.0
// A run of `muster-bench train_step` over the ranks of a job.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/backends/nccl/nccl.hpp"
#include "bench/node/gemm/gemm.hpp"
#include "bench/node/gpus.hpp"
#include "bench/results/outcomes.hpp"
#include "bench/run/meeting.hpp"
#include "bench/run/operations.hpp"
#include "bench/run/rank_backend.hpp"
#include "bench/run/rank_context.hpp"
#include "bench/run/reporting.hpp"
#include "bench/train/training_step.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"

namespace muster::bench::train {
namespace {

enum class StepShare { products, reductions, both };

// The events on the stream of products, and on the stream of all-reduces.
constexpr std::size_t kBegin = 0;
constexpr std::size_t kEnd = 1;
constexpr std::size_t kFirstLayer = 2;
constexpr std::size_t kReduced = 2;

// A training step of one rank: the products of all layers on one stream of its GPU, and on another
// the all-reduce of each layer's gradients as soon as they are computed.
class TrainStep {
 public:
  // `reduce` has chosen an all-reduce of a layer's gradients, and must outlive this object.
  TrainStep(StreamedOperation& reduce, int layers) : reduce_(reduce), layers_(layers) {}

  [[nodiscard]] Result<void> prepare(const cublas::Library& cublas, const node::GemmKind& kind,
                                     const LayerProducts& shapes) {
    TRY_ASSIGN(gpu_, node::NodeGpu::open(reduce_.cuda(), reduce_.ordinal(), ""));
    for (const auto& [of, made] :
         {std::pair(&shapes.forward, &forward_), std::pair(&shapes.backward, &backward_)}) {
      for (const auto& shape : *of) {
        TRY_ASSIGN(auto gemm, node::Gemm::prepare(*gpu_, cublas, kind, shape));
        made->push_back(std::move(gemm));
      }
    }
    return {};
  }

  // Runs this share of a step once. Returns the GPU's seconds from start to end. `progress` counts
  // the layers whose gradients are computed, and those whose all-reduce is done.
  [[nodiscard]] Result<double> run(StepShare share, Progress& progress) {
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

  // Returns a sentence for each kind of product whose last result is wrong.
  [[nodiscard]] Result<std::vector<std::string>> wrong_products() {
    std::vector<std::string> sentences;
    for (const auto* products : {&forward_, &backward_}) {
      for (const auto& each : *products) {
        TRY_ASSIGN(auto wrong, each->wrong());
        if (wrong) sentences.push_back(*std::move(wrong));
      }
    }
    return sentences;
  }

 private:
  using Products = std::vector<std::unique_ptr<node::Gemm>>;

  [[nodiscard]] static Result<void> start_all(const Products& products) {
    for (const auto& each : products) TRY(each->start());
    return {};
  }

  [[nodiscard]] Result<void> enqueue(StepShare share) {
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
  void update(Progress& progress) const {
    const auto count = [this](std::atomic<std::uint64_t>& layers, const Gpu& gpu,
                              std::size_t first) {
      while (layers < static_cast<std::uint64_t>(layers_) && gpu.has_reached(first + layers)) {
        ++layers;
      }
    };
    count(progress.started, gpu_->gpu(), kFirstLayer);
    count(progress.finished, reduce_.gpu(), kReduced);
  }

  StreamedOperation& reduce_;
  int layers_;
  std::unique_ptr<node::NodeGpu> gpu_;
  Products forward_, backward_;  // one of each shape, since all layers have the same shapes
};

struct TimedShare {
  StepShare share;
  std::string_view title;
  std::vector<double> RankSteps::*seconds;
};

constexpr std::array kShares{
    TimedShare{StepShare::products, "products of a step", &RankSteps::products},
    TimedShare{StepShare::reductions, "all-reduces of a step", &RankSteps::reductions},
    TimedShare{StepShare::both, "training step", &RankSteps::both}};

Operation gradients_of(const TrainCommand& command) {
  constexpr std::uint64_t kWidth = 2;
  return {.collective = Collective::all_reduce,
          .type = command.number == Number::bf16 ? Type::bf16 : Type::f16,
          .bytes = kWidth * parameters_of_layer(command.model)};
}

const node::GemmKind& kind_of(Number number) {
  const std::string_view name = number == Number::bf16 ? "bf16" : "fp16";
  return *std::ranges::find(node::gemm_kinds(), name, &node::GemmKind::name);
}

class TrainRun {
 public:
  TrainRun(const TrainCommand& command, RankContext& self)
      : command_(command), self_(self), group_(*self.membership.group) {}

  // Returns once rank 0 has written the report.
  [[nodiscard]] Result<int> run() {
    if (self_.kind != BackendKind::nccl) {
      return make_error("train_step needs GPUs and NCCL");
    }
    if (self_.leads()) TRY(self_.reporter.can_conclude());
    TRY(prepare());
    TRY(measure());
    return conclude();
  }

 private:
  [[nodiscard]] Clock::duration limit() const { return to_duration(command_.operation_deadline); }

  [[nodiscard]] Result<void> prepare() {
    TRY_ASSIGN(self_.backend, make_whole_backend(self_));
    self_.emergency.watch(self_.backend.get());
    TRY(introduce(self_, *self_.backend));
    self_.enter({"choice of the fastest products", Part::starting},
                limit() + to_duration(command_.join_deadline));
    auto& reduce = *self_.backend->streamed();
    TRY_ASSIGN(const auto cublas, cublas::open_library(command_.cublas, reduce.cuda()));
    TRY(self_.backend->reserve(operation_));
    TRY(reduce.choose(operation_));
    step_ = std::make_unique<TrainStep>(reduce, command_.model.layers);
    return step_->prepare(cublas, kind_of(command_.number),
                          products_of_layer(command_.model, command_.tokens));
  }

  // Takes turns, so that heat affects all of them alike. The first of each warms up.
  [[nodiscard]] Result<void> measure() {
    const auto progress = std::make_shared<Progress>();
    for (int i = 0; i <= command_.steps; ++i) {
      for (const auto& [share, title, seconds] : kShares) {
        progress->reset();
        self_.enter(std::string(title), limit(), counters_of(progress));
        TRY(group_.barrier());
        TRY_ASSIGN(const auto took, step_->run(share, *progress));
        if (i > 0) (steps_.*seconds).push_back(took);
      }
    }
    return {};
  }

  [[nodiscard]] Result<int> conclude() {
    self_.enter("account of the steps", limit());
    TRY_ASSIGN(steps_.received, self_.backend->streamed()->wrong());
    TRY_ASSIGN(steps_.wrong, step_->wrong_products());
    TRY_ASSIGN(const auto ranks, gather(group_, steps_));
    self_.enter("report", limit());
    return broadcast(group_, self_.leads() ? report(ranks) : kExitHealthy);
  }

  [[nodiscard]] int report(const std::vector<RankSteps>& ranks) {
    const auto& record = self_.reporter.record();
    Row row = row_of(operation_, static_cast<int>(ranks.size()));
    auto& wrong = placement_of(row, operation_).emplace().wrong;
    for (const auto& rank : ranks) std::ranges::copy(rank.received, std::back_inserter(wrong));
    auto report = begin_report(record);
    report.benchmark = "train_step";
    report.findings.push_back(completed(static_cast<int>(ranks.size())));
    auto found = judge_data({row}, record.members);
    std::ranges::move(findings_of(ranks, record.members, command_), std::back_inserter(found));
    std::ranges::move(found, std::back_inserter(report.findings));
    report.measurements = measurements_of(times_of(ranks), command_, facts_of(record));
    bench::conclude(report);
    const auto held = self_.emergency.hold();
    self_.emergency.mark_reported();
    self_.reporter.note_verdict(report);
    const auto written = Printer(self_.command, self_.input.console).finish(report);
    if (written) return exit_status(report);
    self_.say(written.error().message);
    return kExitUndecided;
  }

  const TrainCommand& command_;
  RankContext& self_;
  Group& group_;
  Operation operation_ = gradients_of(command_);
  std::unique_ptr<TrainStep> step_;
  RankSteps steps_;
};

}  // namespace

int run(std::span<const char* const> arguments, const RunInput& input) {
  return run_parsed(parse(arguments), input, [&input](const TrainCommand& command) {
    return bench::run(command, input,
                      [&command](RankContext& self) { return TrainRun(command, self).run(); });
  });
}

}  // namespace muster::bench::train
