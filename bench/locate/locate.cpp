// SPDX-License-Identifier: Apache-2.0
#include "bench/locate/locate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/locate/bisect.hpp"
#include "bench/locate/explain.hpp"
#include "bench/results/statistics.hpp"
#include "lib/hosts/hostlist.hpp"

namespace muster::bench::locate {
namespace {

constexpr std::size_t kFewNodes = 16;
constexpr double kPercent = 100;
constexpr double kApart = 0.9;  // a rate below so much of another one is no noise of it

// A loss that must be seen; where the noise hides it, nothing is said to be healthy.
constexpr double kVisibleLoss = 0.15;

Culprit not_enough(std::string why) {
  return {.kind = Culprit::Kind::not_enough_data, .evidence = {std::move(why)}};
}

// Of the rates at which half or more are too slow, those that are as expected, if the others are
// far below them: a median of all would be that of neither.
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
  if (most || good.size() < rule.enough) return {};
  return best_of_bad < kApart * std::ranges::min(good) ? good : std::vector<double>{};
}

// Where pairs reach one of two rates, which lie further from each other than their values do: which
// pairs do what; else empty.
std::string two_rates(const Search& search, const Nodes& nodes) {
  constexpr std::ptrdiff_t kLeast = 2;
  std::vector<PairRate> sorted;
  std::ranges::copy_if(search.pairs, std::back_inserter(sorted), [](const PairRate& each) {
    return each.gbps.has_value();
  });
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
      slow.size(),
      rate_text(*slow[slow.size() / 2].gbps),
      fast.size(),
      rate_text(*fast[fast.size() / 2].gbps),
      fold_hostlist(names));
}

// Of pairs that finished; nothing where none did.
std::optional<double> measured_median(const Search& search) {
  std::vector<double> rates;
  for (const auto& each : search.pairs) {
    if (each.gbps) rates.push_back(*each.gbps);
  }
  if (rates.empty()) return {};
  return median_of(std::move(rates));
}

// Nobody stands out: what is said of all of them. `alike`: no pair is meant to be faster.
std::optional<Culprit> judge_all(const Search& search,
                                 const Suspicion& found,
                                 const Rule& rule,
                                 const Nodes& nodes,
                                 bool alike) {
  if (!search.scale) {
    return not_enough(fmt::format(
        "fewer than {} rates to compare, and no limit to compare them with", rule.enough));
  }
  const auto& scale = *search.scale;
  if (found.proven.empty() || (rule.floor_gbps && scale.median < *rule.floor_gbps)) {
    // The scale may be what is expected.
    const auto measured = measured_median(search);
    const double gbps = measured.value_or(search.pairs.empty() ? scale.median : 0);
    return Culprit{.kind = Culprit::Kind::everyone,
                   .hung = gbps == 0,
                   .gbps = gbps,
                   .share = rule.floor_gbps ? gbps / *rule.floor_gbps : 0,
                   .probability = 0,
                   .evidence = {"no pair reaches what is expected, and none is proven good"}};
  }
  const double visible = 1 - scale.limit / scale.median;
  const bool hidden = visible > kVisibleLoss;
  const bool nobody = found.slow.empty() && found.pairs.empty();
  if (hidden || (nobody && alike)) {
    if (auto rates = two_rates(search, nodes); !rates.empty()) return not_enough(std::move(rates));
  }
  if (!hidden) return {};
  return not_enough(
      fmt::format("the rates of healthy pairs vary by {:.1f}%: a loss of less than {:.0f}% cannot "
                  "be told from that",
                  kPercent * scale.deviation / scale.median,
                  kPercent * visible));
}

Strategy strategy_for(Strategy asked, const Nodes& nodes) {
  if (asked != Strategy::automatic) return asked;
  return nodes.count() <= kFewNodes ? Strategy::tournament : Strategy::screen;
}

// Disjoint pairs, as what all nodes together are compared with.
Result<Suspicion> pairs_alone(const Nodes& nodes, Rounds& rounds, Search& search) {
  const auto pairs = pairs_across(nodes);
  const auto round = rounds.measure("disjoint pairs, all at once", groups_of(pairs));
  if (!round) return tl::unexpected(round.error());
  search.keep(*round);
  search.scale = first_scale(finished(*round), round->noise, rounds.rule());
  if (!search.scale) return Suspicion{};
  Suspicion suspicion{.slow = {}, .pairs = {}, .proven = {}, .scale = *search.scale};
  for (const auto& [a, b] : pairs) suspicion.proven.insert(suspicion.proven.end(), {a, b});
  return suspicion;
}

Result<Suspicion> suspect(Strategy strategy, const Nodes& nodes, Rounds& rounds, Search& search) {
  switch (strategy) {
    case Strategy::tournament:
      return tournament(nodes, rounds, search);
    case Strategy::bisect:
      return pairs_alone(nodes, rounds, search);
    case Strategy::rails:
      return rails(nodes, rounds, search);
    case Strategy::fabric:
      return fabric(nodes, rounds, search);
    case Strategy::automatic:
    case Strategy::screen:
      break;
  }
  return screen(nodes, rounds, search);
}

// What pairs cannot show, since it is the same for all of them: a device that is slow on every
// node, and, where all are too slow, a level of switches.
Result<std::vector<Culprit>> common_causes(const std::optional<Culprit>& general,
                                           const Suspicion& suspicion,
                                           const Nodes& nodes,
                                           Rounds& rounds) {
  const auto& rule = rounds.rule();
  const bool all_slow = general && general->kind == Culprit::Kind::everyone;
  const bool untold =
      !general && !rule.floor_gbps && suspicion.slow.empty() && suspicion.pairs.empty();
  std::vector<Culprit> found;
  if ((all_slow || untold) && static_cast<std::size_t>(nodes.devices) >= rule.enough) {
    auto slow = slow_rails(nodes, rounds);
    if (!slow) return slow;
    std::ranges::move(*slow, std::back_inserter(found));
  }
  if (all_slow && !nodes.leaves.empty()) {
    auto slow = slow_levels(nodes, rounds);
    if (!slow) return slow;
    std::ranges::move(*slow, std::back_inserter(found));
  }
  return found;
}

// A node that did not finish since its processes have ended.
void note_loss(const Measurer& measurer, Culprit& culprit) {
  culprit.loss = measurer.loss_of(culprit.nodes[0]);
  if (culprit.loss.empty()) return;
  culprit.evidence = {"why is not known here: its kernel log may tell (memory, an XID)"};
  culprit.ruled_out.clear();
  culprit.probability = 0;
}

bool is_common(const Culprit& culprit) {
  return culprit.kind == Culprit::Kind::rail || culprit.kind == Culprit::Kind::level;
}

}  // namespace

std::optional<Scale> first_scale(const std::vector<double>& values,
                                 double noise,
                                 const Rule& rule) {
  const auto good = clearly_good(values, rule);
  if (const auto scale = good.empty() ? std::nullopt : scale_of(good, noise, rule)) return scale;
  if (const auto scale = scale_of(values, noise, rule)) return scale;
  if (!rule.floor_gbps || values.empty()) return {};
  constexpr double kLeastDeviation = 0.005;
  return Scale{.count = values.size(),
               .median = *rule.floor_gbps,
               .deviation = std::max(noise, kLeastDeviation) * *rule.floor_gbps,
               .limit = *rule.floor_gbps};
}

void Search::keep(const Round& round) {
  for (std::size_t i = 0; i < round.size(); ++i) {
    const auto& nodes = round.groups[i].nodes;
    pairs.push_back({{nodes[0], nodes[1]}, round.gbps[i]});
  }
}

Result<Search> locate(const Nodes& nodes, Measurer& measurer, const Plan& plan) {
  if (nodes.count() < 2) return make_error("a search needs at least two nodes");
  Rounds rounds(measurer, plan.rule, plan.watch);
  Search search;
  const auto strategy = strategy_for(plan.strategy, nodes);
  auto found = suspect(strategy, nodes, rounds, search);
  if (!found) return tl::unexpected(found.error());
  const auto rule = found->of_device ? rule_of_device(plan.rule, nodes.devices) : plan.rule;
  const auto general = judge_all(search, *found, rule, nodes, strategy != Strategy::fabric);
  if (plan.strategy == Strategy::automatic) {
    auto common = common_causes(general, *found, nodes, rounds);
    if (!common) return tl::unexpected(common.error());
    std::ranges::move(*common, std::back_inserter(search.culprits));
  }
  const bool explained = general && general->kind == Culprit::Kind::everyone &&
                         std::ranges::any_of(search.culprits, is_common);
  if (general && !explained) search.culprits.push_back(*general);
  if (!general || general->kind == Culprit::Kind::not_enough_data) {
    if (!found->slow.empty() || !found->pairs.empty()) {
      auto culprits = explain(*found, nodes, rounds);
      if (!culprits) return tl::unexpected(culprits.error());
      std::ranges::move(*culprits, std::back_inserter(search.culprits));
    }
    if (search.scale && strategy != Strategy::rails) {
      if (auto done = measure_together(nodes, rounds, search); !done) {
        return tl::unexpected(done.error());
      }
    }
  }
  search.rounds = rounds.count();
  search.operations = rounds.operations();
  for (auto& culprit : search.culprits) {
    if (culprit.kind == Culprit::Kind::node) note_loss(measurer, culprit);
  }
  return search;
}

}  // namespace muster::bench::locate
