// SPDX-License-Identifier: Apache-2.0
#include "bench/run/transport_report.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "bench/backends/nccl/log.hpp"
#include "bench/backends/nccl/requirements.hpp"
#include "bench/backends/nccl/transport.hpp"
#include "bench/collectives/definition.hpp"
#include "bench/results/bandwidth.hpp"

namespace muster::bench {
namespace {

// The index of each rank's node, in the order of first ranks.
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

std::string sentence(const RequirementResult& result) {
  return result.cause.empty() ? result.what : fmt::format("{}: {}", result.what, result.cause);
}

// "RING" of "RING/SIMPLE"; empty if ranks or passes differ.
std::string algorithm_of(const Transport& transport, Collective collective) {
  const auto found =
      transport.algorithms.find(std::string(definition_of(collective).nccl.log_name));
  if (found == transport.algorithms.end()) return {};
  std::set<std::string> names;
  for (const auto& each : found->second) names.insert(each.substr(0, each.find('/')));
  return names.size() == 1 ? *names.begin() : std::string();
}

// Pairs in runs, in which each has both ranks one higher than the last: "0-7 to 8-15".
std::string in_runs(RankPairs pairs) {
  constexpr std::size_t kMax = 32;
  std::vector<std::string> runs;
  std::size_t more = 0;
  const auto remove = [&pairs](int from, int to) {
    const auto row = pairs.find(from);
    const auto at = static_cast<std::size_t>(to);
    if (row == pairs.end() || at >= row->second.size() || !row->second[at]) return false;
    row->second[at] = false;
    return true;
  };
  for_each_pair(RankPairs(pairs), [&](int from, int to) {
    if (!remove(from, to)) return;  // in an earlier run
    if (runs.size() == kMax) {
      ++more;
      return;
    }
    int last = 0;
    while (remove(from + last + 1, to + last + 1)) ++last;
    runs.push_back(last == 0 ? fmt::format("{} to {}", from, to)
                             : fmt::format("{}-{} to {}-{}", from, from + last, to, to + last));
  });
  const auto text = fmt::format("{}", fmt::join(runs, ", "));
  return more == 0 ? text : fmt::format("{} and {} more pairs", text, more);
}

std::vector<std::string> pairs_of(const Transport& transport) {
  std::vector<std::string> lines;
  for (const auto& [name, pairs] : transport.pairs) {
    lines.push_back(fmt::format("{}: {}", name, in_runs(pairs)));
  }
  return lines;
}

// The transports within a node, and between nodes.
std::pair<std::set<std::string>, std::set<std::string>> transports_of(
    const Transport& transport, const std::vector<int>& nodes) {
  std::set<std::string> inside;
  std::set<std::string> between;
  for (const auto& [name, pairs] : transport.pairs) {
    for_each_pair(pairs, [&, &name = name](int from, int to) {
      (same_node(nodes, {from, to}) ? inside : between).insert(name);
    });
  }
  return {inside, between};
}

// "infiniband" if that connects some of the nodes, as between racks, because it is slower; else
// "nvlink" if that does.
std::string over_of(const Transport& transport, const std::vector<int>& nodes) {
  bool nvlink = false;
  bool network = false;
  for (const auto& name : transports_of(transport, nodes).second) {
    (name == "P2P/MNNVL" ? nvlink : network) = true;
  }
  if (network) return "infiniband";
  return nvlink ? "nvlink" : "";
}

// "between nodes NET/IB/GDRDMA; inside P2P/CUMEM", "between nodes NET/Socket (eth0)"
std::string summary_of(const Transport& transport, const std::vector<Member>& members) {
  const auto [inside, between] = transports_of(transport, nodes_of(members));
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

}  // namespace

std::string logged_algorithm(Collective collective) {
  return algorithm_word(algorithm_of(parse_transport(nccl_log()), collective));
}

std::vector<std::string> nccl_warnings() {
  const auto warnings = parse_transport(nccl_log()).warnings;
  return {warnings.begin(), warnings.end()};
}

TransportReport transport_report(const std::vector<std::string>& logs,
                                 const std::vector<Member>& members,
                                 const std::vector<std::string>& required, Collective collective) {
  Transport transport;
  for (const auto& log : logs) add_log(transport, log);
  TransportReport report{.facts = {.known = !transport.empty(),
                                   .used = summary_of(transport, members),
                                   .over = over_of(transport, nodes_of(members))},
                         .algorithm = algorithm_of(transport, collective),
                         .pairs = pairs_of(transport),
                         .warnings = {transport.warnings.begin(), transport.warnings.end()}};
  const auto requirements = parse_requirements(fmt::format("{}", fmt::join(required, ",")));
  if (!report.facts.known || required.empty() || !requirements) return report;
  for (const auto& result : check_requirements(transport, nodes_of(members), *requirements)) {
    const std::string name(to_string(result.requirement));
    if (result.state == RequirementResult::State::missed) {
      report.facts.missing.push_back({name, sentence(result)});
    }
    if (result.state == RequirementResult::State::unknown) report.facts.unclear.push_back(name);
  }
  return report;
}

}  // namespace muster::bench
