// SPDX-License-Identifier: Apache-2.0
#include "slurm/commands/drain_confirmed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace muster::app {
namespace {

constexpr std::string_view kSweep = "sweep";

Report report_of(const slurm::SweepStanding& standing) {
  Report report;
  report.node = standing.node;
  report.context = kSweep;
  report.verdict = Verdict::unhealthy;
  report.findings.push_back(
      {.check = "bench.sweep",
       .device = "node",
       .outcome = Outcome::fail,
       .message = fmt::format("{}: {}", standing.kind, slurm::evidence(standing)),
       .remedy = Remedy::report_to_provider});
  return report;
}

bool was_drained_for_it(const slurm::SweepStanding& standing, const slurm::History* history) {
  if (history == nullptr || standing.failures.empty()) return false;
  const auto drains = history->events(
      {.nodes = {standing.node}, .kinds = {"drained"}, .since = standing.failures.back().at});
  return drains && std::ranges::any_of(
                       *drains, [](const slurm::Event& each) { return each.context == kSweep; });
}

// The findings of a job's report about one of its nodes.
Report report_of(const Report& job, const std::string& name, const std::string& node) {
  Report report;
  report.node = node;
  report.context = kSweep;
  report.verdict = Verdict::unhealthy;
  std::ranges::copy_if(job.findings, std::back_inserter(report.findings),
                       [&](const Finding& finding) {
                         return finding.outcome == Outcome::fail && finding.device == name;
                       });
  // Slurm shows the reason with the node's name.
  for (auto& finding : report.findings) finding.device = "node";
  return report;
}

}  // namespace

void drain_confirmed(const std::vector<slurm::SweepStanding>& standings, const slurm::Rules& rules,
                     const slurm::HookServices& services, bool dry_run) {
  for (const auto& standing : standings) {
    if (standing.trust != slurm::Trust::confirmed) continue;
    if (was_drained_for_it(standing, services.history)) continue;
    const auto report = report_of(standing);
    static_cast<void>(slurm::enforce({.report = &report,
                                      .node = standing.node,
                                      .context = std::string(kSweep),
                                      .rules = rules,
                                      .dry_run = dry_run,
                                      .is_remote = true},
                                     services));
  }
}

bool drain_accused(const Report& report, const std::vector<slurm::NodeName>& names,
                   const slurm::Rules& rules, const slurm::HookServices& services, bool dry_run) {
  bool all = true;
  for (const auto& name : report.accused) {
    const auto node = slurm::node_on(names, name);
    if (!node) {
      services.tell({.at = services.now(),
                     .node = name,
                     .kind = "trouble",
                     .context = std::string(kSweep),
                     .message = node.error().message});
      all = false;
      continue;
    }
    const auto own = report_of(report, name, *node);
    if (own.findings.empty()) continue;
    const auto result = slurm::enforce({.report = &own,
                                        .node = *node,
                                        .context = std::string(kSweep),
                                        .rules = rules,
                                        .dry_run = dry_run,
                                        .is_remote = true},
                                       services);
    all = all && (dry_run || result.drained);
  }
  return all;
}

}  // namespace muster::app
