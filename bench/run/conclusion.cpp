// SPDX-License-Identifier: Apache-2.0
#include "bench/run/conclusion.hpp"

#include <algorithm>
#include <utility>

#include "bench/run/agreement.hpp"
#include "lib/command/version.hpp"

namespace muster::bench {
namespace {

Report begun(const Known& known) {
  Report report;
  report.node = named(known.hosts);
  report.profile = known.choice.profile.name;
  report.profile_evidence = known.choice.evidence;
  report.context = "manual";
  report.started = known.started;
  report.duration_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - known.begin)
          .count();
  report.muster = kVersion;
  return report;
}

Stop::Kind kind_of(Trouble::Kind kind) {
  switch (kind) {
    case Trouble::Kind::absent:
      return Stop::Kind::absent;
    case Trouble::Kind::lost:
      return Stop::Kind::lost;
    case Trouble::Kind::late:
      return Stop::Kind::late;
    case Trouble::Kind::given_up:
      return Stop::Kind::given_up;
    case Trouble::Kind::stopped:
      break;
  }
  return Stop::Kind::stopped;
}

void add(Report& report, std::vector<Finding> findings) {
  std::ranges::move(findings, std::back_inserter(report.findings));
}

void add_measurements(Report& report, const Known& known) {
  const RunConditions conditions{.nodes = static_cast<int>(known.hosts.size()),
                                 .backend = known.backend,
                                 .library = known.library,
                                 .algorithm = known.algorithm};
  for (const auto& row : known.rows) {
    std::ranges::move(measurements_of(row, conditions), std::back_inserter(report.measurements));
  }
}

}  // namespace

RunFacts facts_of(const Known& known) {
  return {.nodes = static_cast<int>(known.hosts.size()),
          .ranks = static_cast<int>(known.members.size()),
          .node = known.hosts.empty() ? std::string() : known.hosts.front(),
          .backend = known.backend,
          .gpus = known.gpus,
          .algorithm = known.algorithm,
          .algorithm_asked = known.algorithm_asked};
}

Demand demand_of(const BenchCommand& command) {
  return {.min_busbw = command.min_busbw, .at = command.at};
}

Stop stop_of(const Trouble& trouble) {
  return {.kind = kind_of(trouble.kind),
          .phase = trouble.phase,
          .what = trouble.what,
          .ranks = trouble.ranks,
          .arrived = trouble.arrived};
}

int exit_status_of(const Trouble& trouble) {
  return outcome_of(stop_of(trouble)) == Outcome::unknown ? kExitUndecided : kExitUnhealthy;
}

Report report_of(const Known& known, const BenchCommand& command) {
  auto report = begun(known);
  const auto facts = facts_of(known);
  add(report, judge_data(known.rows, known.members));
  report.findings.push_back(completed(facts.ranks));
  const auto& profile = known.choice.profile;
  const auto required =
      required_transports(command.require_transport, profile, known.gpus, facts.nodes);
  report.findings.push_back(judge_transport(required, known.transport));
  report.findings.push_back(judge(known.rows, profile, facts, demand_of(command)));
  add_measurements(report, known);
  report.ways = known.ways;
  report.warnings = known.warnings;
  conclude(report);
  return report;
}

Report report_of(const Known& known, const Trouble& trouble) {
  auto report = begun(known);
  const auto stop = stop_of(trouble);
  report.findings.push_back(judge_completion(stop, known.members));
  if (!known.rows.empty()) add(report, judge_data(known.rows, known.members));
  add_measurements(report, known);
  report.warnings = known.warnings;
  conclude(report);
  return report;
}

}  // namespace muster::bench
