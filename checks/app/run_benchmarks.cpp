// SPDX-License-Identifier: Apache-2.0
#include "checks/app/run_benchmarks.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "checks/nhc_conf/judging.hpp"
#include "lib/base/clock.hpp"
#include "lib/process/program.hpp"
#include "lib/process/startup.hpp"

namespace muster::app {
namespace {

constexpr std::size_t kMostOutput = 4UL * 1024 * 1024;

class Runner {
 public:
  Runner(const Bench& bench, Deadline& deadline)
      : bench_(bench),
        deadline_(deadline),
        left_(std::max<Clock::duration>(deadline.when() - Clock::now(), std::chrono::seconds(1))) {}

  [[nodiscard]] Findings run(const nhc::Benchmark& benchmark) {
    const auto& file = benchmark.topology_file;
    // NCCL would go on without it, and be slower.
    if (!file.empty() && ::access(file.c_str(), R_OK) != 0) {
      return {nhc::not_judged(fmt::format("the topology file {} cannot be read", file))};
    }
    Findings findings;
    for (int attempt = 0; attempt < benchmark.attempts; ++attempt) {
      findings = run_once(benchmark);
      const bool failed = std::ranges::any_of(
          findings, [](const Finding& finding) { return finding.outcome == Outcome::fail; });
      if (!failed) break;
    }
    return findings;
  }

 private:
  [[nodiscard]] Findings run_once(const nhc::Benchmark& benchmark) {
    auto arguments = benchmark.words;
    if (!benchmark.own_profile) {
      arguments.insert(arguments.end(), bench_.arguments.begin(), bench_.arguments.end());
    }
    auto environment = benchmark.environment;
    environment.insert(bench_.environment.begin(), bench_.environment.end());
    const auto until = Clock::now() + bench_.longest;
    deadline_.move(until + left_);
    auto ended = run_program({.program = bench_.program,
                              .arguments = std::move(arguments),
                              .environment = std::move(environment),
                              .deadline = until,
                              .most_output = kMostOutput});
    deadline_.move(Clock::now() + left_);
    if (!ended) return {nhc::not_judged(ended.error().message)};
    return nhc::findings_of(
        {.status = ended->status, .out = std::move(ended->out), .err = std::move(ended->err)},
        benchmark);
  }

  const Bench& bench_;
  Deadline& deadline_;
  Clock::duration left_;  // for what comes after the benchmarks
};

}  // namespace

Bench bench_for(const CheckCommand& command, const Caller& caller) {
  Bench bench{.program = caller.bench.empty() ? companion("muster-bench") : caller.bench,
              .arguments = {},
              .environment = caller.variables};
  if (!command.profile.empty()) {
    bench.arguments.push_back(fmt::format("--profile={}", command.profile));
  }
  for (const auto& setting : command.settings) {
    bench.arguments.push_back(fmt::format("--set={}", setting));
  }
  if (command.deadline) bench.longest = std::max(bench.longest, to_duration(*command.deadline));
  return bench;
}

nhc::Measured run_benchmarks(const nhc::Config& config,
                             const Snapshot& snapshot,
                             const Bench& bench,
                             Deadline& deadline) {
  Runner runner(bench, deadline);
  nhc::Measured measured;
  for (const auto& [number, benchmark] : nhc::benchmarks_on(config, snapshot)) {
    measured[number] =
        benchmark ? runner.run(*benchmark) : Findings{nhc::not_judged(benchmark.error().message)};
  }
  return measured;
}

}  // namespace muster::app
