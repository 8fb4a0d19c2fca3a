// SPDX-License-Identifier: Apache-2.0
// What the command line of `muster-bench node` asks for, and its run.
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
  std::optional<Seconds> budget;        // as the level has it where it is not set
  std::optional<Bytes> size;            // of each buffer, in place of what a test wants
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

// One run, from these arguments to the exit status.
[[nodiscard]] int run(std::span<const char* const> arguments, const RunInput& input);

// The tests to run, in the order of the table. A test that is named runs at whatever level.
[[nodiscard]] std::vector<const NodeTest*> selected_tests(const NodeCommand& command);

[[nodiscard]] std::chrono::duration<double> budget_of(const NodeCommand& command);

}  // namespace muster::bench::node
