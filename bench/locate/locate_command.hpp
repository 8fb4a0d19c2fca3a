// SPDX-License-Identifier: Apache-2.0
// The command line of `muster-bench locate`, and its run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "bench/command/bench_command.hpp"
#include "bench/locate/locate.hpp"
#include "bench/run/bench_run.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/result.hpp"
#include "lib/command/options.hpp"

namespace muster::bench::locate {

// All-reduces among the ranks of a job, in groups of them, round after round.
struct LocateCommand : BenchCommand {
  std::string cluster;  // the value of --sim
  Strategy strategy = Strategy::automatic;
  std::string topology;
  std::optional<std::uint64_t> size;  // of the all-reduce
  std::optional<int> per_repeat;      // a repeat is the median of this many operations
  std::optional<BytesPerSecond> floor;
  std::string matrix, csv, exclude;  // files
  std::string node_tests;            // the value of --node-tests; empty depends on the back end

  // The tests of `muster-bench node` for slow nodes, as its --only takes them; empty for none.
  [[nodiscard]] std::string tests(BackendKind kind) const;
};

// `arguments` without "locate".
[[nodiscard]] Parsed<LocateCommand> parse(std::span<const char* const> arguments);

[[nodiscard]] CommandText command_text();

// Parses the arguments, runs the search, and returns the exit status.
[[nodiscard]] int run(std::span<const char* const> arguments, const RunInput& input);

}  // namespace muster::bench::locate
