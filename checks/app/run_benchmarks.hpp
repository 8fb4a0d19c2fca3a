// SPDX-License-Identifier: Apache-2.0
// The benchmarks that lines of NHC's configuration and a site's hooks ask for.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "checks/app/commands.hpp"
#include "checks/nhc_conf/benchmark.hpp"
#include "lib/process/program.hpp"

namespace muster::app {

// How muster-bench is run, whatever a line asks of it.
struct Bench {
  std::filesystem::path program;
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;
  Clock::duration longest = std::chrono::minutes(5);  // for one run
  std::size_t most_output = 4UL * 1024 * 1024;        // bytes
};

// How to run it with the profile and the settings that `command` names. A deadline above five
// minutes holds for each benchmark, too.
[[nodiscard]] Bench bench_for(const CheckCommand& command, const Caller& caller);

// Runs it with these words before its own.
[[nodiscard]] Result<Ended> run_bench(const Bench& bench, std::vector<std::string> words,
                                      const TimeLimit& limit);

// One after the other. Their time is their own: `deadline` is put off by as long as they take. What
// cannot be run, hangs or makes no sense is unknown, with the reason.
[[nodiscard]] nhc::Measured run_benchmarks(const nhc::Config& config, const Snapshot& snapshot,
                                           const Bench& bench, Deadline& deadline);

// Adds to the report what `muster-bench node` finds with these tests, as its --only has them,
// within this time. They are not run on a node that is unhealthy already, or on whose GPUs somebody
// works. Returns how long they took.
Clock::duration add_node_tests(Report& report, const Snapshot& snapshot, const std::string& tests,
                               Clock::duration budget, const Bench& bench);

}  // namespace muster::app
