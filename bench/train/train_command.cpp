// SPDX-License-Identifier: Apache-2.0
#include "bench/train/train_command.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "bench/command/shared_options.hpp"
#include "lib/base/text.hpp"

namespace muster::bench::train {
namespace {

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
