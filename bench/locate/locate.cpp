// SPDX-License-Identifier: Apache-2.0
#include "bench/locate/locate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/units.hpp"
#include "lib/hosts/hostlist.hpp"
#include "lib/statistics/statistics.hpp"

namespace muster::bench::locate {
namespace {

Culprit not_enough(std::string why) {
  return {.kind = Culprit::Kind::not_enough_data, .evidence = {std::move(why)}};
}

// If pairs reach one of two rates, with a gap between them that is wider than each one's spread: a
// sentence about them. Else empty.
std::string two_rates(std::span<const PairRate> pairs, const Nodes& nodes) {
  constexpr double kGap = 0.9;
  std::vector<PairRate> sorted;
  std::ranges::copy_if(pairs, std::back_inserter(sorted),
                       [](const PairRate& each) { return each.gbps.has_value(); });
  std::ranges::sort(sorted, {}, [](const PairRate& each) { return *each.gbps; });
  const auto gap = std::ranges::adjacent_find(
      sorted,
      [](const PairRate& one, const PairRate& next) { return *one.gbps < kGap * *next.gbps; });
  if (gap == sorted.end()) return {};
  const std::span slow(sorted.begin(), gap + 1);
  const std::span fast(gap + 1, sorted.end());
  const double apart = *slow.back().gbps / *fast.front().gbps;
  const auto is_one_rate = [apart](std::span<const PairRate> all) {
    return all.size() >= 2 && *all.front().gbps > *all.back().gbps * (1 + apart) / 2;
  };
  if (!is_one_rate(slow) || !is_one_rate(fast)) return {};
  std::vector<std::string> names;
  for (const auto& [pair, gbps] : slow) {
    append(names, {nodes.names.at(pair.first), nodes.names.at(pair.second)});
  }
  return fmt::format(
      "{} pairs reach {} GB/s and {} reach {}: pass --min-busbw to set the expected value; the "
      "slower pairs are among {}",
      slow.size(), rate_text(*slow[slow.size() / 2].gbps), fast.size(),
      rate_text(*fast[fast.size() / 2].gbps), fold_hostlist(names));
}

// The median of the pairs that finished.
std::optional<double> median_rate(std::span<const PairRate> pairs) {
  std::vector<double> rates;
  for (const auto& each : pairs) {
    if (each.gbps) rates.push_back(*each.gbps);
  }
  if (rates.empty()) return {};
  return median_of(std::move(rates));
}

// Whether healthy values vary so much that a large loss would not show.
bool hides_losses(const Scale& scale) {
  constexpr double kVisibleLoss = 0.15;
  return 1 - scale.limit / scale.median > kVisibleLoss;
}

// A verdict on all nodes together: everyone is slow, or nothing can be decided.
std::optional<Culprit> judge_all(const std::optional<Scale>& scale, std::span<const PairRate> pairs,
                                 const Suspicion& found, const Floor& floor, const Nodes& nodes) {
  if (!scale) {
    return not_enough(
        fmt::format("fewer than {} rates to compare, and no limit to compare them with", kEnough));
  }
  if (found.proven.empty() || (floor && scale->median < *floor)) {
    // Without a proven node, the scale may be the expected rate and not a measured one.
    const double gbps = found.slow.empty() || found.proven.empty()
                            ? median_rate(pairs).value_or(pairs.empty() ? scale->median : 0)
                            : scale->median;
    return Culprit{.kind = Culprit::Kind::everyone,
                   .hung = gbps == 0,
                   .gbps = gbps,
                   .share = floor ? gbps / *floor : 0,
                   .evidence = {}};
  }
  const double visible = 1 - scale->limit / scale->median;
  const bool hidden = hides_losses(*scale);
  if (hidden || (found.slow.empty() && found.pairs.empty())) {
    if (auto rates = two_rates(pairs, nodes); !rates.empty()) return not_enough(std::move(rates));
  }
  if (!hidden) return {};
  const auto varies = fmt::format("the rates of healthy pairs vary by {:.1f}%",
                                  kPercent * scale->deviation / scale->median);
  if (visible >= 1) return not_enough(fmt::format("too noisy to find a slow node: {}", varies));
  return not_enough(
      fmt::format("{}, which hides a loss of less than {:.0f}%", varies, kPercent * visible));
}

// Gives each group a switch of its own, with the names of its nodes.
void hang_from_switches(Nodes& nodes, const std::vector<std::vector<Node>>& groups) {
  nodes.leaves.assign(nodes.count(), kNoLeaf);
  for (const auto& group : groups) {
    std::vector<std::string> names;
    for (const auto node : group) {
      nodes.leaves[node] = static_cast<int>(nodes.leaf_names.size());
      names.push_back(nodes.names[node]);
    }
    nodes.leaf_names.push_back(fold_hostlist(names));
  }
}

class Locator {
 public:
  Locator(const Nodes& nodes, Measurer& measurer, const SearchOptions& options)
      : nodes_(nodes),
        measurer_(measurer),
        rounds_(measurer, options.floor, options.closely ? kCloseTolerance : kTolerance,
                options.watch),
        all_pairs_(options.strategy == Strategy::tournament),
        each_device_(options.strategy == Strategy::rails || options.closely),
        switches_first_(options.strategy == Strategy::fabric) {
    constexpr std::size_t kFewNodes = 16;
    const bool automatic =
        options.strategy == Strategy::automatic || options.strategy == Strategy::rails;
    if (automatic) all_pairs_ = nodes.count() <= kFewNodes;
  }

  [[nodiscard]] Result<SearchResult> run() {
    TRY(find_suspects());
    TRY(check_switches());
    TRY(check_rails());
    TRY(accuse());
    // Culprits that do not finish, then by their cost; then the conclusions about all nodes.
    std::ranges::stable_sort(result_.culprits, std::greater<>(), [this](const Culprit& each) {
      return std::pair(each.is_general() ? 0
                       : each.hung       ? 2
                                         : 1,
                       job_cost(each, result_, nodes_.devices));
    });
    result_.rounds = rounds_.count();
    result_.operations = rounds_.operations();
    for (auto& culprit : result_.culprits) {
      if (culprit.kind == Culprit::Kind::node) note_loss(culprit);
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool all_slow() const {
    return general_ && general_->kind == Culprit::Kind::everyone;
  }

  [[nodiscard]] Result<void> find_suspects() {
    if (switches_first_ && nodes_.zones.empty()) return {};
    const auto before = static_cast<std::ptrdiff_t>(result_.pairs.size());
    TRY_ASSIGN(found_, all_pairs_ ? tournament(nodes_, rounds_, result_)
                                  : screen(nodes_, rounds_, result_));
    const std::span pairs(result_.pairs.begin() + before, result_.pairs.end());
    general_ = judge_all(result_.scale, pairs, found_, rounds_.floor(), nodes_);
    return {};
  }

  // A fault of a switch accuses no node: the nodes are searched again on paths that avoid it.
  [[nodiscard]] Result<void> check_switches() {
    const bool unknown = nodes_.leaves.empty();
    if (switches_first_ && unknown) {
      return make_error("--strategy fabric: the topology has no leaf switch of two of the nodes");
    }
    auto topology = nodes_;
    if (unknown) {
      TRY_ASSIGN(const auto groups, groups_apart(found_, nodes_, rounds_, result_));
      if (groups.empty()) return {};
      hang_from_switches(topology, groups);
    }
    const bool undecided = general_ && !all_slow();
    const bool suspicious =
        switches_first_ || undecided || unknown || points_to_a_switch(found_, topology);
    if (!suspicious && !all_slow() && rounds_.floor()) return {};
    TRY_ASSIGN(auto switches, judge_switches(topology, rounds_, result_.pairs, suspicious));
    if (switches.zones.empty()) clear_congested_leaves(switches, topology);
    for (auto& culprit : switches.culprits) {
      if (unknown) culprit.leaf = kNoLeaf;  // it has no name
      result_.culprits.push_back(std::move(culprit));
    }
    nodes_.zones = std::move(switches.zones);
    if (switches_first_ && nodes_.zones.empty()) nodes_.zones.assign(nodes_.count(), 0);
    return nodes_.zones.empty() ? Result<void>() : find_suspects();
  }

  // If most nodes of a leaf switch are slow, but not below it, and it is fine with others while no
  // other node works, they are congested and not slow.
  void clear_congested_leaves(const SwitchVerdict& switches, const Nodes& topology) {
    for (std::size_t leaf = 0; leaf < switches.cross.size(); ++leaf) {
      if (!switches.cross[leaf]) continue;
      const auto index = static_cast<int>(leaf);
      const auto of_leaf = [&](const Suspect& each) {
        return topology.leaf(each.node) == index && switches.below[each.node];
      };
      const auto all = std::ranges::count(topology.leaves, index);
      const auto slow = std::ranges::count_if(found_.slow, of_leaf);
      if (slow < 2 || 2 * slow <= all) continue;
      Culprit jam{.kind = Culprit::Kind::congestion,
                  .leaf = nodes_.leaves.empty() ? kNoLeaf : index};
      std::erase_if(found_.slow, [&](const Suspect& each) {
        if (!of_leaf(each)) return false;
        jam.nodes.push_back(each.node);
        for (const auto& meeting : each.meetings) {
          jam.gbps = std::max(jam.gbps, meeting.gbps.value_or(0));
        }
        found_.proven.push_back(each.node);
        return true;
      });
      jam.share = jam.gbps / switches.base;
      jam.evidence = {fmt::format(
          "{} of its {} nodes are slow with nodes of other leaf switches while all work; one of "
          "them alone, with one of another, is not",
          slow, all)};
      result_.culprits.push_back(std::move(jam));
    }
  }

  // Without a limit, pairs cannot show a device that is slow on every node.
  [[nodiscard]] Result<void> check_rails() {
    if (!each_device_ && rounds_.floor() && !all_slow()) return {};
    if (static_cast<std::size_t>(nodes_.devices) < kEnough) return {};
    SearchResult of_devices;
    TRY_ASSIGN(auto found, rails(nodes_, rounds_, found_.slow, of_devices));
    if (of_devices.culprits.empty()) return {};
    append(result_.culprits, std::move(of_devices.culprits));
    if (all_slow()) general_.reset();
    found_ = std::move(found);
    return {};
  }

  [[nodiscard]] Result<void> accuse() {
    if (general_) result_.culprits.push_back(*general_);
    const bool suspicious = !found_.slow.empty() || !found_.pairs.empty();
    if (all_slow() && !suspicious && hides_losses(*result_.scale)) return {};
    if (all_slow() && found_.proven.empty()) return {};
    if (suspicious) {
      TRY_ASSIGN(auto culprits, explain(found_, nodes_, rounds_));
      append(result_.culprits, std::move(culprits));
    }
    return result_.scale ? measure_together(nodes_, rounds_, result_) : Result<void>();
  }

  // A node that does not finish because its processes have ended.
  void note_loss(Culprit& culprit) const {
    culprit.loss = measurer_.loss_of(culprit.nodes[0]);
    if (culprit.loss.empty()) return;
    culprit.evidence = {"the cause is unknown here; see its kernel log (memory, an XID)"};
    culprit.ruled_out.clear();
    culprit.probability = 0;
  }

  Nodes nodes_;
  Measurer& measurer_;
  Rounds rounds_;
  bool all_pairs_;
  bool each_device_;     // of disjoint pairs, also of those that are not slow
  bool switches_first_;  // before the nodes
  SearchResult result_;
  Suspicion found_;
  std::optional<Culprit> general_;  // about all nodes together
};

bool deserves_closer_look(const SearchResult& result, const SearchOptions& options) {
  if (!options.job_limit || !result.together || !result.together->gbps) return false;
  const auto limit = options.job_limit(result.together->algorithm);
  return limit && *result.together->gbps < *limit &&
         std::ranges::all_of(result.culprits, [](const Culprit& each) {
           return is_left_out(each) || each.kind == Culprit::Kind::not_enough_data;
         });
}

}  // namespace

void SearchResult::keep_pairs(const Round& round) {
  for (std::size_t i = 0; i < round.size(); ++i) {
    const auto& nodes = round.groups[i].nodes;
    pairs.push_back({{nodes[0], nodes[1]}, round.gbps[i]});
  }
}

Result<SearchResult> locate(const Nodes& nodes, Measurer& measurer, const SearchOptions& options) {
  if (nodes.count() < 2) return make_error("a search needs at least two nodes");
  TRY_ASSIGN(auto result, Locator(nodes, measurer, options).run());
  if (!deserves_closer_look(result, options)) return result;
  auto closer = options;
  closer.closely = true;
  TRY_ASSIGN(auto again, Locator(nodes, measurer, closer).run());
  const auto named = [](const SearchResult& each) {
    return std::ranges::count_if(each.culprits, [](const Culprit& culprit) {
      return culprit.kind != Culprit::Kind::not_enough_data;
    });
  };
  if (named(again) > named(result)) std::swap(result, again);
  result.rounds += again.rounds;
  result.operations += again.operations;
  return result;
}

}  // namespace muster::bench::locate
