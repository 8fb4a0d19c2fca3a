// SPDX-License-Identifier: Apache-2.0
#include "bench/run/run_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "lib/command/version.hpp"
#include "lib/report/bench_checks.hpp"
#include "lib/report/verdict.hpp"

namespace muster::bench {
namespace {

void add_findings(Report& report, std::vector<Finding> findings) {
  std::ranges::move(findings, std::back_inserter(report.findings));
}

// "gpu-0001, gpu-0002, gpu-0003 and 62 more"
std::string names_of(const std::vector<std::string>& hosts) {
  constexpr std::size_t kMost = 4;
  if (hosts.size() <= kMost) return fmt::format("{}", fmt::join(hosts, ", "));
  return fmt::format("{} and {} more", fmt::join(hosts.begin(), hosts.begin() + kMost - 1, ", "),
                     hosts.size() - kMost + 1);
}

bool wrong_anywhere(const std::vector<Row>& rows) {
  return std::ranges::any_of(rows, [](const Row& row) {
    return (row.out_of_place && !row.out_of_place->wrong.empty()) ||
           (row.in_place && !row.in_place->wrong.empty());
  });
}

RunFacts facts_of(const RunRecord& record, const PartResult& part) {
  auto facts = bench::facts_of(record);
  std::set<std::string> hosts;
  for (const int rank : part.ranks) {
    const auto place = static_cast<std::size_t>(rank);
    if (place < record.members.size()) hosts.insert(record.members[place].host);
  }
  facts.ranks = static_cast<int>(part.ranks.size());
  facts.nodes = static_cast<int>(std::max<std::size_t>(1, hosts.size()));
  facts.node = hosts.size() == 1 ? *hosts.begin() : std::string();
  return facts;
}

// Compares the parts with each other, and each part that is a whole node with the limit of one.
void judge_parts(Report& report, const RunRecord& record, const BenchCommand& command) {
  std::vector<Finding> data;
  for (const auto& part : record.parts) {
    if (wrong_anywhere(part.rows)) {
      std::ranges::move(judge_data(part.rows, record.members), std::back_inserter(data));
    }
  }
  if (data.empty()) data = judge_data(record.parts.front().rows, record.members);
  add_findings(report, std::move(data));
  const auto own = own_limit_of(command);
  std::set<std::string> failed;
  std::size_t judged = 0;
  for (const auto& part : record.parts) {
    if (own.min_busbw || command.split->by != Split::By::node) break;
    auto finding = judge(part.rows, record.choice.profile, facts_of(record, part));
    if (finding.outcome == Outcome::unknown) continue;
    ++judged;
    if (finding.outcome == Outcome::fail) failed.insert(finding.device);
    report.findings.push_back(std::move(finding));
  }
  // A part that misses its limit is not reported as an outlier as well. If the limit has judged all
  // parts, they need no comparison.
  for (auto& each : judge_split(record.parts, own)) {
    const bool settled = each.outcome == Outcome::unknown && judged == record.parts.size();
    if (!settled && !failed.contains(each.device)) report.findings.push_back(std::move(each));
  }
}

void add_measurements(Report& report, const RunRecord& record) {
  const auto facts = facts_of(record);
  for (const auto& part : record.parts) {
    const auto of_part = facts_of(record, part);
    for (const auto& row : part.rows) {
      std::ranges::move(measurements_of(row, of_part, part.name),
                        std::back_inserter(report.measurements));
    }
  }
  for (const auto& row : record.rows) {
    std::ranges::move(measurements_of(row, facts), std::back_inserter(report.measurements));
  }
}

// A finding that several collectives share is added once.
void judge_rows(Report& report, const RunRecord& record, const BenchCommand& command) {
  const auto facts = facts_of(record);
  const auto& profile = record.choice.profile;
  auto findings = judge_data(record.rows, record.members);
  const auto required =
      required_transports(command.require_transport, profile, facts.gpus, facts.nodes);
  findings.push_back(judge_transport(required, record.transport));
  findings.push_back(judge(judged_rows(record, command), profile, facts, own_limit_of(command)));
  for (auto& each : findings) {
    if (std::ranges::find(report.findings, each) == report.findings.end()) {
      report.findings.push_back(std::move(each));
    }
  }
}

void add_diagnosis(Report& report, const RunRecord& record) {
  if (record.diagnosis) report.findings.push_back(judge_diagnosis(*record.diagnosis));
}

// With `all`, a collective without a limit is skipped, unless no collective has a limit.
void leave_out_unlimited(std::vector<Finding>& findings) {
  const auto is_judged = [](const Finding& each) {
    return std::ranges::find(kBandwidthChecks, each.check) != kBandwidthChecks.end() &&
           each.outcome != Outcome::unknown && each.outcome != Outcome::skip;
  };
  if (std::ranges::none_of(findings, is_judged)) return;
  for (auto& each : findings) {
    if (each.check == "bench.min_busbw" && each.outcome == Outcome::unknown) {
      each.outcome = Outcome::skip;
    }
  }
}

void add_before(Report& report, const RunRecord& record) {
  add_findings(report, record.before.findings);
  std::ranges::copy(record.before.measurements, std::back_inserter(report.measurements));
}

}  // namespace

void sign(Report& report, const Choice& choice, Clock::time_point begin) {
  report.profile = choice.profile.name;
  report.profile_evidence = choice.evidence;
  report.context = "manual";
  report.duration_ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  report.muster = kVersion;
}

Report begin_report(const RunRecord& record) {
  Report report;
  report.node = names_of(record.hosts);
  if (record.hosts.size() > 1) report.nodes = record.hosts;
  report.started = record.started;
  sign(report, record.choice, record.begin);
  return report;
}

RunFacts facts_of(const RunRecord& record) {
  auto facts = record.facts;
  facts.nodes = static_cast<int>(record.hosts.size());
  facts.ranks = static_cast<int>(record.members.size());
  if (!record.hosts.empty()) facts.node = record.hosts.front();
  facts.over = record.transport.over;
  return facts;
}

std::vector<Row> judged_rows(const RunRecord& record, const BenchCommand& command) {
  auto rows = record.rows;
  std::erase_if(rows, [&](const Row& row) {
    return row.operation.type != command.type || row.operation.reduction != command.reduction;
  });
  return rows;
}

OwnLimit own_limit_of(const BenchCommand& command) {
  return {.min_busbw = command.min_busbw, .at = command.at, .acceptance = command.acceptance};
}

int exit_status_of(const Trouble& trouble) {
  return outcome_of(trouble) == Outcome::unknown ? kExitUndecided : kExitUnhealthy;
}

Report report_of(const RunRecord& record, const BenchCommand& command) {
  auto report = begin_report(record);
  report.findings.push_back(completed(facts_of(record).ranks));
  if (command.split) {
    judge_parts(report, record, command);
    add_measurements(report, record);
    conclude(report);
    return report;
  }
  add_diagnosis(report, record);
  add_before(report, record);
  if (!record.rows.empty() || record.before.findings.empty()) {
    judge_rows(report, record, command);
    add_measurements(report, record);
  }
  if (command.whichever) leave_out_unlimited(report.findings);
  report.ways = record.ways;
  report.warnings = record.warnings;
  conclude(report);
  return report;
}

Report report_of(const RunRecord& record, const Trouble& trouble) {
  auto report = begin_report(record);
  report.findings.push_back(judge_completion(trouble, record.members));
  add_diagnosis(report, record);
  add_before(report, record);
  if (!record.rows.empty()) add_findings(report, judge_data(record.rows, record.members));
  add_measurements(report, record);
  report.warnings = record.warnings;
  conclude(report);
  return report;
}

void end_collective(RunRecord& record, const BenchCommand& command) {
  judge_rows(record.before, record, command);
  add_measurements(record.before, record);
  record.rows.clear();
  if (!record.facts.algorithm_asked) record.facts.algorithm.clear();
}

}  // namespace muster::bench
