// SPDX-License-Identifier: Apache-2.0
#include "bench/locate/locate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/units.hpp"
#include "lib/hosts/hostlist.hpp"
#include "lib/statistics/statistics.hpp"

namespace muster::bench::locate {
namespace {

// If pairs reach one of two rates, with a gap between them that is wider than each one's spread: a
// sentence about them. Else empty.
std::string two_rates(std::span<const PairRate> pairs, const Nodes& nodes) {
  constexpr double kGap = 0.9;
  std::vector<PairRate> sorted(pairs.begin(), pairs.end());
  std::erase_if(sorted, [](const PairRate& each) { return !each.gbps; });
  std::ranges::sort(sorted, {}, &PairRate::gbps);
  const auto gap = std::ranges::adjacent_find(
      sorted, [](double one, double next) { return one < kGap * next; },
      [](const PairRate& each) { return *each.gbps; });
  if (gap == sorted.end()) return {};
  const std::span slow(sorted.begin(), gap + 1);
  const std::span fast(gap + 1, sorted.end());
  const double apart = *slow.back().gbps / *fast.front().gbps;
  const auto is_one_rate = [apart](std::span<const PairRate> all) {
    return all.size() >= 2 && *all.front().gbps > *all.back().gbps * (1 + apart) / 2;
  };
  if (!is_one_rate(slow) || !is_one_rate(fast)) return {};
  std::vector<Node> slower;
  for (const auto& [pair, gbps] : slow) append(slower, {pair.first, pair.second});
  return fmt::format(
      "{} pairs reach {} GB/s and {} reach {}: pass --min-busbw to set the expected value; the "
      "slower pairs are among {}",
      slow.size(), rate_text(*slow[slow.size() / 2].gbps), fast.size(),
      rate_text(*fast[fast.size() / 2].gbps), fold_hostlist(names_of(slower, nodes)));
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
  if (!scale && none_finished(pairs)) {
    return Culprit{.kind = Culprit::Kind::everyone, .hung = true, .evidence = {}};
  }
  if (!scale) {
    return not_enough_data(
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
    if (auto rates = two_rates(pairs, nodes); !rates.empty())
      return not_enough_data(std::move(rates));
  }
  if (!hidden) return {};
  const auto varies = fmt::format("the rates of healthy pairs vary by {:.1f}%",
                                  kPercent * scale->deviation / scale->median);
  if (visible >= 1)
    return not_enough_data(fmt::format("too noisy to find a slow node: {}", varies));
  return not_enough_data(
      fmt::format("{}, which hides a loss of less than {:.0f}%", varies, kPercent * visible));
}

// Gives each group its own switch, with the names of its nodes.
void hang_from_switches(Nodes& nodes, const std::vector<std::vector<Node>>& groups) {
  nodes.leaves.assign(nodes.count(), kNoLeaf);
  for (const auto& group : groups) {
    for (const auto node : group) nodes.leaves[node] = static_cast<int>(nodes.leaf_names.size());
    nodes.leaf_names.push_back(fold_hostlist(names_of(group, nodes)));
  }
}

std::vector<std::vector<Node>> racks_of(const Nodes& nodes) {
  std::map<int, std::vector<Node>> racks;
  for (Node node = 0; node < nodes.count(); ++node) racks[nodes.domains[node]].push_back(node);
  std::vector<std::vector<Node>> all;
  for (auto& [domain, members] : racks) all.push_back(std::move(members));
  return all;
}

// Whether more than half of the nodes are in one of several NVLink domains.
bool most_are_in_one_domain(const Nodes& nodes) {
  return std::ranges::any_of(nodes.domains, [&](int domain) {
    return 2 * static_cast<std::size_t>(std::ranges::count(nodes.domains, domain)) > nodes.count();
  });
}

class Locator {
 public:
  Locator(const Nodes& nodes, Measurer& measurer, const SearchOptions& options)
      : options_(options),
        measurer_(measurer),
        rounds_(measurer, options.floor, options.closely ? kCloseTolerance : kTolerance,
                options.watch) {
    result_.nodes = nodes;
  }

  [[nodiscard]] Result<SearchResult> run() {
    TRY(find_suspects());
    TRY(check_switches());
    TRY(check_rails());
    TRY(accuse());
    // Culprits that do not finish, then by their cost; then the conclusions about all nodes.
    std::ranges::stable_sort(result_.culprits, std::greater<>(), [this](const Culprit& each) {
      return std::pair(each.is_general() ? 0 : each.hung ? 2 : 1, job_cost(each, result_));
    });
    result_.rounds = rounds_.count();
    result_.operations = rounds_.operations();
    result_.limits.pair = options_.floor;
    if (options_.job_limit) {
      result_.limits.job = options_.job_limit(result_.together ? result_.together->algorithm : "");
    }
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
    constexpr std::size_t kFewNodes = 16;
    constexpr std::size_t kMostOfOneDomain = 64;  // disjoint pairs would be too few to compare
    if (switches_first_ && result_.nodes.zones.empty()) return {};
    const auto& nodes = result_.nodes;
    const bool few = nodes.count() <= kFewNodes ||
                     (nodes.count() <= kMostOfOneDomain && most_are_in_one_domain(nodes));
    const bool all_pairs = options_.strategy == Strategy::tournament ||
                           (few && (options_.strategy == Strategy::automatic || by_device_));
    const auto before = static_cast<std::ptrdiff_t>(result_.pairs.size());
    TRY_ASSIGN(found_, all_pairs ? tournament(rounds_, result_) : screen(rounds_, result_));
    const std::span pairs(result_.pairs.begin() + before, result_.pairs.end());
    general_ = judge_all(result_.scale, pairs, found_, rounds_.floor(), result_.nodes);
    return {};
  }

  // A fault of a switch accuses no node: the nodes are searched again on paths that avoid it.
  [[nodiscard]] Result<void> check_switches() {
    auto& nodes = result_.nodes;
    const bool unknown = nodes.leaves.empty();
    if (switches_first_ && unknown) {
      return make_error("--strategy fabric: the topology has no leaf switch of two of the nodes");
    }
    auto topology = nodes;
    const bool racks = unknown && !nodes.domains.empty();
    if (racks) {
      hang_from_switches(topology, racks_of(nodes));
    } else if (unknown) {
      TRY_ASSIGN(const auto groups, groups_apart(found_, rounds_, result_));
      if (groups.empty()) return {};
      hang_from_switches(topology, groups);
    }
    const bool undecided = general_ && !all_slow();
    const bool suspicious =
        switches_first_ || undecided || (unknown && !racks) || points_to_a_switch(found_, topology);
    if (!suspicious && !all_slow() && rounds_.floor()) return {};
    TRY_ASSIGN(auto switches, judge_switches(topology, rounds_, result_.pairs, suspicious));
    if (switches.zones.empty()) clear_congested_leaves(switches, topology);
    for (auto& culprit : switches.culprits) {
      if (unknown) culprit.leaf = kNoLeaf;  // it has no name
      result_.culprits.push_back(std::move(culprit));
    }
    nodes.zones = std::move(switches.zones);
    if (switches_first_ && nodes.zones.empty()) nodes.zones.assign(nodes.count(), 0);
    if (pairs_across(nodes).empty()) nodes.domains.clear();  // NVLink is all that is left
    return nodes.zones.empty() ? Result<void>() : find_suspects();
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
                  .leaf = result_.nodes.leaves.empty() ? kNoLeaf : index};
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
    const bool each_device = by_device_ || options_.closely;
    if (!each_device && rounds_.floor() && !all_slow()) return {};
    if (static_cast<std::size_t>(result_.nodes.devices) < kEnough) return {};
    TRY_ASSIGN(auto found, rails(rounds_, found_.slow, result_));
    if (found.devices.empty()) return {};
    if (all_slow()) general_.reset();
    found_ = std::move(found);
    return {};
  }

  [[nodiscard]] Result<void> accuse() {
    if (general_) result_.culprits.push_back(*general_);
    const bool suspicious = !found_.slow.empty() || !found_.pairs.empty();
    if (all_slow() && found_.proven.empty()) return {};
    if (all_slow() && !suspicious && hides_losses(*result_.scale)) return {};
    if (suspicious) {
      TRY_ASSIGN(auto culprits, explain(found_, result_.nodes, rounds_));
      append(result_.culprits, std::move(culprits));
    }
    return result_.scale ? measure_together(rounds_, result_) : Result<void>();
  }

  // A node that does not finish because its processes have ended.
  void note_loss(Culprit& culprit) const {
    culprit.loss = measurer_.loss_of(culprit.nodes[0]);
    if (culprit.loss.empty()) return;
    culprit.evidence = {"the cause is unknown here; see its kernel log (memory, an XID)"};
    culprit.ruled_out.clear();
    culprit.probability = 0;
  }

  const SearchOptions& options_;
  Measurer& measurer_;
  Rounds rounds_;
  bool by_device_ = options_.strategy == Strategy::rails;
  bool switches_first_ = options_.strategy == Strategy::fabric;  // before the nodes
  SearchResult result_;
  Suspicion found_;
  std::optional<Culprit> general_;  // about all nodes together
};

bool deserves_closer_look(const SearchResult& result) {
  const auto gbps = result.together_gbps();
  return gbps && result.limits.job && *gbps < *result.limits.job &&
         std::ranges::all_of(result.culprits, [](const Culprit& each) {
           return is_left_out(each) || each.kind == Culprit::Kind::not_enough_data;
         });
}

}  // namespace

bool none_finished(std::span<const PairRate> pairs) {
  const auto finished = [](const PairRate& each) { return each.gbps.has_value(); };
  return !pairs.empty() && std::ranges::none_of(pairs, finished);
}

void SearchResult::keep_pairs(const Round& round) {
  for (std::size_t i = 0; i < round.size(); ++i) {
    const auto& group = round.groups[i].nodes;
    pairs.push_back({{group[0], group[1]}, round.gbps[i]});
  }
}

Result<SearchResult> locate(const Nodes& nodes, Measurer& measurer, const SearchOptions& options) {
  if (nodes.count() < 2) return make_error("a search needs at least two nodes");
  TRY_ASSIGN(auto result, Locator(nodes, measurer, options).run());
  if (!deserves_closer_look(result)) return result;
  auto closer = options;
  closer.closely = true;
  TRY_ASSIGN(auto again, Locator(nodes, measurer, closer).run());
  const auto named = [](const SearchResult& each) {
    return std::ssize(each.culprits) -
           std::ranges::count(each.culprits, Culprit::Kind::not_enough_data, &Culprit::kind);
  };
  if (named(again) > named(result)) std::swap(result, again);
  result.rounds += again.rounds;
  result.operations += again.operations;
  return result;
}

}  // namespace muster::bench::locate
