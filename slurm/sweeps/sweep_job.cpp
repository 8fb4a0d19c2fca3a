// SPDX-License-Identifier: Apache-2.0
#include "slurm/sweeps/sweep_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "lib/base/root.hpp"
#include "lib/base/text.hpp"
#include "lib/base/units.hpp"
#include "lib/report/bench_checks.hpp"
#include "slurm/cluster/call.hpp"
#include "slurm/rules/sweep_kinds.hpp"

namespace muster::slurm {
namespace {

constexpr std::size_t kLargestResult = 8UL * 1024 * 1024;

// Slurm counts a job's time in minutes.
std::int64_t minutes(Seconds time) {
  return static_cast<std::int64_t>(std::ceil(time.value / kMinute));
}

std::filesystem::path file_of(const SweepRun& run, const SweepRules& rules,
                              std::string_view suffix) {
  return std::filesystem::path(rules.results) / fmt::format("{}.{}", run.token, suffix);
}

}  // namespace

std::string sweep_job_name(std::string_view kind) { return fmt::format("muster-sweep-{}", kind); }

std::filesystem::path sweep_result_file(const SweepRun& run, const SweepRules& rules) {
  return file_of(run, rules, "json");
}

std::filesystem::path sweep_output_file(const SweepRun& run, const SweepRules& rules) {
  return file_of(run, rules, "out");
}

Result<std::vector<std::string>> sbatch_arguments(const SweepRun& run, const SweepRules& rules) {
  for (const auto& node : run.nodes) {
    if (auto plain = check_node_name(node); !plain) return tl::unexpected(plain.error());
  }
  const auto* kind = find_sweep_kind(run.kind);
  if (kind == nullptr) return make_error(fmt::format("there is no sweep of the kind {}", run.kind));
  const auto limit = minutes(rules.time);
  std::vector<std::string> arguments{
      "--parsable", fmt::format("--job-name={}", sweep_job_name(run.kind)),
      fmt::format("--comment={}", run.token),
      fmt::format("--nodelist={}", fmt::join(run.nodes, ",")),
      fmt::format("--nodes={}", run.nodes.size()), "--exclusive",
      fmt::format("--nice={}", rules.nice), fmt::format("--time={}", limit),
      // Slurm takes a job away that could not end by then.
      fmt::format("--deadline=now+{}minutes", limit + minutes(rules.start_within)), "--no-requeue",
      fmt::format("--partition={}", run.partition), fmt::format("--chdir={}", rules.results),
      fmt::format("--output={}", sweep_output_file(run, rules).string())};
  if (!rules.account.empty()) arguments.push_back(fmt::format("--account={}", rules.account));
  if (!rules.qos.empty()) arguments.push_back(fmt::format("--qos={}", rules.qos));
  std::ranges::copy(rules.options, std::back_inserter(arguments));
  // The last of an option counts.
  if (kind->one_process) arguments.emplace_back("--ntasks-per-node=1");
  arguments.push_back(rules.script);
  arguments.emplace_back(kind->command);
  arguments.emplace_back("--format=json");
  arguments.push_back(fmt::format("--output={}", sweep_result_file(run, rules).string()));
  if (!kind->one_process && !kind->several) {
    std::ranges::copy(rules.bench, std::back_inserter(arguments));
  }
  return arguments;
}

Result<Report> read_sweep_result(const std::filesystem::path& file) {
  TRY_ASSIGN(const auto text, Root().read(file.string(), kLargestResult));
  auto report = parse_report(text);
  if (report) return report;
  return make_error(
      fmt::format("{}: {}", printable(file.string()), printable(report.error().message, 200)));
}

bool judges_nodes(const Report& report) {
  return std::ranges::any_of(report.checks, [](const CheckResult& check) {
    const bool judged = check.outcome == Outcome::pass || check.outcome == Outcome::warn;
    const auto* const known = find_bench_check(check.id);
    return judged && known != nullptr && known->judges == BenchCheck::Judges::nodes;
  });
}

std::vector<std::string> hosts_to_blame(const Report& report) {
  const bool theirs = std::ranges::all_of(report.findings, [&](const Finding& finding) {
    return finding.outcome != Outcome::fail ||
           std::ranges::count(report.accused, finding.device) > 0;
  });
  return theirs ? report.accused : std::vector<std::string>{};
}

}  // namespace muster::slurm
