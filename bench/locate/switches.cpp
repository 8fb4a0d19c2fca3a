// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "bench/locate/locate.hpp"
#include "bench/locate/rounds.hpp"
#include "lib/base/units.hpp"
#include "lib/statistics/statistics.hpp"

namespace muster::bench::locate {
namespace {

// More than this below the rate of pairs below one leaf switch is a fault, or a fabric with less
// bandwidth above its leaf switches.
constexpr double kLossOfSwitches = 0.1;
// Leaf switches are paired in as many rounds as needed, within these limits.
constexpr std::size_t kUsualRounds = 3;
constexpr std::size_t kMaxRounds = 8;

using Leaf = std::size_t;
using Rates = std::vector<std::optional<double>>;

// The rate of a node of one leaf switch with a node of another.
struct Crossing {
  Leaf a = 0, b = 0;
  bool above = false;  // over the switches above leaf switches
  std::optional<double> gbps{};

  [[nodiscard]] bool is_of(Leaf leaf) const { return a == leaf || b == leaf; }

  [[nodiscard]] Leaf other(Leaf leaf) const { return a == leaf ? b : a; }
};

class SwitchSearch {
 public:
  SwitchSearch(const Nodes& nodes, Rounds& rounds)
      : nodes_(nodes), rounds_(rounds), nodes_of_(nodes.leaf_names.size()) {
    found_.cross.assign(nodes.leaf_names.size(), false);
    found_.below.assign(nodes.count(), false);
    for (Node node = 0; node < nodes.count(); ++node) {
      if (nodes.leaf(node) != kNoLeaf) {
        nodes_of_[static_cast<Leaf>(nodes.leaf(node))].push_back(node);
      }
    }
  }

  [[nodiscard]] Result<SwitchVerdict> run(std::span<const PairRate> pairs, bool suspicious) {
    TRY(measure_below());
    trust_racks(pairs);
    const auto usual = usual_rate(pairs);
    if (found_.base <= 0 || (!suspicious && usual && !is_low(usual))) return std::move(found_);
    TRY(measure_crossings());
    conclude(usual);
    return std::move(found_);
  }

 private:
  [[nodiscard]] bool is_low(const std::optional<double>& gbps) const {
    return !gbps || *gbps < (1 - kLossOfSwitches) * found_.base;
  }

  [[nodiscard]] bool all_low(const Rates& rates) const {
    return !rates.empty() &&
           std::ranges::all_of(rates, [&](const auto& each) { return is_low(each); });
  }

  // The median rate of pairs whose nodes are both fine below their leaf switches.
  [[nodiscard]] std::optional<double> usual_rate(std::span<const PairRate> pairs) const {
    std::vector<double> rates;
    for (const auto& [pair, gbps] : pairs) {
      if (found_.below[pair.first] && found_.below[pair.second]) rates.push_back(gbps.value_or(0));
    }
    if (rates.empty()) return {};
    return median_of(std::move(rates));
  }

  // Measures pairs below each leaf switch until two of its nodes are fine.
  [[nodiscard]] Result<void> measure_below() {
    for (std::size_t turn = 0; turn < kUsualRounds; ++turn) {
      std::vector<Pair> pairs;
      for (Leaf leaf = 0; leaf < nodes_of_.size(); ++leaf) {
        const auto& members = nodes_of_[leaf];
        if (fine_nodes(leaf).size() > 1 || turn >= tournament_rounds(members.size())) continue;
        for (const auto& [a, b] : tournament_round(members.size(), turn)) {
          if (nodes_.may_meet(members[a], members[b])) pairs.emplace_back(members[a], members[b]);
        }
      }
      if (pairs.empty()) continue;
      TRY_ASSIGN(const auto round,
                 rounds_.measure("pairs below one leaf switch", groups_of(pairs)));
      noise_ = std::max(noise_, round.noise);
      if (found_.base == 0) set_base(finished(round));
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        if (is_low(round.gbps[i])) continue;
        found_.below[pairs[i].first] = found_.below[pairs[i].second] = true;
      }
    }
    return {};
  }

  // Pairs below the leaf switch of one NVLink domain do not use their HCAs: any node of it may
  // stand for it.
  void trust_racks(std::span<const PairRate> pairs) {
    for (const auto& members : nodes_of_) {
      if (nodes_.are_comparable(members)) continue;
      for (const auto node : members) found_.below[node] = true;
    }
    if (nodes_.domains.empty() || found_.base > 0) return;
    std::vector<double> rates;
    for (const auto& each : pairs) rates.push_back(each.gbps.value_or(0));
    set_base(std::move(rates));
    base_is_ = "that other pairs reach";
  }

  // The upper quartile, which slow nodes do not lower.
  void set_base(std::vector<double> rates) {
    if (rates.empty()) return;
    std::ranges::sort(rates, std::greater<>());
    found_.base = rates[(rates.size() - 1) / 4];
  }

  // The nodes that are fine below the leaf switch, and stand for it.
  [[nodiscard]] std::vector<Node> fine_nodes(Leaf leaf) const {
    std::vector<Node> fine;
    std::ranges::copy_if(nodes_of_[leaf], std::back_inserter(fine),
                         [&](Node node) { return found_.below[node]; });
    return fine;
  }

  // Each leaf switch with several others: first below the same switches, then across those.
  [[nodiscard]] Result<void> measure_crossings() {
    std::map<int, std::vector<Leaf>> pods;
    std::vector<Leaf> all;
    for (Leaf leaf = 0; leaf < nodes_of_.size(); ++leaf) {
      if (fine_nodes(leaf).empty()) continue;
      pods[pod(leaf)].push_back(leaf);
      all.push_back(leaf);
    }
    for (std::size_t turn = 0; turn < kMaxRounds; ++turn) {
      std::vector<Crossing> crossings;
      for (const auto& [pod, leaves] : pods) {
        const auto rounds = tournament_rounds(leaves.size());
        if (rounds == 0 || turn >= std::max(rounds, kUsualRounds)) continue;
        for (const auto& [a, b] : tournament_round(leaves.size(), turn % rounds)) {
          crossings.push_back({.a = leaves[a], .b = leaves[b]});
        }
      }
      if (crossings.empty()) break;
      TRY(measure(std::move(crossings), turn));
      if (turn + 1 >= kUsualRounds && (is_decided() || all_low(rates_across()))) break;
    }
    return measure_above(all);
  }

  [[nodiscard]] int pod(Leaf leaf) const { return nodes_.pods.empty() ? 0 : nodes_.pods[leaf]; }

  [[nodiscard]] Result<void> measure_above(const std::vector<Leaf>& all) {
    std::size_t done = 0;
    for (std::size_t turn = 0; turn < tournament_rounds(all.size()) && done < kUsualRounds;
         ++turn) {
      std::vector<Crossing> crossings;
      for (const auto& [a, b] : tournament_round(all.size(), turn)) {
        if (pod(all[a]) == pod(all[b])) continue;
        crossings.push_back({.a = all[a], .b = all[b], .above = true});
      }
      if (crossings.empty()) continue;
      TRY(measure(std::move(crossings), turn));
      ++done;
    }
    return {};
  }

  [[nodiscard]] Result<void> measure(std::vector<Crossing> crossings, std::size_t turn) {
    std::vector<Pair> pairs;
    std::erase_if(crossings, [&](const Crossing& each) {
      auto b = fine_nodes(each.b);
      std::rotate(b.begin(), b.begin() + static_cast<std::ptrdiff_t>(turn % b.size()), b.end());
      const auto a = fine_nodes(each.a);
      const auto from = a[turn % a.size()];
      const auto to = partner_of(from, b, {}, nodes_);
      if (to != b.end()) pairs.emplace_back(from, *to);
      return to == b.end();
    });
    if (pairs.empty()) return {};
    append(pairs, controls_beside(pairs));
    TRY_ASSIGN(const auto round,
               rounds_.measure(crossings.front().above
                                   ? "one node of each leaf switch, across the switches above"
                                   : "one node of each leaf switch with one of another",
                               groups_of(pairs)));
    const auto controls = finished(round, crossings.size());
    const double drift = controls.size() < 2 ? 1 : median_of(controls) / found_.base;
    for (std::size_t i = 0; i < crossings.size(); ++i) {
      auto& each = crossings[i];
      if (round.gbps[i]) each.gbps = *round.gbps[i] / drift;
      if (!is_low(each.gbps)) found_.cross[each.a] = found_.cross[each.b] = true;
    }
    append(crossings_, std::move(crossings));
    return {};
  }

  // Pairs below leaf switches show how all rates have drifted since the first round.
  [[nodiscard]] std::vector<Pair> controls_beside(const std::vector<Pair>& pairs) const {
    constexpr std::size_t kMax = 4;
    std::set<Node> busy;
    for (const auto& [a, b] : pairs) busy.insert({a, b});
    std::vector<Pair> controls;
    for (Leaf leaf = 0; leaf < nodes_of_.size() && controls.size() < kMax; ++leaf) {
      // More than half of the nodes at once would cause congestion.
      if (4 * (pairs.size() + controls.size() + 1) > nodes_.count()) break;
      auto fine = fine_nodes(leaf);
      std::erase_if(fine, [&](Node node) { return busy.contains(node); });
      if (fine.size() < 2) continue;
      const auto partner = partner_of(fine.back(), fine, {fine.back()}, nodes_);
      if (partner != fine.end()) controls.emplace_back(*partner, fine.back());
    }
    return controls;
  }

  // A leaf switch that is slow with two others that are fine.
  [[nodiscard]] bool is_slow(Leaf leaf) const {
    if (found_.cross[leaf]) return false;
    return std::ranges::count_if(crossings_, [&](const Crossing& each) {
             return each.is_of(leaf) && found_.cross[each.other(leaf)];
           }) >= 2;
  }

  [[nodiscard]] bool is_decided() const {
    const auto decided = [&](Leaf leaf) { return found_.cross[leaf] || is_slow(leaf); };
    return std::ranges::all_of(
        crossings_, [&](const Crossing& each) { return decided(each.a) && decided(each.b); });
  }

  [[nodiscard]] Rates rates(const std::function<bool(const Crossing&)>& which) const {
    Rates found;
    for (const auto& each : crossings_) {
      if (which(each)) found.push_back(each.gbps);
    }
    return found;
  }

  [[nodiscard]] Rates rates_across() const {
    return rates([](const Crossing& each) { return !each.above; });
  }

  void conclude(const std::optional<double>& usual) {
    const auto across = rates_across();
    const auto above = rates([](const Crossing& each) { return each.above; });
    if (all_low(across)) {
      found_.culprits.push_back(slow_level(across_leaves(), across));
      for (Node node = 0; node < nodes_.count(); ++node) found_.zones.push_back(nodes_.leaf(node));
    } else if (above.size() > 1 && all_low(above)) {
      found_.culprits.push_back(slow_level(
          across.empty() ? across_leaves() : "crosses the switches above leaf switches", above));
      for (Node node = 0; node < nodes_.count(); ++node) found_.zones.push_back(nodes_.pod(node));
    } else if (!accuse_leaves() && usual && is_low(usual) && !crossings_.empty()) {
      found_.culprits.push_back(congestion(*usual));
    }
  }

  // False if no leaf switch is slow.
  bool accuse_leaves() {
    std::vector<int> zones(nodes_.count(), kNoLeaf);
    for (Leaf leaf = 0; leaf < nodes_of_.size(); ++leaf) {
      if (!is_slow(leaf)) continue;
      found_.culprits.push_back(slow_leaf(leaf));
      for (const auto node : nodes_of_[leaf]) zones[node] = nodes_.leaf(node);
    }
    if (found_.culprits.empty()) return false;
    found_.zones = std::move(zones);
    return true;
  }

  // Its rate is the median of those that finished.
  void set_rate(Culprit& culprit, const Rates& rates) const {
    const auto scale = scale_about(found_.base, noise_, (1 - kLossOfSwitches) * found_.base, 1);
    std::vector<double> values;
    std::vector<double> odds;
    for (const auto& each : rates) {
      if (each) values.push_back(*each);
      if (odds.size() < 3) odds.push_back(odds_of(each, scale));
    }
    culprit.hung = values.empty();
    if (!values.empty()) culprit.gbps = median_of(std::move(values));
    culprit.share = culprit.gbps / found_.base;
    culprit.probability = probability_of(odds);
  }

  [[nodiscard]] std::string reached(const Culprit& culprit) const {
    if (culprit.hung) return "does not finish";
    return fmt::format("reaches {} GB/s, {:.0f}% of the {} GB/s {}", rate_text(culprit.gbps),
                       kPercent * culprit.share, rate_text(found_.base), base_is_);
  }

  [[nodiscard]] std::string across_leaves() const {
    const auto& names = nodes_.leaf_names;
    return names.size() == 2 ? fmt::format("passes between {} and {}", names[0], names[1])
                             : "crosses leaf switches";
  }

  [[nodiscard]] Culprit slow_level(std::string_view traffic, const Rates& low) const {
    Culprit culprit{.kind = Culprit::Kind::level};
    set_rate(culprit, low);
    culprit.evidence = {fmt::format("what {} {}, in {} pairs while no other node works", traffic,
                                    reached(culprit), low.size())};
    culprit.ruled_out = {"single nodes or leaf switches: all pairs that cross them are slow"};
    return culprit;
  }

  [[nodiscard]] Culprit slow_leaf(Leaf leaf) const {
    Culprit culprit{
        .kind = Culprit::Kind::leaf, .nodes = nodes_of_[leaf], .leaf = static_cast<int>(leaf)};
    const auto own = rates([&](const Crossing& each) { return each.is_of(leaf); });
    set_rate(culprit, own);
    culprit.evidence = {
        fmt::format("a node of it with one of each of {} other leaf switches, while no other node "
                    "works: {}",
                    own.size(), reached(culprit))};
    culprit.ruled_out = {nodes_.are_comparable(culprit.nodes)
                             ? "its nodes: with each other they are as fast as others"
                             : "single nodes: most of a rack are slow",
                         "congestion: it is slow while no other node works"};
    return culprit;
  }

  [[nodiscard]] Culprit congestion(double usual) const {
    Culprit culprit{.kind = Culprit::Kind::congestion, .gbps = usual, .share = usual / found_.base};
    std::vector<double> alone;
    for (const auto& each : crossings_) alone.push_back(each.gbps.value_or(0));
    culprit.evidence = {fmt::format(
        "pairs that cross leaf switches reach {} GB/s while all nodes work, and {} GB/s while one "
        "node of each leaf switch does; pairs below one leaf switch reach {} GB/s",
        rate_text(usual), rate_text(median_of(std::move(alone))), rate_text(found_.base))};
    return culprit;
  }

  const Nodes& nodes_;
  Rounds& rounds_;
  std::vector<std::vector<Node>> nodes_of_;  // of each leaf switch
  std::vector<Crossing> crossings_;
  double noise_ = 0;
  std::string_view base_is_ = "below one leaf switch";
  SwitchVerdict found_;
};

}  // namespace

Result<SwitchVerdict> judge_switches(const Nodes& nodes, Rounds& rounds,
                                     std::span<const PairRate> pairs, bool suspicious) {
  return SwitchSearch(nodes, rounds).run(pairs, suspicious);
}

bool points_to_a_switch(const Suspicion& suspicion, const Nodes& nodes) {
  struct LeafCounts {
    std::size_t nodes = 0, slow = 0, pairs = 0;
  };

  std::map<int, LeafCounts> leaves;
  for (Node node = 0; node < nodes.count(); ++node) ++leaves[nodes.leaf(node)].nodes;
  for (const auto& each : suspicion.slow) ++leaves[nodes.leaf(each.node)].slow;
  for (const auto& [pair, gbps, scale] : suspicion.pairs) {
    ++leaves[nodes.leaf(pair.first)].pairs;
    if (!nodes.share_leaf(pair.first, pair.second)) ++leaves[nodes.leaf(pair.second)].pairs;
  }
  leaves.erase(kNoLeaf);
  return std::ranges::any_of(leaves, [](const auto& each) {
    const auto& [count, slow, pairs] = each.second;
    return (slow > 1 && 2 * slow > count) || pairs > 1;
  });
}

Result<std::vector<std::vector<Node>>> groups_apart(const Suspicion& suspicion, Rounds& rounds,
                                                    SearchResult& result) {
  const auto& nodes = result.nodes;
  std::vector<std::vector<Node>> groups;
  const auto& slow = suspicion.slow;
  if (slow.size() < 2 && suspicion.pairs.size() < 2) return groups;
  // Neighbours in the list mostly have the same leaf switch.
  for (std::size_t first = 0; first < 2; ++first) {
    std::vector<Pair> pairs;
    for (auto i = first; i + 1 < slow.size(); i += 2) {
      if (!nodes.may_meet(slow[i].node, slow[i + 1].node)) continue;
      pairs.emplace_back(slow[i].node, slow[i + 1].node);
    }
    if (pairs.empty()) continue;
    TRY_ASSIGN(const auto round, rounds.measure("slow nodes with each other", groups_of(pairs)));
    result.keep_pairs(round);
  }
  // Joins the nodes of fine pairs: the number of the set that each node is in.
  std::vector<Node> sets(nodes.count());
  std::iota(sets.begin(), sets.end(), 0U);
  const auto join = [&](Node a, Node b) {
    std::ranges::replace(sets, Node{sets[a]}, Node{sets[b]});
  };
  for (const auto& [pair, gbps] : result.pairs) {
    if (gbps && *gbps >= (1 - kLossOfSwitches) * suspicion.scale.median) {
      join(pair.first, pair.second);
    }
  }
  // Proven nodes may not have met each other.
  const bool all_met = 2 * result.pairs.size() >= nodes.count() * (nodes.count() - 1);
  for (std::size_t i = 1; !all_met && i < suspicion.proven.size(); ++i) {
    join(suspicion.proven[i - 1], suspicion.proven[i]);
  }
  std::map<Node, std::vector<Node>> members;
  for (Node node = 0; node < nodes.count(); ++node) members[sets[node]].push_back(node);
  for (auto& [set, each] : members) {
    if (each.size() > 1) groups.push_back(std::move(each));
  }
  if (groups.size() < 2) groups.clear();
  return groups;
}

}  // namespace muster::bench::locate
