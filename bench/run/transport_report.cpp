// SPDX-License-Identifier: Apache-2.0
#include "bench/run/transport_report.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

#include "bench/backends/nccl/log.hpp"
#include "bench/backends/nccl/requirements.hpp"
#include "bench/collectives/definition.hpp"

namespace muster::bench {
namespace {

// The node of each rank, counted in the order of first ranks.
std::vector<int> nodes_of(const std::vector<Member>& members) {
  std::map<std::string, int> known;
  std::vector<int> nodes;
  nodes.reserve(members.size());
  for (const auto& member : members) {
    nodes.push_back(known.emplace(member.host, static_cast<int>(known.size())).first->second);
  }
  return nodes;
}

bool same_node(const std::vector<int>& nodes, std::pair<int, int> ranks) {
  const auto node = [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    return rank >= 0 && at < nodes.size() ? nodes[at] : -1;
  };
  return node(ranks.first) == node(ranks.second);
}

std::string sentence(const Taken& taken) {
  return taken.cause.empty() ? taken.what : fmt::format("{}: {}", taken.what, taken.cause);
}

// Of "RING/SIMPLE"; empty where ranks or passes differ.
std::string algorithm_of(const Transport& transport, Collective collective) {
  const auto found =
      transport.algorithms.find(std::string(definition_of(collective).nccl.log_name));
  if (found == transport.algorithms.end()) return {};
  std::set<std::string> names;
  for (const auto& each : found->second) names.insert(each.substr(0, each.find('/')));
  return names.size() == 1 ? *names.begin() : std::string();
}

using Pairs = std::set<std::pair<int, int>>;

// "0-7 to 8-15": pairs of which each is the one before with both ranks one higher.
std::string take_run(Pairs& pairs) {
  const auto first = *pairs.begin();
  auto last = first;
  while (pairs.erase(last) > 0) last = {last.first + 1, last.second + 1};
  last = {last.first - 1, last.second - 1};
  if (last == first) return fmt::format("{} to {}", first.first, first.second);
  return fmt::format("{}-{} to {}-{}", first.first, last.first, first.second, last.second);
}

std::string in_runs(Pairs pairs) {
  constexpr std::size_t kMost = 32;
  std::vector<std::string> runs;
  while (!pairs.empty() && runs.size() < kMost) runs.push_back(take_run(pairs));
  auto text = fmt::format("{}", fmt::join(runs, ", "));
  if (!pairs.empty()) text.append(fmt::format(" and {} more pairs", pairs.size()));
  return text;
}

std::vector<std::string> pairs_of(const Transport& transport) {
  std::map<std::string, Pairs> by_way;
  for (const auto& [ranks, ways] : transport.pairs) {
    for (const auto& way : ways) by_way[way].insert(ranks);
  }
  std::vector<std::string> lines;
  lines.reserve(by_way.size());
  for (const auto& [way, pairs] : by_way) {
    lines.push_back(fmt::format("{}: {}", way, in_runs(pairs)));
  }
  return lines;
}

// What joins the nodes: one way alone, or nothing where both do or neither is told.
std::string over_of(const Transport& transport, const std::vector<int>& nodes) {
  bool nvlink = false;
  bool network = false;
  for (const auto& [ranks, ways] : transport.pairs) {
    if (same_node(nodes, ranks)) continue;
    for (const auto& way : ways) (way == "P2P/MNNVL" ? nvlink : network) = true;
  }
  if (nvlink == network) return {};
  return nvlink ? "nvlink" : "infiniband";
}

}  // namespace

std::string summary_of(const Transport& transport, const std::vector<Member>& members) {
  const auto nodes = nodes_of(members);
  std::set<std::string> inside;
  std::set<std::string> between;
  for (const auto& [ranks, ways] : transport.pairs) {
    (same_node(nodes, ranks) ? inside : between).insert(ways.begin(), ways.end());
  }
  std::vector<std::string> parts;
  if (!between.empty()) {
    parts.push_back(
        fmt::format("between nodes {}", fmt::join(with_interfaces(between, transport), ", ")));
  }
  if (!inside.empty()) parts.push_back(fmt::format("inside {}", fmt::join(inside, ", ")));
  if (transport.nvls_connected) parts.emplace_back("NVLink SHARP");
  if (!transport.in_network.empty()) {
    parts.push_back(fmt::format("in the network {}", fmt::join(transport.in_network, ", ")));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::vector<std::string> nccl_warnings() {
  const auto warnings = parse_transport(nccl_log()).warnings;
  return {warnings.begin(), warnings.end()};
}

TransportReport transport_report(const std::vector<std::string>& logs,
                                 const std::vector<Member>& members,
                                 const std::vector<std::string>& required,
                                 Collective collective) {
  Transport transport;
  for (const auto& log : logs) merge(transport, parse_transport(log));
  TransportReport report{.facts = {.known = !transport.empty(),
                                   .used = summary_of(transport, members),
                                   .over = over_of(transport, nodes_of(members))},
                         .algorithm = algorithm_of(transport, collective),
                         .pairs = pairs_of(transport),
                         .warnings = {transport.warnings.begin(), transport.warnings.end()}};
  const auto ways = parse_ways(fmt::format("{}", fmt::join(required, ",")));
  if (!report.facts.known || required.empty() || !ways) return report;
  for (const auto& taken : ways_taken(transport, nodes_of(members), *ways)) {
    const std::string way(to_string(taken.way));
    if (taken.answer == Taken::Answer::no) {
      report.facts.missing.push_back({way, sentence(taken)});
    }
    if (taken.answer == Taken::Answer::unknown) report.facts.unclear.push_back(way);
  }
  return report;
}

}  // namespace muster::bench
