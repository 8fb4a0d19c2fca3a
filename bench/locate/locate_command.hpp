// SPDX-License-Identifier: Apache-2.0
// What the command line of `muster-bench locate` asks for, and its run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "bench/command/bench_command.hpp"
#include "bench/locate/locate.hpp"
#include "bench/locate/model.hpp"
#include "bench/run/bench_run.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/result.hpp"
#include "lib/command/options.hpp"

namespace muster::bench::locate {

// An all-reduce among the ranks of a job, as of any benchmark, but in groups of them, round after
// round.
struct LocateCommand : BenchCommand {
  std::optional<ModelCluster> model;
  Strategy strategy = Strategy::automatic;
  std::string topology;
  std::optional<std::uint64_t> size;  // of the all-reduce
  int per_repeat = 5;                 // operations of which a repeat is the median
  std::optional<BytesPerSecond> floor;
  std::string matrix, csv, exclude;  // files
  std::string node_tests;            // as their option; empty: by the back end
  bool drain = false;

  // The tests of `muster-bench node` that a slow node runs, as its --only takes them; empty for
  // none.
  [[nodiscard]] std::string tests(BackendKind kind) const;
};

// `arguments` without "locate".
[[nodiscard]] Parsed<LocateCommand> parse(std::span<const char* const> arguments);

[[nodiscard]] CommandText command_text();

// One run, from these arguments to the exit status.
[[nodiscard]] int run(std::span<const char* const> arguments, const RunInput& input);

// "nodes=64,leaf=16,noise=3%,fault=slow_hca:7:3:0.48": what is not named is as in `defaults`.
[[nodiscard]] Result<ModelCluster> parse_model(std::string_view text, ModelCluster defaults);

}  // namespace muster::bench::locate
