// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "bench/command/shared_options.hpp"
#include "bench/train/training_step.hpp"
#include "lib/base/text.hpp"
#include "lib/command/options.hpp"

namespace muster::bench::train {
namespace {

constexpr std::uint64_t kStep = 64;  // required by some number types

Result<std::uint64_t> number_in(std::string_view text, std::uint64_t step, std::uint64_t most) {
  const auto number = parse_unsigned(text);
  if (number && *number > 0 && *number <= most && *number % step == 0) return *number;
  return make_error(
      fmt::format("invalid size \"{}\", expected a {} up to {}", printable(text, 40),
                  step == 1 ? "number of layers" : fmt::format("multiple of {}", step), most));
}

using C = TrainCommand;
using Text = std::string_view;

Result<void> take_model(Transformer& target, Text value) {
  return put(target, parse_transformer(value));
}

Result<void> take_tokens(std::uint64_t& target, Text value) {
  constexpr std::uint64_t kStep = 64;
  constexpr std::uint64_t kMost = 1U << 20U;
  const auto number = parse_unsigned(value);
  if (!number || *number == 0 || *number > kMost || *number % kStep != 0) {
    return make_error(fmt::format("expects a multiple of {} up to {}", kStep, kMost));
  }
  target = *number;
  return {};
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
    option<&C::cublas>("--cublas", "FILE", "in place of libcublasLt.so"),
};

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
  constexpr std::uint64_t kMostLayers = 1000;
  constexpr std::uint64_t kMostWide = 1U << 20U;
  const auto known = transformers();
  const auto found = std::ranges::find(known, text, &Transformer::name);
  if (found != known.end()) return *found;
  const auto words = split(text, 'x');
  if (words.size() != 3) {
    std::vector<std::string> names;
    for (const auto& each : known) names.push_back(each.name);
    return make_error(
        fmt::format("unknown model \"{}\"{}; there are {}, or "
                    "LAYERSxHIDDENxFEED_FORWARD as 32x4096x11008",
                    printable(text, 40), suggestion(text, names), fmt::join(names, ", ")));
  }
  TRY_ASSIGN(const auto layers, number_in(words[0], 1, kMostLayers));
  TRY_ASSIGN(const auto hidden, number_in(words[1], kStep, kMostWide));
  TRY_ASSIGN(const auto feed_forward, number_in(words[2], kStep, kMostWide));
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
      kOptions);
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

}  // namespace muster::bench::train
