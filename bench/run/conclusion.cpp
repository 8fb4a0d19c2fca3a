// SPDX-License-Identifier: Apache-2.0
#include "bench/run/conclusion.hpp"

#include <algorithm>
#include <utility>

#include "bench/run/agreement.hpp"
#include "lib/command/version.hpp"

namespace muster::bench {
namespace {

Report begun(const RunRecord& record) {
  Report report;
  report.node = named(record.hosts);
  if (record.hosts.size() > 1) report.nodes = record.hosts;
  report.profile = record.choice.profile.name;
  report.profile_evidence = record.choice.evidence;
  report.context = "manual";
  report.started = record.started;
  report.duration_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - record.begin)
          .count();
  report.muster = kVersion;
  return report;
}

void add(Report& report, std::vector<Finding> findings) {
  std::ranges::move(findings, std::back_inserter(report.findings));
}

void add_measurements(Report& report, const RunRecord& record) {
  const auto facts = facts_of(record);
  for (const auto& row : record.rows) {
    std::ranges::move(measurements_of(row, facts), std::back_inserter(report.measurements));
  }
}

}  // namespace

RunFacts facts_of(const RunRecord& record) {
  return {.nodes = static_cast<int>(record.hosts.size()),
          .ranks = static_cast<int>(record.members.size()),
          .node = record.hosts.empty() ? std::string() : record.hosts.front(),
          .backend = record.backend,
          .library = record.library,
          .gpus = record.gpus,
          .algorithm = record.algorithm,
          .algorithm_asked = record.algorithm_asked,
          .over = record.transport.over};
}

OwnLimit own_limit_of(const BenchCommand& command) {
  return {.min_busbw = command.min_busbw, .at = command.at, .acceptance = command.acceptance};
}

int exit_status_of(const Trouble& trouble) {
  return outcome_of(trouble) == Outcome::unknown ? kExitUndecided : kExitUnhealthy;
}

Report report_of(const RunRecord& record, const BenchCommand& command) {
  auto report = begun(record);
  const auto facts = facts_of(record);
  add(report, judge_data(record.rows, record.members));
  report.findings.push_back(completed(facts.ranks));
  const auto& profile = record.choice.profile;
  const auto required =
      required_transports(command.require_transport, profile, record.gpus, facts.nodes);
  report.findings.push_back(judge_transport(required, record.transport));
  report.findings.push_back(judge(record.rows, profile, facts, own_limit_of(command)));
  add_measurements(report, record);
  report.ways = record.ways;
  report.warnings = record.warnings;
  conclude(report);
  return report;
}

Report report_of(const RunRecord& record, const Trouble& trouble) {
  auto report = begun(record);
  report.findings.push_back(judge_completion(trouble, record.members));
  if (!record.rows.empty()) add(report, judge_data(record.rows, record.members));
  add_measurements(report, record);
  report.warnings = record.warnings;
  conclude(report);
  return report;
}

}  // namespace muster::bench
