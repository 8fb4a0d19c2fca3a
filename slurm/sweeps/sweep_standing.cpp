// SPDX-License-Identifier: Apache-2.0
#include "slurm/sweeps/sweep_standing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "lib/base/text.hpp"
#include "slurm/history/event.hpp"
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

}  // namespace

std::string_view to_string(Trust trust) {
  constexpr std::array<std::string_view, 4> kWords{"good", "untested", "suspect", "confirmed"};
  return kWords.at(static_cast<std::size_t>(trust));
}

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

}  // namespace muster::slurm
