// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "bench/command/shared_options.hpp"
#include "bench/train/training_step.hpp"
#include "lib/base/text.hpp"
#include "lib/base/units.hpp"
#include "lib/command/options.hpp"
#include "lib/report/finding.hpp"
#include "lib/statistics/statistics.hpp"

namespace muster::bench::train {
namespace {

constexpr std::uint64_t kStep = 64;  // required by some number types
constexpr std::uint64_t kMaxWidth = 1U << 20U;

Result<std::uint64_t> number_in(std::string_view text, std::uint64_t step, std::uint64_t most) {
  const auto number = parse_unsigned(text);
  if (number && *number > 0 && *number <= most && *number % step == 0) return *number;
  return make_error("invalid size \"{}\", expected a {} up to {}", printable(text, 40),
                    step == 1 ? "number of layers" : fmt::format("multiple of {}", step), most);
}

using C = TrainCommand;
using Text = std::string_view;

Result<void> take_model(Transformer& target, Text value) {
  return put(target, parse_transformer(value));
}

Result<void> take_tokens(std::uint64_t& target, Text value) {
  return put(target, number_in(value, kStep, kMaxWidth));
}

Result<void> take_rate_of_tokens(std::optional<double>& target, Text value) {
  const auto number = parse_number(value);
  if (!number || *number <= 0) return make_error("expects a number above zero");
  target = *number;
  return {};
}

constexpr std::array kOptions{
    option<&C::model, take_model>(
        "--model", "NAME|LxHxF",
        "the model: 7b, 8b, 13b, 70b, or LAYERSxHIDDENxFEED_FORWARD (default 7b)"),
    option<&C::tokens, take_tokens>(
        "--tokens", "N", "tokens of each GPU in a step, a multiple of 64 (default 4096)"),
    option<&C::steps, AtLeast<1>{}>("--steps", "N", "timed steps (default 10)"),
    option<&C::number>("--number", "bf16|fp16", "type of products and gradients (default bf16)"),
    option<&C::min_tokens, take_rate_of_tokens>(
        "--min-tokens", "N", "fail below this number of tokens per second of the whole job"),
    option<&C::cublas>("--cublas", "FILE", "load this instead of libcublasLt.so"),
};

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

// All ranks compute the same products, and wait for the slowest one.
void add_slow_ranks(const std::vector<RankSteps>& ranks, const std::vector<Member>& members,
                    std::vector<Finding>& findings) {
  constexpr std::size_t kEnough = 4;
  constexpr double kFar = 0.1;
  if (ranks.size() < kEnough) return;
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

// The Llama family.
std::span<const Transformer> transformers() {
  static const std::array<Transformer, 4> all{
      Transformer{"7b", 32, 4096, 4096, 11008},
      Transformer{"8b", 32, 4096, 1024, 14336},
      Transformer{"13b", 40, 5120, 5120, 13824},
      Transformer{"70b", 80, 8192, 1024, 28672},
  };
  return all;
}

Result<Transformer> parse_transformer(std::string_view text) {
  constexpr std::uint64_t kMaxLayers = 1000;
  const auto known = transformers();
  const auto found = std::ranges::find(known, text, &Transformer::name);
  if (found != known.end()) return *found;
  const auto words = split(text, 'x');
  if (words.size() != 3) {
    std::vector<std::string> names;
    for (const auto& each : known) names.push_back(each.name);
    return make_error(
        "unknown model \"{}\"{}; there are {}, or "
        "LAYERSxHIDDENxFEED_FORWARD as 32x4096x11008",
        printable(text, 40), suggestion(text, names), fmt::join(names, ", "));
  }
  TRY_ASSIGN(const auto layers, number_in(words[0], 1, kMaxLayers));
  TRY_ASSIGN(const auto hidden, number_in(words[1], kStep, kMaxWidth));
  TRY_ASSIGN(const auto feed_forward, number_in(words[2], kStep, kMaxWidth));
  return Transformer{std::string(text), static_cast<int>(layers), hidden, hidden, feed_forward};
}

LayerProducts products_of_layer(const Transformer& model, std::uint64_t tokens) {
  const auto h = model.hidden;
  LayerProducts products;
  products.forward = {{tokens, h + 2 * model.key_value, h},  // queries, keys and values
                      {tokens, h, h},                        // the output of attention
                      {tokens, 2 * model.feed_forward, h},   // gate and up
                      {tokens, h, model.feed_forward}};      // down
  for (auto each = products.forward.rbegin(); each != products.forward.rend(); ++each) {
    products.backward.push_back({tokens, each->depth, each->columns});
    products.backward.push_back({each->depth, each->columns, tokens});
  }
  return products;
}

std::uint64_t parameters_of_layer(const Transformer& model) {
  std::uint64_t sum = 0;
  for (const auto& each : products_of_layer(model, 1).forward) sum += each.columns * each.depth;
  return sum;
}

double operations_of_step(const Transformer& model, std::uint64_t tokens) {
  const auto layer = products_of_layer(model, tokens);
  double sum = 0;
  for (const auto& each : layer.forward) sum += each.operations();
  for (const auto& each : layer.backward) sum += each.operations();
  return model.layers * sum;
}

CommandText command_text() {
  return subcommand_text<TrainCommand>(
      "train_step",
      "Times a training step: the matrix products of a transformer's layers, overlapped with the "
      "all-reduce of their gradients over NCCL",
      kOptions,
      "  muster-bench train_step                  on the GPUs of this node\n"
      "  srun muster-bench train_step --model 70b --min-tokens 250000\n"
      "  muster-bench train_step --local 8 --steps 100 --format json --output step.json\n");
}

Parsed<TrainCommand> parse(std::span<const char* const> arguments) {
  return parse_subcommand<TrainCommand>(
      arguments, command_text(), kOptions, [](const TrainCommand& command) -> Result<void> {
        const bool other =
            command.backend != BackendKind::automatic && command.backend != BackendKind::nccl;
        TRY(refuse_any({{command.verbose && command.quiet, "-v and -q exclude each other"},
                        {other, "train_step requires --backend nccl"}}));
        return place_fits(command);
      });
}

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
  std::vector<Finding> findings;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const auto& sentence : ranks[rank].wrong) {
      findings.push_back(make_finding(kTrainCheck, name_of(members[rank]), Outcome::fail,
                                      printable(sentence), Remedy::reseat_or_replace));
    }
  }
  add_slow_ranks(ranks, members, findings);
  findings.push_back(job_finding(ranks, command));
  return findings;
}

}  // namespace muster::bench::train
