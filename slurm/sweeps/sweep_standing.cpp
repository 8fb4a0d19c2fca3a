// SPDX-License-Identifier: Apache-2.0
#include "slurm/sweeps/sweep_standing.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "lib/base/text.hpp"
#include "slurm/history/event.hpp"
#include "slurm/rules/rules.hpp"

namespace muster::slurm {
namespace {

std::string partners(const SweepStanding& standing) {
  std::vector<std::string> names;
  for (const auto& failure : standing.failures) {
    names.insert(names.end(), failure.others.begin(), failure.others.end());
  }
  return printable(fmt::format("{}", fmt::join(names, ", ")));
}

}  // namespace

std::vector<SweepStanding> sweep_standings(const SweepSituation& situation) {
  const auto book = book_of(situation.runs, situation.rules);
  const auto longest = whole(situation.rules.every);
  std::vector<SweepStanding> standings;
  for (const auto& node : situation.nodes) {
    const auto partition = swept_partition(node, situation.rules.partitions);
    if (partition.empty()) continue;
    for (const auto& kind : situation.rules.kinds) {
      const auto* record = book.record(kind, node.name);
      auto& standing = standings.emplace_back();
      standing.node = node.name;
      standing.kind = kind;
      standing.partition = partition;
      standing.trust = book.trust(kind, node.name);
      if (record != nullptr) standing.swept = record->swept;
      standing.overdue = !standing.swept || situation.now - *standing.swept > longest;
      if (record != nullptr) standing.failures = record->failures;
    }
  }
  return standings;
}

std::string evidence(const std::vector<SweepFailure>& failures) {
  std::set<std::string> partners;
  for (const auto& failure : failures) {
    partners.insert(failure.others.begin(), failure.others.end());
  }
  if (partners.empty()) {
    return fmt::format("it failed alone {} times in a row, while others passed", failures.size());
  }
  return fmt::format("it failed with {}, and others pass without it", fmt::join(partners, ", "));
}

std::string to_line(const SweepStanding& standing) {
  const auto swept = standing.swept ? fmt::format("swept at {}", utc(*standing.swept))
                                    : std::string("never swept");
  const auto with = partners(standing);
  const auto failed =
      standing.failures.empty() ? std::string()
      : with.empty() ? fmt::format("; failed {} times since it passed", standing.failures.size())
                     : fmt::format("; failed with {} since it passed", with);
  return fmt::format("{} {}: {}, {}{}\n", printable(standing.node, 100), standing.kind,
                     to_string(standing.trust), swept, failed);
}

std::string to_json_line(const SweepStanding& standing) {
  auto failures = nlohmann::ordered_json::array();
  for (const auto& failure : standing.failures) {
    failures.push_back({{"at", utc(failure.at)}, {"with", failure.others}});
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
