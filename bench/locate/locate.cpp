// SPDX-License-Identifier: Apache-2.0
#include "bench/locate/locate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/locate/switches.hpp"
#include "bench/results/statistics.hpp"
#include "lib/base/units.hpp"
#include "lib/hosts/hostlist.hpp"

namespace muster::bench::locate {
namespace {

constexpr std::size_t kFewNodes = 16;
constexpr double kApart = 0.9;  // a rate below so much of another one is no noise of it

// A loss that must be seen; where the noise hides it, nothing is said to be healthy.
constexpr double kVisibleLoss = 0.15;

Culprit not_enough(std::string why) {
  return {.kind = Culprit::Kind::not_enough_data, .evidence = {std::move(why)}};
}

// Of the rates most of which are too slow, those that are as expected, if the others are far below
// them: a median of all would be that of neither.
std::vector<double> clearly_good(const std::vector<double>& values, const Rule& rule) {
  std::vector<double> good;
  double best_of_bad = 0;
  for (const double value : values) {
    if (rule.floor_gbps && value >= *rule.floor_gbps) {
      good.push_back(value);
    } else {
      best_of_bad = std::max(best_of_bad, value);
    }
  }
  const bool most = good.size() * 2 > values.size();
  if (most || good.empty()) return {};
  return best_of_bad < kApart * std::ranges::min(good) ? good : std::vector<double>{};
}

// Where pairs reach one of two rates, which lie further from each other than their values do: which
// pairs do what; else empty.
std::string two_rates(std::span<const PairRate> pairs, const Nodes& nodes) {
  constexpr std::ptrdiff_t kLeast = 2;
  std::vector<PairRate> sorted;
  std::ranges::copy_if(pairs, std::back_inserter(sorted),
                       [](const PairRate& each) { return each.gbps.has_value(); });
  std::ranges::sort(sorted, {}, [](const PairRate& each) { return *each.gbps; });
  const auto gap = std::ranges::adjacent_find(
      sorted,
      [](const PairRate& one, const PairRate& next) { return *one.gbps < kApart * *next.gbps; });
  if (gap == sorted.end() || gap - sorted.begin() + 1 < kLeast || sorted.end() - gap - 1 < kLeast) {
    return {};
  }
  const std::span slow(sorted.begin(), gap + 1);
  const std::span fast(gap + 1, sorted.end());
  const double apart = *slow.back().gbps / *fast.front().gbps;
  const auto is_one_rate = [apart](std::span<const PairRate> all) {
    return *all.front().gbps > *all.back().gbps * (1 + apart) / 2;
  };
  if (!is_one_rate(slow) || !is_one_rate(fast)) return {};
  std::vector<std::string> names;
  for (const auto& [pair, gbps] : slow) {
    names.insert(names.end(), {nodes.names.at(pair.first), nodes.names.at(pair.second)});
  }
  return fmt::format(
      "{} pairs reach {} GB/s and {} reach {}: only a limit tells which is right (--min-busbw); "
      "the "
      "slower are among {}",
      slow.size(), rate_text(*slow[slow.size() / 2].gbps), fast.size(),
      rate_text(*fast[fast.size() / 2].gbps), fold_hostlist(names));
}

// Of pairs that finished; nothing where none did.
std::optional<double> measured_median(std::span<const PairRate> pairs) {
  std::vector<double> rates;
  for (const auto& each : pairs) {
    if (each.gbps) rates.push_back(*each.gbps);
  }
  if (rates.empty()) return {};
  return median_of(std::move(rates));
}

// Nobody stands out: what is said of all of them.
std::optional<Culprit> judge_all(const std::optional<Scale>& scale, std::span<const PairRate> pairs,
                                 const Suspicion& found, const Rule& rule, const Nodes& nodes) {
  if (!scale) {
    return not_enough(fmt::format(
        "fewer than {} rates to compare, and no limit to compare them with", rule.enough));
  }
  if (found.proven.empty() || (rule.floor_gbps && scale->median < *rule.floor_gbps)) {
    // The scale may be what is expected.
    const auto measured = measured_median(pairs);
    const double gbps = measured.value_or(pairs.empty() ? scale->median : 0);
    return Culprit{.kind = Culprit::Kind::everyone,
                   .hung = gbps == 0,
                   .gbps = gbps,
                   .share = rule.floor_gbps ? gbps / *rule.floor_gbps : 0,
                   .probability = 0,
                   .evidence = {"no pair reaches what is expected, and none is proven good"}};
  }
  const double visible = 1 - scale->limit / scale->median;
  const bool hidden = visible > kVisibleLoss;
  if (hidden || (found.slow.empty() && found.pairs.empty())) {
    if (auto rates = two_rates(pairs, nodes); !rates.empty()) return not_enough(std::move(rates));
  }
  if (!hidden) return {};
  return not_enough(fmt::format(
      "the rates of healthy pairs vary by {:.1f}%: a loss of less than {:.0f}% cannot "
      "be told from that",
      kPercent * scale->deviation / scale->median, std::min(kPercent, kPercent * visible)));
}

Strategy strategy_for(Strategy asked, const Nodes& nodes) {
  if (asked != Strategy::automatic && asked != Strategy::rails) return asked;
  return nodes.count() <= kFewNodes ? Strategy::tournament : Strategy::screen;
}

// Each of these groups has a switch of its own, named by its nodes.
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

// A node that did not finish since its processes have ended.
void note_loss(const Measurer& measurer, Culprit& culprit) {
  culprit.loss = measurer.loss_of(culprit.nodes[0]);
  if (culprit.loss.empty()) return;
  culprit.evidence = {"why is not known here: its kernel log may tell (memory, an XID)"};
  culprit.ruled_out.clear();
  culprit.probability = 0;
}

class Locator {
 public:
  Locator(const Nodes& nodes, Measurer& measurer, const Plan& plan)
      : nodes_(nodes),
        measurer_(measurer),
        rounds_(measurer, plan.rule, plan.watch),
        asked_(plan.strategy),
        strategy_(strategy_for(plan.strategy, nodes)) {}

  [[nodiscard]] Result<Search> run() {
    for (const auto step : {&Locator::suspect, &Locator::look_at_switches, &Locator::look_at_rails,
                            &Locator::accuse}) {
      if (auto done = (this->*step)(); !done) return tl::unexpected(done.error());
    }
    search_.rounds = rounds_.count();
    search_.operations = rounds_.operations();
    for (auto& culprit : search_.culprits) {
      if (culprit.kind == Culprit::Kind::node) note_loss(measurer_, culprit);
    }
    return std::move(search_);
  }

 private:
  [[nodiscard]] const Rule& rule() const { return rounds_.rule(); }

  [[nodiscard]] bool all_slow() const {
    return general_ && general_->kind == Culprit::Kind::everyone;
  }

  // Who is slow by pairs, or by devices.
  [[nodiscard]] Result<void> suspect() {
    if (strategy_ == Strategy::fabric && nodes_.zones.empty()) return {};  // first the switches
    const auto before = search_.pairs.size();
    const bool all_pairs = strategy_ == Strategy::tournament;
    auto found = put(found_, all_pairs ? tournament(nodes_, rounds_, search_)
                                       : screen(nodes_, rounds_, search_));
    if (!found) return found;
    const std::span pairs(search_.pairs.begin() + static_cast<std::ptrdiff_t>(before),
                          search_.pairs.end());
    general_ = judge_all(search_.scale, pairs, found_, rule(), nodes_);
    return {};
  }

  // What they are to blame for, no node is: the nodes are looked at anew, without their paths.
  [[nodiscard]] Result<void> look_at_switches() {
    const bool asked = strategy_ == Strategy::fabric;
    if (asked && nodes_.leaves.empty()) {
      return make_error("no two of the nodes hang from known leaf switches");
    }
    auto topology = nodes_;
    if (topology.leaves.empty()) {
      TRY_ASSIGN(const auto groups, groups_apart(found_, nodes_, rounds_, search_));
      if (groups.empty()) return {};
      hang_from_switches(topology, groups);
    }
    const bool two_rates = general_ && !all_slow();
    const bool suspicious =
        asked || two_rates || nodes_.leaves.empty() || points_to_a_switch(found_, topology);
    if (!suspicious && !all_slow() && rule().floor_gbps) return {};
    TRY_ASSIGN(auto switches, judge_switches(topology, rounds_, search_.pairs, suspicious));
    if (switches.zones.empty()) free_of_congestion(switches, topology);
    for (auto& culprit : switches.culprits) {
      if (nodes_.leaves.empty()) culprit.leaf = kNoLeaf;  // it has no name
      search_.culprits.push_back(std::move(culprit));
    }
    nodes_.zones = std::move(switches.zones);
    if (asked && nodes_.zones.empty()) nodes_.zones.assign(nodes_.count(), 0);
    return nodes_.zones.empty() ? Result<void>() : suspect();
  }

  // Most nodes of a leaf switch were slow while all worked, and are not below it: that is no slow
  // node, if the leaf switch is fine with others while nobody else works.
  void free_of_congestion(const Switches& switches, const Nodes& topology) {
    for (std::size_t leaf = 0; leaf < switches.cross.size(); ++leaf) {
      if (!switches.cross[leaf]) continue;
      const auto of_leaf = [&](const Suspect& each) {
        return topology.leaf(each.node) == static_cast<int>(leaf) && switches.below[each.node];
      };
      const auto all = std::ranges::count(topology.leaves, static_cast<int>(leaf));
      const auto slow = std::ranges::count_if(found_.slow, of_leaf);
      if (slow < 2 || 2 * slow <= all) continue;
      Culprit jam{.kind = Culprit::Kind::congestion,
                  .leaf = nodes_.leaves.empty() ? kNoLeaf : static_cast<int>(leaf)};
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
      search_.culprits.push_back(std::move(jam));
    }
  }

  // A device that is slow on every node, which pairs cannot show without a limit. Beside it, so is
  // who is slow in another device.
  [[nodiscard]] Result<void> look_at_rails() {
    const bool asked = asked_ == Strategy::rails || !rule().floor_gbps || all_slow();
    if (!asked || static_cast<std::size_t>(nodes_.devices) < rule().enough) return {};
    Search of_devices;
    TRY_ASSIGN(auto found, rails(nodes_, rounds_, found_.slow, of_devices));
    if (of_devices.culprits.empty()) return {};
    std::ranges::move(of_devices.culprits, std::back_inserter(search_.culprits));
    if (all_slow()) general_.reset();
    found_ = std::move(found);
    return {};
  }

  [[nodiscard]] Result<void> accuse() {
    if (general_) search_.culprits.push_back(*general_);
    if (all_slow()) return {};
    if (!found_.slow.empty() || !found_.pairs.empty()) {
      TRY_ASSIGN(auto culprits, explain(found_, nodes_, rounds_));
      std::ranges::move(culprits, std::back_inserter(search_.culprits));
    }
    return search_.scale ? measure_together(nodes_, rounds_, search_) : Result<void>();
  }

  Nodes nodes_;
  Measurer& measurer_;
  Rounds rounds_;
  Strategy asked_, strategy_;
  Search search_;
  Suspicion found_;
  std::optional<Culprit> general_;  // what is said of all of them
};

}  // namespace

std::optional<Scale> first_scale(const std::vector<double>& values, double noise,
                                 const Rule& rule) {
  if (const auto good = clearly_good(values, rule); !good.empty()) {
    const auto scale = scale_of(good, noise, rule);
    return scale ? scale : scale_about(median_of(good), noise, *rule.floor_gbps, good.size());
  }
  if (const auto scale = scale_of(values, noise, rule)) return scale;
  if (!rule.floor_gbps || values.empty()) return {};
  return scale_about(*rule.floor_gbps, noise, *rule.floor_gbps, values.size());
}

void Search::keep(const Round& round) {
  for (std::size_t i = 0; i < round.size(); ++i) {
    const auto& nodes = round.groups[i].nodes;
    pairs.push_back({{nodes[0], nodes[1]}, round.gbps[i]});
  }
}

Result<Search> locate(const Nodes& nodes, Measurer& measurer, const Plan& plan) {
  if (nodes.count() < 2) return make_error("a search needs at least two nodes");
  return Locator(nodes, measurer, plan).run();
}

}  // namespace muster::bench::locate
