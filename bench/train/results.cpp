// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "bench/train/training_step.hpp"
#include "lib/base/units.hpp"
#include "lib/statistics/statistics.hpp"

namespace muster::bench::train {
namespace {

constexpr double kBytesOfGradient = 2;  // bf16 and fp16

double median_of_slowest(const std::vector<RankSteps>& ranks,
                         std::vector<double> RankSteps::*seconds) {
  std::vector<double> slowest;
  for (const auto& rank : ranks) {
    const auto& own = rank.*seconds;
    slowest.resize(std::max(slowest.size(), own.size()), 0);
    for (std::size_t i = 0; i < own.size(); ++i) slowest[i] = std::max(slowest[i], own[i]);
  }
  return slowest.empty() ? 0 : median_of(std::move(slowest));
}

std::string name_of(const Member& member) {
  return fmt::format("{} {}", member.host, member.device_id);
}

std::vector<Finding> wrong_products(const std::vector<RankSteps>& ranks,
                                    const std::vector<Member>& members) {
  std::vector<Finding> findings;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const auto& sentence : ranks[rank].wrong) {
      findings.push_back({.check = std::string(kTrainCheck),
                          .device = name_of(members[rank]),
                          .outcome = Outcome::fail,
                          .message = sentence,
                          .remedy = Remedy::reseat_or_replace});
    }
  }
  return findings;
}

// All ranks compute the same products, and wait for the slowest one.
std::vector<Finding> slow_ranks(const std::vector<RankSteps>& ranks,
                                const std::vector<Member>& members) {
  constexpr std::size_t kEnough = 4;
  constexpr double kFar = 0.1;
  std::vector<Finding> findings;
  if (ranks.size() < kEnough) return findings;
  std::vector<double> seconds;
  for (const auto& rank : ranks) seconds.push_back(median_of(rank.products));
  const double usual = median_of(seconds);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (seconds[rank] <= (1 + kFar) * usual) continue;
    findings.push_back(
        {.check = std::string(kTrainCheck),
         .device = name_of(members[rank]),
         .outcome = Outcome::warn,
         .message = fmt::format("its products take {:.1f}% longer than those of the others "
                                "({:.4g} s and {:.4g} s): every step waits for them",
                                kPercent * (seconds[rank] / usual - 1), seconds[rank], usual),
         .observed = seconds[rank],
         .unit = "s",
         .remedy = Remedy::watch});
  }
  return findings;
}

double tokens_per_second(const StepTimes& times, const TrainCommand& command, std::size_t ranks) {
  return static_cast<double>(command.tokens * ranks) / times.both;
}

Finding job_finding(const std::vector<RankSteps>& ranks, const TrainCommand& command) {
  const auto times = times_of(ranks);
  const double tokens = tokens_per_second(times, command, ranks.size());
  const double operations = operations_of_step(command.model, command.tokens);
  Finding finding{
      .check = std::string(kTrainCheck),
      .device = "job",
      .outcome = Outcome::unknown,
      .message = fmt::format(
          "{:.4g} steps and {:.0f} tokens per second of a {} model on {} GPUs, {:.0f} TFLOPS on "
          "each; products alone take {:.4g} s, all-reduces alone {:.4g} s, both at once {:.4g} s: "
          "the overlap costs {:.1f}%",
          1 / times.both, tokens, command.model.name, ranks.size(), operations / times.both / kTera,
          times.products, times.reductions, times.both, kPercent * times.loss()),
      .observed = tokens,
      .unit = "tokens/s"};
  if (!command.min_tokens) {
    finding.message += "; not judged: --min-tokens is not set";
    return finding;
  }
  const bool reaches = tokens >= *command.min_tokens;
  finding.outcome = reaches ? Outcome::pass : Outcome::fail;
  finding.limit = *command.min_tokens;
  if (!reaches) finding.remedy = Remedy::report_to_provider;
  return finding;
}

}  // namespace

double StepTimes::loss() const {
  const double longer = std::max(products, reductions);
  return longer <= 0 ? 0 : std::max(0.0, both / longer - 1);
}

StepTimes times_of(const std::vector<RankSteps>& ranks) {
  return {.products = median_of_slowest(ranks, &RankSteps::products),
          .reductions = median_of_slowest(ranks, &RankSteps::reductions),
          .both = median_of_slowest(ranks, &RankSteps::both)};
}

std::vector<Measurement> measurements_of(const StepTimes& times, const TrainCommand& command,
                                         const RunFacts& run) {
  const auto ranks = static_cast<double>(run.ranks);
  const double gradients =
      kBytesOfGradient * static_cast<double>(parameters_of_layer(command.model));
  const double operations = operations_of_step(command.model, command.tokens);
  const MeasurementConditions conditions{
      .collective = "all_reduce",
      .type = command.number == Number::bf16 ? "bf16" : "f16",
      .reduction = "sum",
      .placement = "out_of_place",
      .size_bytes = static_cast<std::int64_t>(gradients),
      .ranks = run.ranks,
      .nodes = run.nodes,
      .backend = run.backend,
      .library = run.library,
      .iterations = command.steps,
  };
  std::vector<Measurement> measurements;
  const auto add_value = [&](std::string quantity, double value, std::string unit) {
    measurements.push_back({.quantity = std::move(quantity),
                            .value = value,
                            .unit = std::move(unit),
                            .conditions = conditions});
  };
  add_value("steps_per_second", 1 / times.both, "1/s");
  add_value("tokens_per_second",
            tokens_per_second(times, command, static_cast<std::size_t>(run.ranks)), "1/s");
  add_value("step_tflops", operations / times.both / kTera, "TFLOPS");
  add_value("products_tflops", operations / times.products / kTera, "TFLOPS");
  const double moved = command.model.layers * gradients * 2 * (ranks - 1) / ranks;
  if (times.reductions > 0) add_value("busbw", moved / times.reductions / kGiga, "GB/s");
  add_value("lost_by_each_other", kPercent * times.loss(), "%");
  return measurements;
}

std::vector<Finding> findings_of(const std::vector<RankSteps>& ranks,
                                 const std::vector<Member>& members, const TrainCommand& command) {
  auto findings = wrong_products(ranks, members);
  for (auto& each : slow_ranks(ranks, members)) findings.push_back(std::move(each));
  findings.push_back(job_finding(ranks, command));
  return findings;
}

}  // namespace muster::bench::train
