// SPDX-License-Identifier: Apache-2.0
// `muster-bench train_step`: the model, the command line, the run and its results.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/command/bench_command.hpp"
#include "bench/node/gemm/gemm.hpp"
#include "bench/results/row.hpp"
#include "bench/run/bench_run.hpp"
#include "lib/base/fields.hpp"
#include "lib/base/result.hpp"
#include "lib/command/options.hpp"
#include "lib/report/finding.hpp"
#include "lib/report/report.hpp"

namespace muster::bench::train {

struct Transformer {
  std::string name;  // "7b", "32x4096x11008"
  int layers = 0;
  std::uint64_t hidden = 0;
  std::uint64_t key_value = 0;  // the width of keys, and of values
  std::uint64_t feed_forward = 0;

  bool operator==(const Transformer&) const = default;
};

// The named transformers.
[[nodiscard]] std::span<const Transformer> transformers();

// Parses a name, or LAYERSxHIDDENxFEED_FORWARD.
[[nodiscard]] Result<Transformer> parse_transformer(std::string_view text);

// The products of one layer, without those of attention scores, which depend on the length of
// sequences.
struct LayerProducts {
  std::vector<node::GemmShape> forward;
  std::vector<node::GemmShape> backward;  // of the inputs and of the weights
};

[[nodiscard]] LayerProducts products_of_layer(const Transformer& model, std::uint64_t tokens);

[[nodiscard]] std::uint64_t parameters_of_layer(const Transformer& model);

// The arithmetic operations of a step: all layers, forward and backward.
[[nodiscard]] double operations_of_step(const Transformer& model, std::uint64_t tokens);

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

inline constexpr std::string_view kTrainCheck = "bench.train_step";

// The steps of one rank.
struct RankSteps {
  MUSTER_DESCRIBED(RankSteps);
  MUSTER_REQUIRED(std::vector<double>, products, "seconds of each step"){};
  MUSTER_REQUIRED(std::vector<double>, reductions, ""){};
  MUSTER_REQUIRED(std::vector<double>, both, ""){};
  MUSTER_REQUIRED(std::vector<std::string>, wrong, "sentences about wrong products"){};
  MUSTER_REQUIRED(std::vector<Wrong>, received, "wrong elements of the last all-reduce"){};
};

// Medians over steps of the slowest rank, in seconds.
struct StepTimes {
  double products = 0, reductions = 0, both = 0;

  // The cost of overlapping products and all-reduces, as a share of the longer of the two.
  [[nodiscard]] double loss() const;
};

[[nodiscard]] StepTimes times_of(const std::vector<RankSteps>& ranks);

[[nodiscard]] std::vector<Measurement> measurements_of(const StepTimes& times,
                                                       const TrainCommand& command,
                                                       const RunFacts& run);

// Returns the job's finding, and those of ranks with wrong products, or among four and more, with
// products 10% slower than the others'.
[[nodiscard]] std::vector<Finding> findings_of(const std::vector<RankSteps>& ranks,
                                               const std::vector<Member>& members,
                                               const TrainCommand& command);

}  // namespace muster::bench::train
