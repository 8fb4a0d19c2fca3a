// SPDX-License-Identifier: Apache-2.0
#include "bench/locate/switches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "bench/results/statistics.hpp"
#include "lib/base/units.hpp"

namespace muster::bench::locate {
namespace {

// So much less than pairs below a leaf switch reach is a fault, or switches that carry less than
// what hangs from them.
constexpr double kLossOfSwitches = 0.1;
// Rounds in which leaf switches meet one another: as many as it takes, within these.
constexpr std::size_t kUsualRounds = 3;
constexpr std::size_t kMostRounds = 8;

using Leaf = std::size_t;

// What two leaf switches reached with each other.
struct Crossing {
  Leaf a = 0, b = 0;
  std::optional<double> gbps;
  bool above = false;  // over the switches above leaf switches
};

class SwitchSearch {
 public:
  SwitchSearch(const Nodes& nodes, Rounds& rounds) : nodes_(nodes), rounds_(rounds) {
    found_.cross.assign(nodes.leaf_names.size(), false);
    found_.below.assign(nodes.count(), false);
    nodes_of_.resize(nodes.leaf_names.size());
    for (Node node = 0; node < nodes.count(); ++node) {
      if (nodes.leaf(node) != kNoLeaf) {
        nodes_of_[static_cast<Leaf>(nodes.leaf(node))].push_back(node);
      }
    }
  }

  [[nodiscard]] Result<Switches> run(std::span<const PairRate> pairs, bool suspicious) {
    if (auto done = measure_below(); !done) return tl::unexpected(done.error());
    const auto usual = usual_of(pairs);
    if (found_.base <= 0 || (!suspicious && usual && !is_low(usual))) return std::move(found_);
    if (auto done = measure_crossings(); !done) return tl::unexpected(done.error());
    conclude(usual);
    return std::move(found_);
  }

 private:
  [[nodiscard]] bool is_low(const std::optional<double>& gbps) const {
    return !gbps || *gbps < (1 - kLossOfSwitches) * found_.base;
  }

  // What pairs reach both of whose nodes are fine below their leaf switches; empty where there are
  // none.
  [[nodiscard]] std::optional<double> usual_of(std::span<const PairRate> pairs) const {
    std::vector<double> rates;
    for (const auto& [pair, gbps] : pairs) {
      if (is_fine(pair.first) && is_fine(pair.second)) rates.push_back(gbps.value_or(0));
    }
    if (rates.empty()) return {};
    return median_of(std::move(rates));
  }

  // Each node with one of its leaf switch, and with another where two that are fine are yet to be
  // found.
  [[nodiscard]] Result<void> measure_below() {
    for (std::size_t turn = 0; turn < kUsualRounds; ++turn) {
      std::vector<Pair> pairs;
      for (const auto& members : nodes_of_) {
        const auto fine = std::ranges::count_if(members, [&](Node node) { return is_fine(node); });
        if (fine > 1 || turn >= tournament_rounds(members.size())) continue;
        for (const auto& [a, b] : tournament_round(members.size(), turn)) {
          pairs.emplace_back(members[a], members[b]);
        }
      }
      if (pairs.empty()) break;
      TRY_ASSIGN(const auto round,
                 rounds_.measure("what stays below one leaf switch", groups_of(pairs)));
      noise_ = std::max(noise_, round.noise);
      if (turn == 0) set_base(finished(round));
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        if (is_low(round.gbps[i])) continue;
        found_.below[pairs[i].first] = found_.below[pairs[i].second] = true;
      }
    }
    return {};
  }

  [[nodiscard]] bool is_fine(Node node) const { return found_.below[node]; }

  // Slow nodes among them do not lower it.
  void set_base(std::vector<double> rates) {
    if (rates.empty()) return;
    std::ranges::sort(rates, std::greater<>());
    found_.base = rates[(rates.size() - 1) / 4];
  }

  // The nodes that stand for a leaf switch: fine with each other.
  [[nodiscard]] std::vector<Node> speakers(Leaf leaf) const {
    std::vector<Node> fine;
    std::ranges::copy_if(nodes_of_[leaf], std::back_inserter(fine),
                         [&](Node node) { return is_fine(node); });
    return fine;
  }

  // Each with several others: first within the switches above, then across those.
  [[nodiscard]] Result<void> measure_crossings() {
    std::map<int, std::vector<Leaf>> pods;
    std::vector<Leaf> all;
    for (Leaf leaf = 0; leaf < nodes_of_.size(); ++leaf) {
      if (speakers(leaf).empty()) continue;
      pods[nodes_.pods.empty() ? 0 : nodes_.pods[leaf]].push_back(leaf);
      all.push_back(leaf);
    }
    for (std::size_t turn = 0; turn < kMostRounds; ++turn) {
      std::vector<Crossing> met;
      for (const auto& [pod, leaves] : pods) {
        const auto rounds = tournament_rounds(leaves.size());
        if (rounds == 0 || turn >= std::max(rounds, kUsualRounds)) continue;
        for (const auto& [a, b] : tournament_round(leaves.size(), turn % rounds)) {
          met.push_back({.a = leaves[a], .b = leaves[b], .gbps = {}});
        }
      }
      if (met.empty()) break;
      if (auto done = measure_met(std::move(met), turn); !done) return done;
      if (turn + 1 >= kUsualRounds && (is_settled() || all_low(rates_across()))) break;
    }
    return measure_above(all);
  }

  // Every leaf switch with some of other pods.
  [[nodiscard]] Result<void> measure_above(const std::vector<Leaf>& all) {
    std::size_t done = 0;
    for (std::size_t turn = 0; turn < tournament_rounds(all.size()) && done < kUsualRounds;
         ++turn) {
      std::vector<Crossing> met;
      for (const auto& [a, b] : tournament_round(all.size(), turn)) {
        const bool above = !nodes_.pods.empty() && nodes_.pods[all[a]] != nodes_.pods[all[b]];
        if (above) met.push_back({.a = all[a], .b = all[b], .gbps = {}, .above = true});
      }
      if (met.empty()) continue;
      if (auto ran = measure_met(std::move(met), turn); !ran) return ran;
      ++done;
    }
    return {};
  }

  [[nodiscard]] Result<void> measure_met(std::vector<Crossing> met, std::size_t turn) {
    std::vector<Pair> pairs;
    for (const auto& each : met) {
      const auto a = speakers(each.a);
      const auto b = speakers(each.b);
      pairs.emplace_back(a[turn % a.size()], b[turn % b.size()]);
    }
    const bool above = met.front().above;
    const auto round =
        rounds_.measure(above ? "one node of each leaf switch, across the switches above"
                              : "one node of each leaf switch with one of another",
                        groups_of(pairs));
    if (!round) return tl::unexpected(round.error());
    for (std::size_t i = 0; i < met.size(); ++i) {
      met[i].gbps = round->gbps[i];
      if (!is_low(met[i].gbps)) found_.cross[met[i].a] = found_.cross[met[i].b] = true;
    }
    std::ranges::move(met, std::back_inserter(crossings_));
    return {};
  }

  // Leaf switches that were fine with one are; who is slow with two of them is slow.
  [[nodiscard]] bool is_slow(Leaf leaf) const {
    if (found_.cross[leaf]) return false;
    const auto partners = std::ranges::count_if(crossings_, [&](const Crossing& each) {
      const bool own = each.a == leaf || each.b == leaf;
      return own && found_.cross[each.a == leaf ? each.b : each.a];
    });
    return partners >= 2;
  }

  [[nodiscard]] bool is_settled() const {
    return std::ranges::all_of(crossings_, [&](const Crossing& each) {
      return (found_.cross[each.a] || is_slow(each.a)) && (found_.cross[each.b] || is_slow(each.b));
    });
  }

  [[nodiscard]] std::vector<std::optional<double>> rates(
      const std::function<bool(const Crossing&)>& which) const {
    std::vector<std::optional<double>> found;
    for (const auto& each : crossings_) {
      if (which(each)) found.push_back(each.gbps);
    }
    return found;
  }

  [[nodiscard]] std::vector<std::optional<double>> rates_across() const {
    return rates([](const Crossing& each) { return !each.above; });
  }

  void conclude(const std::optional<double>& usual) {
    const auto across = rates_across();
    const auto above = rates([](const Crossing& each) { return each.above; });
    if (all_low(across)) {
      found_.culprits.push_back(slow_level(across_leaves(), across));
      for (Node node = 0; node < nodes_.count(); ++node) {
        found_.zones.push_back(nodes_.leaf(node));
      }
    } else if (above.size() > 1 && all_low(above)) {
      found_.culprits.push_back(slow_level(
          across.empty() ? across_leaves() : "crosses the switches above leaf switches", above));
      for (Node node = 0; node < nodes_.count(); ++node) found_.zones.push_back(nodes_.pod(node));
    } else if (!blame_leaves() && usual && is_low(usual) && !crossings_.empty()) {
      found_.culprits.push_back(congestion(*usual));
    }
  }

  [[nodiscard]] bool all_low(const std::vector<std::optional<double>>& rates) const {
    return !rates.empty() && std::ranges::all_of(rates, [&](const std::optional<double>& gbps) {
      return is_low(gbps);
    });
  }

  // Are there any?
  bool blame_leaves() {
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

  [[nodiscard]] Scale scale() const {
    return scale_about(found_.base, noise_, (1 - kLossOfSwitches) * found_.base, 1);
  }

  // Its rate is the median of these; nothing where none of them finished.
  void set_rate(Culprit& culprit, const std::vector<std::optional<double>>& rates) const {
    std::vector<double> values;
    std::vector<double> odds;
    for (const auto& each : rates) {
      if (each) values.push_back(*each);
      if (odds.size() < 3) odds.push_back(odds_of(each, scale()));
    }
    culprit.hung = values.empty();
    if (!values.empty()) culprit.gbps = median_of(std::move(values));
    culprit.share = culprit.gbps / found_.base;
    culprit.probability = probability_of(odds);
  }

  [[nodiscard]] std::string reached(const Culprit& culprit) const {
    if (culprit.hung) return "does not finish";
    return fmt::format(
        "reaches {} GB/s, {:.0f}% of the {} GB/s of what stays below one leaf switch",
        rate_text(culprit.gbps), kPercent * culprit.share, rate_text(found_.base));
  }

  [[nodiscard]] std::string across_leaves() const {
    constexpr std::size_t kTwo = 2;
    const auto& names = nodes_.leaf_names;
    return names.size() == kTwo ? fmt::format("passes between {} and {}", names[0], names[1])
                                : "crosses leaf switches";
  }

  [[nodiscard]] Culprit slow_level(std::string_view title,
                                   const std::vector<std::optional<double>>& low) const {
    Culprit culprit{.kind = Culprit::Kind::level};
    set_rate(culprit, low);
    culprit.evidence = {fmt::format("what {} {}, in {} pairs while nobody else works", title,
                                    reached(culprit), low.size())};
    culprit.ruled_out = {"single nodes and leaf switches: all pairs are slow that cross them"};
    return culprit;
  }

  [[nodiscard]] Culprit slow_leaf(Leaf leaf) const {
    Culprit culprit{
        .kind = Culprit::Kind::leaf, .nodes = nodes_of_[leaf], .leaf = static_cast<int>(leaf)};
    const auto own = rates([&](const Crossing& each) { return each.a == leaf || each.b == leaf; });
    set_rate(culprit, own);
    culprit.evidence = {fmt::format(
        "one of its nodes with one of each of {} other leaf switches, while nobody else works: "
        "{}",
        own.size(), reached(culprit))};
    culprit.ruled_out = {"its nodes: two of them with each other reach what others do",
                         "congestion: it is slow while nobody else works"};
    return culprit;
  }

  [[nodiscard]] Culprit congestion(double usual) const {
    Culprit culprit{.kind = Culprit::Kind::congestion, .gbps = usual, .share = usual / found_.base};
    const auto quiet = rates([](const Crossing&) { return true; });
    std::vector<double> values;
    for (const auto& each : quiet) values.push_back(each.value_or(0));
    culprit.evidence = {fmt::format(
        "pairs that cross leaf switches reach {} GB/s while all nodes work, and {} GB/s where one "
        "node of each leaf switch does; those below one leaf switch reach {} GB/s",
        rate_text(usual), rate_text(median_of(std::move(values))), rate_text(found_.base))};
    return culprit;
  }

  const Nodes& nodes_;
  Rounds& rounds_;
  std::vector<std::vector<Node>> nodes_of_;  // each leaf switch
  std::vector<Crossing> crossings_;
  double noise_ = 0;
  Switches found_;
};

// Sets of nodes that are joined by one or more fine pairs.
class Joined {
 public:
  explicit Joined(std::size_t nodes) : root_(nodes) { std::iota(root_.begin(), root_.end(), 0U); }

  void join(Node a, Node b) { root_[root(a)] = root(b); }

  [[nodiscard]] Node root(Node node) const {
    while (root_[node] != node) node = root_[node];
    return node;
  }

 private:
  std::vector<Node> root_;
};

}  // namespace

Result<Switches> judge_switches(const Nodes& nodes, Rounds& rounds, std::span<const PairRate> pairs,
                                bool suspicious) {
  return SwitchSearch(nodes, rounds).run(pairs, suspicious);
}

bool points_to_a_switch(const Suspicion& suspicion, const Nodes& nodes) {
  std::map<int, std::size_t> all;
  std::map<int, std::size_t> slow;
  std::map<int, std::size_t> pairs;
  for (Node node = 0; node < nodes.count(); ++node) ++all[nodes.leaf(node)];
  for (const auto& each : suspicion.slow) ++slow[nodes.leaf(each.node)];
  for (const auto& each : suspicion.pairs) {
    ++pairs[nodes.leaf(each.pair.first)];
    if (!nodes.share_leaf(each.pair.first, each.pair.second)) ++pairs[nodes.leaf(each.pair.second)];
  }
  return std::ranges::any_of(all, [&](const auto& each) {
    const auto& [leaf, count] = each;
    if (leaf == kNoLeaf) return false;
    return (slow[leaf] > 1 && 2 * slow[leaf] > count) || pairs[leaf] > 1;
  });
}

Result<std::vector<std::vector<Node>>> groups_apart(const Suspicion& suspicion, const Nodes& nodes,
                                                    Rounds& rounds, Search& search) {
  std::vector<std::vector<Node>> groups;
  if (suspicion.slow.size() < 2 && suspicion.pairs.size() < 2) return groups;
  // Neighbours in the list mostly hang from one leaf switch.
  const auto& slow = suspicion.slow;
  for (std::size_t first = 0; first < 2; ++first) {
    std::vector<Pair> pairs;
    for (auto i = first; i + 1 < slow.size(); i += 2) {
      if (nodes.zone(slow[i].node) != nodes.zone(slow[i + 1].node)) continue;
      pairs.emplace_back(slow[i].node, slow[i + 1].node);
    }
    if (pairs.empty()) continue;
    TRY_ASSIGN(const auto round, rounds.measure("slow nodes with each other", groups_of(pairs)));
    search.keep(round);
  }
  Joined joined(nodes.count());
  for (const auto& [pair, gbps] : search.pairs) {
    if (gbps && *gbps >= (1 - kLossOfSwitches) * suspicion.scale.median)
      joined.join(pair.first, pair.second);
  }
  // Those that have proven good need not have met.
  const bool all_met = 2 * search.pairs.size() >= nodes.count() * (nodes.count() - 1);
  for (std::size_t i = 1; !all_met && i < suspicion.proven.size(); ++i) {
    joined.join(suspicion.proven[i - 1], suspicion.proven[i]);
  }
  std::map<Node, std::vector<Node>> sets;
  for (Node node = 0; node < nodes.count(); ++node) sets[joined.root(node)].push_back(node);
  for (auto& [root, members] : sets) {
    if (members.size() > 1) groups.push_back(std::move(members));
  }
  if (groups.size() < 2) groups.clear();
  return groups;
}

}  // namespace muster::bench::locate
