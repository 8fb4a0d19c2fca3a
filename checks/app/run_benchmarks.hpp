// SPDX-License-Identifier: Apache-2.0
// Runs muster-bench for hooks and for lines of an NHC configuration.
#pragma once

#include <chrono>

#include "checks/app/commands.hpp"
#include "checks/nhc_conf/judge.hpp"
#include "lib/process/program.hpp"

namespace muster::app {

// How to run muster-bench.
struct Bench {
  std::filesystem::path program;
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;
  Clock::duration longest = std::chrono::minutes(5);  // for one run
  std::size_t most_output = 4UL * 1024 * 1024;        // bytes
};

// Returns how to run it with the profile and the settings of `command`. A deadline above five
// minutes applies to each benchmark.
[[nodiscard]] Bench bench_for(const CheckCommand& command, const Caller& caller);

// Runs it with `words` before `bench.arguments`.
[[nodiscard]] Result<Ended> run_bench(const Bench& bench, std::vector<std::string> words,
                                      const TimeLimit& limit);

// Runs the benchmarks one after another, and extends `deadline` by the time that they take. A
// benchmark that cannot run, hangs or prints no report is unknown.
[[nodiscard]] nhc::Measured run_benchmarks(const nhc::Config& config, const Snapshot& snapshot,
                                           const Bench& bench, Deadline& deadline);

// Runs `muster-bench node --only=TESTS` within `budget` and adds its findings to the report.
// Does nothing on an unhealthy node, or while a process uses the GPUs. Returns how long it took.
Clock::duration add_node_tests(Report& report, const Snapshot& snapshot, const std::string& tests,
                               Clock::duration budget, const Bench& bench);

}  // namespace muster::app
