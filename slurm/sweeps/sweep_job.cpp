// SPDX-License-Identifier: Apache-2.0

#include "slurm/sweeps/sweep_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "lib/base/root.hpp"
#include "lib/base/text.hpp"
#include "lib/base/units.hpp"
#include "lib/hosts/hostlist.hpp"
#include "lib/report/bench_checks.hpp"
#include "lib/report/summary.hpp"
#include "slurm/cluster/programs.hpp"
#include "slurm/rules/rules.hpp"

namespace muster::slurm {
namespace {

constexpr std::string_view kPlanned = "planned";
constexpr std::string_view kSubmitted = "submitted";
constexpr std::string_view kSweep = "sweep";

// NTP may set a clock back by this much.
constexpr std::chrono::seconds kClockTolerance{600};

// "locate" of the token "locate-5e7a".
std::string kind_of(const Event& event) { return event.reason.substr(0, event.reason.find('-')); }

std::optional<SweepJob> job_of(const Event& event) {
  const auto prefix = fmt::format("{} in ", kind_of(event));
  auto nodes = expand_hostlist(event.node);
  if (!nodes || !event.message.starts_with(prefix)) return std::nullopt;
  return SweepJob{.kind = kind_of(event),
                  .partition = event.message.substr(prefix.size()),
                  .nodes = *std::move(nodes),
                  .token = event.reason,
                  .number = event.job,
                  .submitted = event.at};
}

std::optional<SweepVerdict> verdict_of(const Event& event) {
  const auto prefix = fmt::format("{}: ", kind_of(event));
  if (!event.message.starts_with(prefix)) return std::nullopt;
  const auto text = event.message.substr(prefix.size());
  for (const auto verdict : {Verdict::healthy, Verdict::unhealthy, Verdict::unknown}) {
    if (!text.starts_with(sweep_word(verdict))) continue;
    return SweepVerdict{.at = event.at,
                        .kind = kind_of(event),
                        .node = event.node,
                        .verdict = verdict,
                        .text = text,
                        .check = event.check,
                        .device = event.device};
  }
  return std::nullopt;
}

constexpr std::size_t kLargestResult = 8UL * 1024 * 1024;
constexpr std::size_t kLongestText = 300;
constexpr std::size_t kLongestName = 100;

// Slurm counts a job's time in minutes.
std::int64_t minutes(Seconds time) {
  return static_cast<std::int64_t>(std::ceil(time.value / kMinute));
}

// The same verdict on each node of the job.
std::vector<SweepVerdict> same_verdicts(const SweepJob& job, SweepVerdict verdict) {
  std::vector<SweepVerdict> verdicts;
  verdict.kind = job.kind;
  for (const auto& node : job.nodes) {
    verdict.node = node;
    verdicts.push_back(verdict);
  }
  return verdicts;
}

void note_finding(SweepVerdict& verdict, const Finding& finding) {
  verdict.check = harmless(finding.check, kLongestName);
  verdict.device = harmless(finding.device, kLongestName);
}

// The node of the job on this host; empty if the job has no such node.
std::string node_of_job(const SweepJob& job, const std::vector<NodeName>& names,
                        const std::string& host) {
  const auto has = [&](const std::string& node) { return std::ranges::count(job.nodes, node) > 0; };
  if (has(host)) return host;
  const auto node = node_on(names, host);
  return node && has(*node) ? *node : "";
}

// Accused nodes have failed. The others have passed if nothing else failed.
std::vector<SweepVerdict> verdicts_of_search(const SweepJob& job, const Report& report,
                                             const std::vector<NodeName>& names) {
  std::map<std::string, const Finding*> accused;
  bool all_accused = true;
  for (const auto& finding : report.findings) {
    if (finding.outcome != Outcome::fail) continue;
    const bool is_accused = std::ranges::count(report.accused, finding.device) > 0;
    const auto node = is_accused ? node_of_job(job, names, finding.device) : "";
    if (node.empty()) all_accused = false;
    if (!node.empty()) accused.emplace(node, &finding);
  }
  auto verdicts =
      undecided_verdicts(job, fmt::format("no single node is accused: {}",
                                          harmless(one_line(report, kLongestText), kLongestText)));
  for (auto& verdict : verdicts) {
    if (const auto found = accused.find(verdict.node); found != accused.end()) {
      verdict.verdict = Verdict::unhealthy;
      verdict.text = fmt::format("unhealthy: {}", harmless(sentence(*found->second), kLongestText));
      note_finding(verdict, *found->second);
    } else if (all_accused && !accused.empty()) {
      verdict.verdict = Verdict::healthy;
      verdict.text = "healthy: other nodes are accused";
    }
  }
  return verdicts;
}

}  // namespace

std::string_view sweep_word(Verdict verdict) {
  return verdict == Verdict::unknown ? "undecided" : to_string(verdict);
}

Event event_of(const SweepJob& job, std::string kind) {
  return {.at = job.submitted,
          .node = fold_hostlist(job.nodes),
          .kind = std::move(kind),
          .context = std::string(kSweep),
          .job = job.number,
          .message = fmt::format("{} in {}", job.kind, job.partition),
          .reason = job.token};
}

Event event_of(const SweepVerdict& verdict, const SweepJob& job) {
  return {.at = verdict.at,
          .node = verdict.node,
          .kind = std::string(kSweep),
          .context = std::string(kSweep),
          .job = job.number,
          .check = verdict.check,
          .device = verdict.device,
          .message = fmt::format("{}: {}", verdict.kind, verdict.text),
          .reason = job.token};
}

SweepLog parse_sweep_log(const std::vector<Event>& events, Time now) {
  SweepLog log;
  std::set<std::string, std::less<>> ended;
  for (auto event : events) {
    if (event.at > now + kClockTolerance) event.at = Time{};
    if (event.kind == kSweep) {
      ended.insert(event.reason);
      if (auto verdict = verdict_of(event)) log.verdicts.push_back(*std::move(verdict));
    } else if (event.kind == kPlanned || event.kind == kSubmitted) {
      auto job = job_of(event);
      if (!job) continue;
      const auto known = std::ranges::find(log.open, job->token, &SweepJob::token);
      if (known == log.open.end()) {
        log.open.push_back(*std::move(job));
      } else {
        *known = *std::move(job);
      }
    }
  }
  std::erase_if(log.open, [&](const SweepJob& job) { return ended.contains(job.token); });
  return log;
}

Result<SweepLog> read_sweep_log(const History& history, Time since, Time now) {
  TRY_ASSIGN(const auto events,
             history.events(
                 {.kinds = {std::string(kPlanned), std::string(kSubmitted), std::string(kSweep)},
                  .since = since}));
  return parse_sweep_log(events, now);
}

std::string sweep_job_name(std::string_view kind) { return fmt::format("muster-sweep-{}", kind); }

std::filesystem::path sweep_file(const SweepJob& job, const SweepRules& rules,
                                 std::string_view suffix) {
  return std::filesystem::path(rules.results) / fmt::format("{}.{}", job.token, suffix);
}

Result<std::vector<std::string>> sbatch_arguments(const SweepJob& job, const SweepRules& rules) {
  for (const auto& node : job.nodes) TRY(check_node_name(node));
  const auto* const kind = find_sweep_kind(job.kind);
  if (kind == nullptr) return make_error(fmt::format("unknown kind of sweep \"{}\"", job.kind));
  const auto limit = minutes(rules.time);
  std::vector<std::string> arguments{
      "--parsable", fmt::format("--job-name={}", sweep_job_name(job.kind)),
      fmt::format("--comment={}", job.token),
      fmt::format("--nodelist={}", fmt::join(job.nodes, ",")),
      fmt::format("--nodes={}", job.nodes.size()), "--exclusive",
      fmt::format("--nice={}", rules.nice), fmt::format("--time={}", limit),
      // Slurm cancels a job that cannot end by then.
      fmt::format("--deadline=now+{}minutes", limit + minutes(rules.start_within)), "--no-requeue",
      fmt::format("--partition={}", job.partition), fmt::format("--chdir={}", rules.results),
      fmt::format("--output={}", sweep_file(job, rules, "out").string())};
  if (!rules.account.empty()) arguments.push_back(fmt::format("--account={}", rules.account));
  if (!rules.qos.empty()) arguments.push_back(fmt::format("--qos={}", rules.qos));
  std::ranges::copy(rules.options, std::back_inserter(arguments));
  // The last value of an option counts.
  if (!kind->takes_idle_nodes) arguments.emplace_back("--ntasks-per-node=1");
  arguments.insert(arguments.end(),
                   {rules.script, job.kind, "--format=json",
                    fmt::format("--output={}", sweep_file(job, rules, "json").string())});
  if (kind->takes_idle_nodes) std::ranges::copy(rules.bench, std::back_inserter(arguments));
  return arguments;
}

Result<Report> read_sweep_result(const std::filesystem::path& file) {
  TRY_ASSIGN(const auto text, Root().read(file.string(), kLargestResult));
  return parse_report(text).map_error([&](const Error& error) {
    return Error{fmt::format("{}: {}", printable(file.string()), printable(error.message, 200))};
  });
}

bool judges_nodes(const Report& report) {
  return std::ranges::any_of(report.checks, [](const CheckResult& check) {
    const bool judged = check.outcome == Outcome::pass || check.outcome == Outcome::warn;
    const auto* const known = find_bench_check(check.id);
    return judged && known != nullptr && !known->judges_run;
  });
}

std::vector<SweepVerdict> undecided_verdicts(const SweepJob& job, std::string_view why) {
  return same_verdicts(job, {.text = fmt::format("undecided: {}", why)});
}

std::vector<SweepVerdict> sweep_verdicts(const SweepJob& job, const Report& report,
                                         const std::vector<NodeName>& names) {
  const auto summary = harmless(one_line(report, kLongestText), kLongestText);
  if (report.verdict == Verdict::unknown) return undecided_verdicts(job, summary);
  // Without limits in the profile, muster-bench judges nothing.
  if (report.verdict == Verdict::healthy && !judges_nodes(report)) {
    return undecided_verdicts(job,
                              "no bandwidth was judged, expected a profile with limits, or "
                              "--min-busbw in slurm.sweep.bench");
  }
  if (report.verdict == Verdict::healthy || job.nodes.size() == 1) {
    SweepVerdict verdict{.verdict = report.verdict, .text = summary};
    if (const auto* leading = leading_finding(report)) note_finding(verdict, *leading);
    return same_verdicts(job, verdict);
  }
  return verdicts_of_search(job, report, names);
}

}  // namespace muster::slurm
