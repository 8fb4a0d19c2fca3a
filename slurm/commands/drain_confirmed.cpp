// SPDX-License-Identifier: Apache-2.0
#include "slurm/commands/drain_confirmed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace muster::app {
namespace {

constexpr std::string_view kSweep = "sweep";

// Drains the node for these findings, by the rules of a hook.
slurm::HookResult drain_for(const std::string& node, std::vector<Finding> findings,
                            const slurm::Rules& rules, const slurm::HookServices& services,
                            bool dry_run) {
  const Report report{.node = node,
                      .context = std::string(kSweep),
                      .verdict = Verdict::unhealthy,
                      .findings = std::move(findings)};
  auto result = slurm::enforce({.report = &report,
                                .node = node,
                                .context = std::string(kSweep),
                                .rules = rules,
                                .dry_run = dry_run,
                                .is_remote = true},
                               services);
  result.report = nullptr;  // it ends with this function
  return result;
}

bool was_drained_for_it(const slurm::SweepStanding& standing, const slurm::History* history) {
  if (history == nullptr || standing.failures.empty()) return false;
  const auto drains = history->events(
      {.nodes = {standing.node}, .kinds = {"drained"}, .since = standing.failures.back().at});
  return drains && std::ranges::any_of(
                       *drains, [](const slurm::Event& each) { return each.context == kSweep; });
}

// The failures in a job's report that are about one of its nodes, "gpu-0007", or about a device
// there, "gpu-0007/gpu3".
std::vector<Finding> failures_of(const Report& job, const std::string& name) {
  const auto of_node = fmt::format("{}/", name);
  std::vector<Finding> failures;
  for (auto finding : job.findings) {
    if (finding.outcome != Outcome::fail) continue;
    const bool is_part = finding.device.starts_with(of_node);
    if (!is_part && finding.device != name) continue;
    // Slurm shows the reason with the node's name.
    finding.device = is_part ? finding.device.substr(of_node.size()) : "node";
    failures.push_back(std::move(finding));
  }
  return failures;
}

}  // namespace

void drain_confirmed(const std::vector<slurm::SweepStanding>& standings, const slurm::Rules& rules,
                     const slurm::HookServices& services, bool dry_run) {
  for (const auto& standing : standings) {
    if (standing.trust != slurm::Trust::confirmed) continue;
    if (was_drained_for_it(standing, services.history)) continue;
    const Finding finding{
        .check = "bench.sweep",
        .device = "node",
        .outcome = Outcome::fail,
        .message = fmt::format("{}: {}", standing.kind, slurm::evidence(standing)),
        .remedy = Remedy::report_to_provider};
    static_cast<void>(drain_for(standing.node, {finding}, rules, services, dry_run));
  }
}

bool drain_accused(const Report& report, const std::vector<slurm::NodeName>& names,
                   const slurm::Rules& rules, const slurm::HookServices& services, bool dry_run) {
  bool all = true;
  for (const auto& name : report.accused) {
    const auto node = slurm::node_on(names, name);
    auto failures = failures_of(report, name);
    if (!node || failures.empty()) {
      services.tell(
          {.at = services.now(),
           .node = name,
           .kind = "trouble",
           .context = std::string(kSweep),
           .message = node ? "the report lists the node in accused, but has no failure of it"
                           : node.error().message});
      all = false;
      continue;
    }
    const auto result = drain_for(*node, std::move(failures), rules, services, dry_run);
    all = all && (dry_run || result.drained);
  }
  return all;
}

}  // namespace muster::app
