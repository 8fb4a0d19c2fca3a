// SPDX-License-Identifier: Apache-2.0
#include "bench/locate/locate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "bench/locate/bisect.hpp"
#include "bench/locate/explain.hpp"

namespace muster::bench::locate {
namespace {

constexpr std::size_t kFewNodes = 16;
constexpr double kPercent = 100;

// A loss that must be seen; where the noise hides it, nothing is said to be healthy.
constexpr double kVisibleLoss = 0.15;

Culprit not_enough(std::string why) {
  return {.kind = Culprit::Kind::not_enough_data, .evidence = {std::move(why)}};
}

// Nobody stands out: what is said of all of them.
std::optional<Culprit> judge_all(const Search& search, const Suspicion& found, const Rule& rule) {
  if (!search.scale) {
    return not_enough(fmt::format(
        "fewer than {} rates to compare, and no limit to compare them with", rule.enough));
  }
  const auto& scale = *search.scale;
  if (found.proven.empty() || (rule.floor_gbps && scale.median < *rule.floor_gbps)) {
    return Culprit{.kind = Culprit::Kind::everyone,
                   .gbps = scale.median,
                   .share = rule.floor_gbps ? scale.median / *rule.floor_gbps : 0,
                   .probability = 0,
                   .evidence = {"no pair reaches what is expected, and none is proven good"}};
  }
  const double visible = 1 - scale.limit / scale.median;
  if (visible <= kVisibleLoss) return {};
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

bool is_common(const Culprit& culprit) {
  return culprit.kind == Culprit::Kind::rail || culprit.kind == Culprit::Kind::level;
}

}  // namespace

std::optional<Scale> first_scale(const std::vector<double>& values,
                                 double noise,
                                 const Rule& rule) {
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
  const auto general = judge_all(search, *found, rule);
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
  return search;
}

}  // namespace muster::bench::locate
