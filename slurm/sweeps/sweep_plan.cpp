// SPDX-License-Identifier: Apache-2.0

#include "slurm/sweeps/sweep_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "lib/base/clock.hpp"
#include "lib/base/text.hpp"
#include "slurm/rules/rules.hpp"

namespace muster::slurm {
namespace {

// The first of `partitions` that the node is in; empty for none.
std::string partition_of(const NodeState& node, const std::vector<std::string>& partitions) {
  const auto found = std::ranges::find_if(partitions, [&](const std::string& partition) {
    return std::ranges::count(node.partitions, partition) > 0;
  });
  return found == partitions.end() ? "" : *found;
}

void note_verdict(SweepStanding& standing, const SweepVerdict& verdict) {
  standing.tried = verdict.at;
  standing.last = verdict.text;
  if (verdict.verdict == Verdict::unknown) {
    ++standing.undecided;
    return;
  }
  standing.undecided = 0;
  standing.swept = verdict.at;
  if (verdict.verdict == Verdict::healthy) standing.failures.clear();
  if (verdict.verdict == Verdict::unhealthy) standing.failures.push_back(verdict);
}

// A limit that no node reaches, and a fabric that was down for an hour, confirm no node.
Trust trust_of(const SweepStanding& standing, const std::vector<SweepVerdict>& verdicts) {
  if (standing.failures.empty()) return standing.swept ? Trust::good : Trust::untested;
  if (standing.failures.size() < 2) return Trust::suspect;
  const bool another_passed = std::ranges::any_of(verdicts, [&](const SweepVerdict& each) {
    return each.verdict == Verdict::healthy && each.kind == standing.kind &&
           each.at >= standing.failures.front().at;
  });
  return another_passed ? Trust::confirmed : Trust::suspect;
}

class SweepPlanner {
 public:
  explicit SweepPlanner(const SweepSituation& situation)
      : rules_(situation.rules), now_(situation.now), open_(situation.log.open.size()) {
    for (const auto& job : situation.log.open) taken_.insert(job.nodes.begin(), job.nodes.end());
    for (const auto& node : situation.nodes) {
      // Any suffix means that Slurm has other plans for the node.
      if (node.state != "idle") taken_.insert(node.name);
    }
    candidates_ = sweep_standings(situation);
    std::erase_if(candidates_, [&](const SweepStanding& each) {
      return taken_.contains(each.node) || is_paused(each);
    });
    std::ranges::stable_sort(candidates_, {}, [&](const SweepStanding& each) {
      const auto order = std::ranges::find(rules_.kinds, each.kind) - rules_.kinds.begin();
      return std::tuple(!is_urgent(each), each.tried.value_or(Time::min()), order);
    });
  }

  std::vector<SweepJob> plan() {
    std::vector<SweepJob> jobs;
    for (const auto& candidate : candidates_) {
      if (open_ + jobs.size() >= static_cast<std::size_t>(rules_.most_jobs)) break;
      if (taken_.contains(candidate.node)) continue;
      if (!is_urgent(candidate) && !is_due(candidate)) continue;
      if (auto job = job_for(candidate)) jobs.push_back(*std::move(job));
    }
    return jobs;
  }

 private:
  // A second verdict decides whether it is confirmed. More of them would change nothing.
  [[nodiscard]] static bool is_urgent(const SweepStanding& node) {
    return node.failures.size() == 1;
  }

  // The other half of `every` is left to find the node idle.
  [[nodiscard]] bool is_due(const SweepStanding& node) const {
    return !node.swept || now_ - *node.swept >= whole(rules_.every) / 2;
  }

  [[nodiscard]] bool is_paused(const SweepStanding& node) const {
    const auto longest = std::max(whole(rules_.every) / 2, kSweepPause);
    auto pause = kSweepPause;
    for (int i = 1; i < node.undecided && pause < longest; ++i) pause *= 2;
    return node.undecided > 0 && now_ - *node.tried < std::min(pause, longest);
  }

  [[nodiscard]] std::optional<SweepJob> job_for(const SweepStanding& leader) {
    const auto* const kind = find_sweep_kind(leader.kind);
    if (kind == nullptr) return std::nullopt;
    SweepJob job{.kind = leader.kind, .partition = leader.partition, .nodes = {leader.node}};
    const auto most =
        kind->takes_idle_nodes ? static_cast<std::size_t>(rules_.most_nodes) : kind->fewest_nodes;
    for (const auto& other : candidates_) {
      if (job.nodes.size() >= most) break;
      const bool fits = other.kind == leader.kind && other.partition == leader.partition &&
                        other.node != leader.node && other.trust != Trust::confirmed;
      if (fits && !taken_.contains(other.node)) job.nodes.push_back(other.node);
    }
    if (job.nodes.size() < kind->fewest_nodes) return std::nullopt;
    taken_.insert(job.nodes.begin(), job.nodes.end());
    return job;
  }

  const SweepRules& rules_;
  Time now_;
  std::size_t open_;
  std::set<std::string, std::less<>> taken_;  // nodes that are not idle or have a job
  std::vector<SweepStanding> candidates_;     // suspects first, then the longest untested
};

}  // namespace

std::vector<SweepStanding> sweep_standings(const SweepSituation& situation) {
  const auto& [nodes, log, rules, now] = situation;
  std::vector<SweepStanding> standings;
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> places;
  for (const auto& node : nodes) {
    const auto partition = partition_of(node, rules.partitions);
    if (partition.empty()) continue;
    for (const auto& kind : rules.kinds) {
      places[{node.name, kind}] = standings.size();
      standings.push_back({.node = node.name, .kind = kind, .partition = partition});
    }
  }
  for (const auto& verdict : log.verdicts) {
    const auto place = places.find({verdict.node, verdict.kind});
    if (place != places.end()) note_verdict(standings[place->second], verdict);
  }
  for (auto& standing : standings) {
    standing.trust = trust_of(standing, log.verdicts);
    standing.overdue = !standing.swept || now - *standing.swept > whole(rules.every);
  }
  return standings;
}

Result<std::vector<std::string>> swept_partitions(const std::vector<NodeState>& nodes,
                                                  const SweepRules& rules) {
  std::set<std::string> known;
  for (const auto& node : nodes) known.insert(node.partitions.begin(), node.partitions.end());
  const auto names = printable(fmt::format("{}", fmt::join(known, ", ")));
  for (const auto& partition : rules.partitions) {
    if (known.contains(partition)) continue;
    return make_error(fmt::format("slurm.sweep.partitions: unknown partition \"{}\", expected {}",
                                  printable(partition, 60), names));
  }
  if (!rules.partitions.empty()) return rules.partitions;
  if (known.size() <= 1) return std::vector<std::string>(known.begin(), known.end());
  return make_error(
      fmt::format("slurm.sweep.partitions: not set, expected some of {} in muster.yaml", names));
}

std::string evidence(const SweepStanding& standing) {
  return fmt::format("it failed {} times in a row while others passed: {}",
                     standing.failures.size(), standing.last);
}

std::string to_line(const SweepStanding& standing) {
  const auto swept = standing.swept ? fmt::format("swept at {}", utc(*standing.swept))
                                    : std::string("never swept");
  const auto last =
      standing.last.empty() ? std::string() : fmt::format("; last {}", printable(standing.last));
  return fmt::format("{} {}: {}, {}{}\n", printable(standing.node, 100), standing.kind,
                     to_string(standing.trust), swept, last);
}

std::string to_json_line(const SweepStanding& standing) {
  auto failures = nlohmann::ordered_json::array();
  for (const auto& failure : standing.failures) {
    failures.push_back({{"at", utc(failure.at)}, {"found", printable(failure.text)}});
  }
  const nlohmann::ordered_json line{
      {"schema", "muster.sweep/1"},
      {"node", printable(standing.node)},
      {"partition", printable(standing.partition)},
      {"kind", standing.kind},
      {"trust", to_string(standing.trust)},
      {"swept", standing.swept ? utc(*standing.swept) : std::string()},
      {"overdue", standing.overdue},
      {"failures", failures}};
  return line.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

std::vector<SweepJob> plan_sweep(const SweepSituation& situation) {
  return SweepPlanner(situation).plan();
}

}  // namespace muster::slurm
