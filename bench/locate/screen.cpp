// SPDX-License-Identifier: Apache-2.0
// The strategy for few faults among many nodes: disjoint pairs, then suspects with proven partners.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bench/locate/locate.hpp"

namespace muster::bench::locate {
namespace {

std::vector<Node> partners_of(const Suspect& suspect) {
  std::vector<Node> met;
  for (const auto& meeting : suspect.meetings) met.push_back(meeting.partner);
  return met;
}

// Measures suspects again, each with a proven partner that it has not met.
class Retest {
 public:
  Retest(const Nodes& nodes, Rounds& rounds, SearchResult& result, Suspicion& suspicion)
      : nodes_(nodes), rounds_(rounds), result_(result), suspicion_(suspicion) {}

  // Measures each suspect, then once more those that are neither low nor fine, and those that are
  // slow by one measurement only.
  [[nodiscard]] Result<void> run(std::vector<Suspect> suspects) {
    TRY(measure(std::move(suspects)));
    auto once = std::exchange(unclear_, {});
    std::erase_if(suspicion_.slow, [&](const Suspect& suspect) {
      if (suspect.meetings.size() > 1) return false;
      once.push_back(suspect);
      return true;
    });
    TRY(measure(std::move(once)));
    for (const auto& suspect : unclear_) {
      result_.culprits.push_back(
          {.kind = Culprit::Kind::not_enough_data,
           .nodes = {suspect.node},
           .evidence = {fmt::format("{} is neither slow nor fine with {} partners",
                                    nodes_.names[suspect.node], suspect.meetings.size())}});
    }
    return {};
  }

 private:
  // In as many rounds as there are too few partners for one.
  [[nodiscard]] Result<void> measure(std::vector<Suspect> suspects) {
    const auto proven = suspicion_.proven;
    while (!suspects.empty() && !proven.empty()) {
      const auto end =
          suspects.begin() + static_cast<std::ptrdiff_t>(std::min(suspects.size(), proven.size()));
      std::vector<Suspect> now(suspects.begin(), end);
      suspects.erase(suspects.begin(), end);
      const auto asked = now.size();
      TRY(measure_round(std::move(now), proven));
      // If all of them wait, they have met all proven nodes.
      append(waiting_.size() == asked ? unclear_ : suspects, std::exchange(waiting_, {}));
    }
    return {};
  }

  // A second measurement with the same partner would make a slow path look like a slow node.
  [[nodiscard]] Result<void> measure_round(std::vector<Suspect> suspects,
                                           std::vector<Node> partners) {
    constexpr std::size_t kMostControls = 32;
    std::vector<Pair> pairs;
    std::erase_if(suspects, [&](Suspect& suspect) {
      const auto partner = partner_of(suspect.node, partners, partners_of(suspect), nodes_);
      if (partner == partners.end()) {
        waiting_.push_back(std::move(suspect));
        return true;
      }
      pairs.emplace_back(suspect.node, *partner);
      partners.erase(partner);
      return false;
    });
    if (pairs.empty()) return {};
    const auto count = pairs.size();
    append(pairs, take_controls(partners, kMostControls, nodes_));
    TRY_ASSIGN(const auto round,
               rounds_.measure("suspects with proven partners", groups_of(pairs)));
    result_.keep_pairs(round);
    const auto scale = scale_from(round, count, suspicion_.scale);
    for (std::size_t i = 0; i < count; ++i) {
      auto& suspect = suspects[i];
      const auto& gbps = round.gbps[i];
      suspect.meetings.push_back({pairs[i].second, gbps, scale});
      if (scale.fine(gbps)) {
        suspicion_.proven.push_back(suspect.node);
      } else {
        (scale.low(gbps) ? suspicion_.slow : unclear_).push_back(std::move(suspect));
      }
    }
    return {};
  }

  const Nodes& nodes_;
  Rounds& rounds_;
  SearchResult& result_;
  Suspicion& suspicion_;
  std::vector<Suspect> unclear_;
  std::vector<Suspect> waiting_;  // for a partner that they have not met
};

}  // namespace

Result<Suspicion> screen(const Nodes& nodes, Rounds& rounds, SearchResult& result) {
  const auto pairs = pairs_across(nodes);
  TRY_ASSIGN(const auto round, rounds.measure("disjoint pairs, all at once", groups_of(pairs)));
  result.keep_pairs(round);
  result.scale = first_scale(finished(round), round.noise, rounds.floor());
  if (!result.scale) return Suspicion{};
  Suspicion suspicion{.scale = *result.scale};
  std::vector<Suspect> suspects;
  std::vector<SlowPair> slow;
  std::vector<bool> met(nodes.count());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto [a, b] = pairs[i];
    met[a] = met[b] = true;
    const auto& gbps = round.gbps[i];
    if (suspicion.scale.fine(gbps)) {
      append(suspicion.proven, {a, b});
      continue;
    }
    suspects.push_back({.node = a, .meetings = {{b, gbps, suspicion.scale}}});
    suspects.push_back({.node = b, .meetings = {{a, gbps, suspicion.scale}}});
    if (suspicion.scale.low(gbps)) slow.push_back({pairs[i], gbps, suspicion.scale});
  }
  // The node that had no partner is measured now, and once more if it is slow.
  for (Node node = 0; node < nodes.count(); ++node) {
    if (!met[node]) suspects.push_back({.node = node});
  }
  TRY(Retest(nodes, rounds, result, suspicion).run(std::move(suspects)));
  std::ranges::copy_if(slow, std::back_inserter(suspicion.pairs), [&](const SlowPair& each) {
    const auto fine = [&](Node node) { return std::ranges::count(suspicion.proven, node) > 0; };
    return fine(each.pair.first) && fine(each.pair.second);
  });
  return suspicion;
}

}  // namespace muster::bench::locate
