// SPDX-License-Identifier: Apache-2.0
#include "bench/app/transport.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

#include "bench/backends/nccl/requirements.hpp"

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

}  // namespace

std::string summary_of(const Transport& transport, const std::vector<Member>& members) {
  const auto nodes = nodes_of(members);
  std::set<std::string> inside;
  std::set<std::string> between;
  for (const auto& [ranks, ways] : transport.pairs) {
    (same_node(nodes, ranks) ? inside : between).insert(ways.begin(), ways.end());
  }
  std::vector<std::string> parts;
  if (!between.empty()) parts.push_back(fmt::format("between nodes {}", fmt::join(between, ", ")));
  if (!inside.empty()) parts.push_back(fmt::format("inside {}", fmt::join(inside, ", ")));
  if (transport.nvls_connected) parts.emplace_back("NVLink SHARP");
  if (!transport.in_network.empty()) {
    parts.push_back(fmt::format("in the network {}", fmt::join(transport.in_network, ", ")));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

TransportFacts transport_of(const std::vector<std::string>& logs,
                            const std::vector<Member>& members,
                            const std::vector<std::string>& required) {
  Transport transport;
  for (const auto& log : logs) merge(transport, parse_transport(log));
  TransportFacts facts{.known = !transport.empty(),
                       .used = summary_of(transport, members),
                       .missing = {},
                       .unclear = {}};
  const auto ways = parse_ways(fmt::format("{}", fmt::join(required, ",")));
  if (!facts.known || required.empty() || !ways) return facts;
  for (const auto& taken : ways_taken(transport, nodes_of(members), *ways)) {
    const std::string way(to_string(taken.way));
    if (taken.answer == Taken::Answer::no) facts.missing.push_back({way, sentence(taken)});
    if (taken.answer == Taken::Answer::unknown) facts.unclear.push_back(way);
  }
  return facts;
}

}  // namespace muster::bench
