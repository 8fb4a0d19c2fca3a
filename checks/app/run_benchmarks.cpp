// SPDX-License-Identifier: Apache-2.0
#include "checks/app/run_benchmarks.hpp"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "checks/nhc_conf/table.hpp"
#include "lib/process/program.hpp"
#include "lib/process/startup.hpp"
#include "lib/report/summary.hpp"

namespace muster::app {
namespace {

// `left`: the time for the work after the benchmarks.
Findings run_benchmark(const nhc::Benchmark& benchmark, const Bench& usual, Deadline& deadline,
                       Clock::duration left) {
  const auto& file = benchmark.topology_file;
  // Without it NCCL would run, and be slower.
  if (!file.empty() && ::access(file.c_str(), R_OK) != 0) {
    return {nhc::not_judged(fmt::format("cannot read the topology file {}", file))};
  }
  Bench bench = usual;
  if (benchmark.own_profile) bench.arguments.clear();
  bench.environment = benchmark.environment;
  bench.environment.insert(usual.environment.begin(), usual.environment.end());
  Findings findings;
  for (int attempt = 0; attempt < benchmark.attempts; ++attempt) {
    const TimeLimit limit(bench.longest);
    deadline.move(limit.deadline() + left);
    const auto ended = run_bench(bench, benchmark.words, limit);
    deadline.move(Clock::now() + left);
    findings = ended ? nhc::findings_of({ended->status, ended->out, ended->err}, benchmark)
                     : Findings{nhc::not_judged(ended.error().message)};
    if (std::ranges::count(findings, Outcome::fail, &Finding::outcome) == 0) break;
  }
  return findings;
}

constexpr std::string_view kNoTests = "bench.completion";

Finding of_no_test(Outcome outcome, std::string message) {
  return {.check = std::string(kNoTests),
          .device = "node",
          .outcome = outcome,
          .message = std::move(message)};
}

// "python (4242) uses gpu3"; empty if no process does.
std::string work_on_gpus(const Snapshot& snapshot) {
  for (const auto& gpu : snapshot.nvml->gpus) {
    if (!gpu.processes || gpu.processes->empty()) continue;
    const auto& process = gpu.processes->front();
    return fmt::format("{} ({}) uses gpu{}", printable(process.name, 40), process.pid, gpu.index);
  }
  return {};
}

std::vector<std::string> ids_of(const Report& report) {
  std::vector<std::string> ids;
  for (const auto& check : report.checks) ids.push_back(check.id);
  return ids;
}

// The added checks count if they are unknown, as the undecided ones do.
void add_findings(Report& report, std::vector<Finding> findings,
                  const std::vector<std::string>& checks) {
  auto ids = ids_of(report);
  ids.insert(ids.end(), checks.begin(), checks.end());
  auto counting = report.undecided;
  counting.insert(counting.end(), checks.begin(), checks.end());
  std::ranges::move(findings, std::back_inserter(report.findings));
  conclude(report, ids, counting);
}

}  // namespace

Bench bench_for(const CheckCommand& command, const Caller& caller) {
  Bench bench{.program = caller.bench.empty() ? sibling_program("muster-bench") : caller.bench,
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

Result<Ended> run_bench(const Bench& bench, std::vector<std::string> words,
                        const TimeLimit& limit) {
  words.insert(words.end(), bench.arguments.begin(), bench.arguments.end());
  return run_program({.program = bench.program,
                      .arguments = std::move(words),
                      .environment = bench.environment,
                      .limit = limit,
                      .most_output = bench.most_output});
}

nhc::Measured run_benchmarks(const nhc::Config& config, const Snapshot& snapshot,
                             const Bench& bench, Deadline& deadline) {
  const auto left =
      std::max<Clock::duration>(deadline.when() - Clock::now(), std::chrono::seconds(1));
  nhc::Measured measured;
  for (const auto& [number, benchmark] : nhc::benchmarks_on(config, snapshot)) {
    measured[number] = benchmark ? run_benchmark(*benchmark, bench, deadline, left)
                                 : Findings{nhc::not_judged(benchmark.error().message)};
  }
  return measured;
}

Clock::duration add_node_tests(Report& report, const Snapshot& snapshot, const std::string& tests,
                               Clock::duration budget, const Bench& bench) {
  const TimeLimit limit(budget);
  if (report.verdict == Verdict::unhealthy) return {};
  if (const auto work = work_on_gpus(snapshot); !work.empty()) {
    add_findings(
        report,
        {of_no_test(Outcome::skip, fmt::format("the tests of the node do not run: {}", work))},
        {std::string(kNoTests)});
    return {};
  }
  // Leaves a second for starting and ending.
  const auto own = std::chrono::duration<double>(budget).count() - 1;
  const auto ended =
      run_bench(bench,
                {"node", "--level=quick", fmt::format("--only={}", tests),
                 fmt::format("--budget={:.1f} s", own), "--format=json", "--verbose"},
                limit);
  auto answer = ended ? nhc::parse_output({ended->status, ended->out, ended->err})
                      : make_error("muster-bench: {}", ended.error().message);
  if (answer) {
    add_findings(report, std::move(answer->findings), ids_of(*answer));
  } else {
    add_findings(report, {of_no_test(Outcome::unknown, answer.error().message)},
                 {std::string(kNoTests)});
  }
  return Clock::now() - limit.started();
}

}  // namespace muster::app
