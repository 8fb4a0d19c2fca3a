// SPDX-License-Identifier: Apache-2.0
// The strategy for few faults among many nodes: two rounds name the slow nodes.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "bench/locate/locate.hpp"

namespace muster::bench::locate {
namespace {

constexpr std::size_t kMostControls = 32;

std::vector<Node> met_by(const Suspect& suspect) {
  std::vector<Node> met;
  for (const auto& meeting : suspect.meetings) met.push_back(meeting.partner);
  return met;
}

// Suspects again, each with a partner that has proven good.
class Retry {
 public:
  // All must live longer. What is measured goes into `search`, and into the suspicion who is slow
  // and who is proven.
  Retry(const Nodes& nodes, Rounds& rounds, Search& search, Suspicion& suspicion)
      : nodes_(nodes), rounds_(rounds), search_(search), suspicion_(suspicion) {}

  // In as many rounds as partners need; then once more who was neither low nor fine, and who is
  // slow by one measurement only. Who stays unclear is said to be.
  [[nodiscard]] Result<void> run(std::vector<Suspect> suspects) {
    if (auto done = measure(std::move(suspects)); !done) return done;
    auto once = std::exchange(unclear_, {});
    std::erase_if(suspicion_.slow, [&](const Suspect& suspect) {
      if (suspect.meetings.size() > 1) return false;
      once.push_back(suspect);
      return true;
    });
    if (auto done = measure(std::move(once)); !done) return done;
    for (const auto& suspect : unclear_) {
      search_.culprits.push_back(
          {.kind = Culprit::Kind::not_enough_data,
           .nodes = {suspect.node},
           .evidence = {fmt::format("{} is neither slow nor fine with two partners: it has met {}",
                                    nodes_.names[suspect.node], suspect.meetings.size())}});
    }
    return {};
  }

 private:
  // Of two measurements with one partner, a slow path between the two would make a slow node.
  [[nodiscard]] Result<void> measure_some(std::vector<Suspect> suspects,
                                          std::vector<Node> partners) {
    std::vector<Pair> pairs;
    std::erase_if(suspects, [&](Suspect& suspect) {
      const auto partner = partner_of(suspect.node, partners, met_by(suspect), nodes_);
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
    std::ranges::move(take_controls(partners, kMostControls, nodes_), std::back_inserter(pairs));
    TRY_ASSIGN(const auto round,
               rounds_.measure("suspects with proven partners", groups_of(pairs)));
    search_.keep(round);
    const auto scale = scale_from(round, count, suspicion_.scale, rounds_.rule());
    for (std::size_t i = 0; i < count; ++i) {
      auto& suspect = suspects[i];
      suspect.meetings.push_back({pairs[i].second, round.gbps[i], scale});
      if (scale.low(round.gbps[i])) {
        suspicion_.slow.push_back(std::move(suspect));
      } else if (scale.fine(round.gbps[i])) {
        suspicion_.proven.push_back(suspect.node);
      } else {
        unclear_.push_back(std::move(suspect));
      }
    }
    return {};
  }

  [[nodiscard]] Result<void> measure(std::vector<Suspect> suspects) {
    const auto proven = suspicion_.proven;
    while (!suspects.empty() && !proven.empty()) {
      const auto end =
          suspects.begin() + static_cast<std::ptrdiff_t>(std::min(suspects.size(), proven.size()));
      std::vector<Suspect> now(suspects.begin(), end);
      suspects.erase(suspects.begin(), end);
      const auto asked = now.size();
      if (auto done = measure_some(std::move(now), proven); !done) return done;
      // They have met everybody, or others have taken whom they had not.
      auto& to = waiting_.size() == asked ? unclear_ : suspects;
      std::ranges::move(std::exchange(waiting_, {}), std::back_inserter(to));
    }
    return {};
  }

  const Nodes& nodes_;
  Rounds& rounds_;
  Search& search_;
  Suspicion& suspicion_;
  std::vector<Suspect> unclear_;
  std::vector<Suspect> waiting_;  // for whom there was no partner that they had not met
};

}  // namespace

Result<Suspicion> screen(const Nodes& nodes, Rounds& rounds, Search& search) {
  const auto pairs = pairs_across(nodes);
  TRY_ASSIGN(const auto round, rounds.measure("disjoint pairs, all at once", groups_of(pairs)));
  search.keep(round);
  search.scale = first_scale(finished(round), round.noise, rounds.rule());
  if (!search.scale) return Suspicion{};
  Suspicion suspicion{.slow = {}, .pairs = {}, .proven = {}, .scale = *search.scale};
  std::vector<Suspect> suspects;
  std::vector<SlowPair> slow;
  std::vector<bool> met(nodes.count());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto [a, b] = pairs[i];
    met[a] = met[b] = true;
    const auto& gbps = round.gbps[i];
    if (suspicion.scale.fine(gbps)) {
      suspicion.proven.insert(suspicion.proven.end(), {a, b});
      continue;
    }
    suspects.push_back({.node = a, .meetings = {{b, gbps, suspicion.scale}}});
    suspects.push_back({.node = b, .meetings = {{a, gbps, suspicion.scale}}});
    if (!suspicion.scale.low(gbps)) continue;
    slow.push_back({.pair = {a, b}, .gbps = gbps, .scale = suspicion.scale});
  }
  // Of an odd number one rested; it is measured now, and once more if it is slow.
  for (Node node = 0; node < nodes.count(); ++node) {
    if (!met[node]) suspects.push_back({.node = node});
  }
  Retry retry(nodes, rounds, search, suspicion);
  if (auto done = retry.run(std::move(suspects)); !done) return tl::unexpected(done.error());
  for (const auto& pair : slow) {
    const auto fine = [&](Node node) { return std::ranges::count(suspicion.proven, node) > 0; };
    if (fine(pair.pair.first) && fine(pair.pair.second)) suspicion.pairs.push_back(pair);
  }
  return suspicion;
}

}  // namespace muster::bench::locate
