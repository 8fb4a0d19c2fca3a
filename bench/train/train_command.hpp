// SPDX-License-Identifier: Apache-2.0
// The command line of `muster-bench train_step`, and its run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "bench/command/bench_command.hpp"
#include "bench/run/bench_run.hpp"
#include "bench/train/transformer.hpp"
#include "lib/command/options.hpp"

namespace muster::bench::train {

enum class Number { bf16, fp16 };

struct TrainCommand : BenchCommand {
  Transformer model = transformers().front();
  std::uint64_t tokens = 4096;       // of each GPU in a step
  int steps = 10;                    // timed
  Number number = Number::bf16;      // of products and gradients
  std::optional<double> min_tokens;  // per second of the whole job
  std::string cublas;                // a library that replaces the system's
};

// `arguments` without "train_step".
[[nodiscard]] Parsed<TrainCommand> parse(std::span<const char* const> arguments);

[[nodiscard]] CommandText command_text();

// Runs the command, and returns the exit status.
[[nodiscard]] int run(std::span<const char* const> arguments, const RunInput& input);

}  // namespace muster::bench::train
