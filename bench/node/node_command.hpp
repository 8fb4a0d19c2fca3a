// SPDX-License-Identifier: Apache-2.0
// The command line of `muster-bench node`, and its run.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/node/test.hpp"
#include "bench/run/bench_run.hpp"
#include "lib/base/quantity.hpp"
#include "lib/command/options.hpp"
#include "lib/report/format.hpp"

namespace muster::bench::node {

struct NodeCommand {
  Level level = Level::quick;
  std::vector<std::string> only, skip;  // globs
  std::optional<Seconds> budget;        // default: of the level
  std::optional<Bytes> size;            // of each buffer; default: of the test
  bool even_if_busy = false;

  std::string profile;
  std::vector<std::string> settings;

  Format format = Format::text;
  std::string output;
  std::string cuda, nvml, nccl, verbs, cublas;
  bool verbose = false, quiet = false;
};

// `arguments` without "node".
[[nodiscard]] Parsed<NodeCommand> parse(std::span<const char* const> arguments);

[[nodiscard]] CommandText command_text();

// Runs the command, and returns the exit status.
[[nodiscard]] int run(std::span<const char* const> arguments, const RunInput& input);

// Returns the tests to run, in the order of the table. A named test runs at any level.
[[nodiscard]] std::vector<const NodeTest*> selected_tests(const NodeCommand& command);

[[nodiscard]] std::chrono::duration<double> budget_of(const NodeCommand& command);

}  // namespace muster::bench::node
