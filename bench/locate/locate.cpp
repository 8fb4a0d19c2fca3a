// SPDX-License-Identifier: Apache-2.0
#include "bench/locate/locate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

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

Result<Search> locate(const Nodes& nodes, Measurer& measurer, const Plan& plan) {
  if (nodes.count() < 2) return make_error("a search needs at least two nodes");
  Rounds rounds(measurer, plan.rule, plan.watch);
  Search search;
  const bool few = nodes.count() <= kFewNodes;
  const bool all =
      plan.strategy == Strategy::tournament || (plan.strategy == Strategy::automatic && few);
  auto found = all ? tournament(nodes, rounds, search) : screen(nodes, rounds, search);
  if (!found) return tl::unexpected(found.error());
  const auto general = judge_all(search, *found, plan.rule);
  if (general) search.culprits.push_back(*general);
  if (!general || general->kind == Culprit::Kind::not_enough_data) {
    if (!found->slow.empty() || !found->pairs.empty()) {
      auto culprits = explain(*found, nodes, rounds);
      if (!culprits) return tl::unexpected(culprits.error());
      std::ranges::move(*culprits, std::back_inserter(search.culprits));
    }
  }
  search.rounds = rounds.count();
  search.operations = rounds.operations();
  return search;
}

}  // namespace muster::bench::locate
