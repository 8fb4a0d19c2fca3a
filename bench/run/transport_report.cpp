// SPDX-License-Identifier: Apache-2.0
#include "bench/run/transport_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "bench/backends/nccl/log.hpp"
#include "bench/backends/nccl/requirements.hpp"
#include "bench/backends/nccl/transport.hpp"
#include "bench/collectives/definition.hpp"

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

std::string sentence(const Taken& taken) {
  return taken.cause.empty() ? taken.what : fmt::format("{}: {}", taken.what, taken.cause);
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

// The pairs of ranks of one transport.
class PairsOfWay {
 public:
  PairsOfWay(const RankPairs& pairs, std::size_t way) {
    pairs.for_each([&](int from, int to, RankPairs::Ways ways) {
      if ((ways >> way & 1U) == 0) return;
      auto& row = rows_[from];
      if (static_cast<std::size_t>(to) >= row.size()) row.resize(static_cast<std::size_t>(to) + 1);
      row[static_cast<std::size_t>(to)] = true;
      ++count_;
    });
  }

  [[nodiscard]] std::size_t count() const { return count_; }

  // Removes a run of pairs, each with both ranks one higher than the last: "0-7 to 8-15".
  [[nodiscard]] std::string take_run() {
    const auto first = find_first();
    auto last = first;
    while (remove(last)) last = {last.first + 1, last.second + 1};
    last = {last.first - 1, last.second - 1};
    if (last == first) return fmt::format("{} to {}", first.first, first.second);
    return fmt::format("{}-{} to {}-{}", first.first, last.first, first.second, last.second);
  }

 private:
  using Pair = std::pair<int, int>;

  [[nodiscard]] Pair find_first() {
    while (!rows_.empty()) {
      const auto& [from, row] = *rows_.begin();
      const auto found = std::ranges::find(row, true);
      if (found != row.end()) return {from, static_cast<int>(found - row.begin())};
      rows_.erase(rows_.begin());
    }
    return {};
  }

  [[nodiscard]] bool remove(Pair pair) {
    const auto row = rows_.find(pair.first);
    const auto to = static_cast<std::size_t>(pair.second);
    if (row == rows_.end() || to >= row->second.size() || !row->second[to]) return false;
    row->second[to] = false;
    --count_;
    return true;
  }

  std::map<int, std::vector<bool>> rows_;
  std::size_t count_ = 0;
};

std::string in_runs(PairsOfWay pairs) {
  constexpr std::size_t kMost = 32;
  std::vector<std::string> runs;
  while (pairs.count() > 0 && runs.size() < kMost) runs.push_back(pairs.take_run());
  auto text = fmt::format("{}", fmt::join(runs, ", "));
  if (pairs.count() > 0) text.append(fmt::format(" and {} more pairs", pairs.count()));
  return text;
}

std::vector<std::string> pairs_of(const Transport& transport) {
  std::vector<std::string> lines;
  const auto& names = transport.pairs.names();
  for (std::size_t way = 0; way < names.size(); ++way) {
    lines.push_back(fmt::format("{}: {}", names[way], in_runs({transport.pairs, way})));
  }
  std::ranges::sort(lines);
  return lines;
}

// The transports within a node, and between nodes.
std::pair<std::set<std::string>, std::set<std::string>> ways_of(const Transport& transport,
                                                                const std::vector<int>& nodes) {
  RankPairs::Ways inside = 0;
  RankPairs::Ways between = 0;
  transport.pairs.for_each([&](int from, int to, RankPairs::Ways ways) {
    auto& all = same_node(nodes, {from, to}) ? inside : between;
    all = static_cast<RankPairs::Ways>(all | ways);
  });
  return {transport.pairs.names_of(inside), transport.pairs.names_of(between)};
}

// "nvlink" or "infiniband" if only that connects the nodes; empty if both or neither do.
std::string over_of(const Transport& transport, const std::vector<int>& nodes) {
  bool nvlink = false;
  bool network = false;
  for (const auto& way : ways_of(transport, nodes).second) {
    (way == "P2P/MNNVL" ? nvlink : network) = true;
  }
  if (nvlink == network) return {};
  return nvlink ? "nvlink" : "infiniband";
}

// "between nodes NET/IB/GDRDMA; inside P2P/CUMEM", "between nodes NET/Socket (eth0)"
std::string summary_of(const Transport& transport, const std::vector<Member>& members) {
  const auto [inside, between] = ways_of(transport, nodes_of(members));
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
