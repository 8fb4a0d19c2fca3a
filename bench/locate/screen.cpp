// SPDX-License-Identifier: Apache-2.0
// The strategy for few faults among many nodes: two rounds name the slow nodes.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "bench/locate/explain.hpp"
#include "bench/locate/locate.hpp"

namespace muster::bench::locate {
namespace {

constexpr std::size_t kControls = 32;

void keep(const Round& round, Search& search) {
  for (std::size_t i = 0; i < round.size(); ++i) {
    const auto& nodes = round.groups[i].nodes;
    search.pairs.push_back({{nodes[0], nodes[1]}, round.gbps[i]});
  }
}

// Each suspect with a partner of its own that has proven good, in as many rounds as partners need.
class Retry {
 public:
  Retry(const Nodes& nodes, Rounds& rounds, Search& search, Suspicion& suspicion)
      : nodes_(nodes), rounds_(rounds), search_(search), suspicion_(suspicion) {}

  // Those of the last run that were neither low nor fine.
  [[nodiscard]] std::vector<Suspect> take_unclear() { return std::exchange(unclear_, {}); }

  [[nodiscard]] Result<void> run(std::vector<Suspect> suspects) {
    const auto proven = suspicion_.proven;
    while (!suspects.empty() && !proven.empty()) {
      const auto count = std::min(suspects.size(), proven.size());
      const std::vector<Suspect> now(suspects.begin(),
                                     suspects.begin() + static_cast<std::ptrdiff_t>(count));
      suspects.erase(suspects.begin(), suspects.begin() + static_cast<std::ptrdiff_t>(count));
      if (auto done = batch(now, proven); !done) return done;
    }
    return {};
  }

 private:
  [[nodiscard]] Result<void> batch(const std::vector<Suspect>& suspects,
                                   std::vector<Node> partners) {
    std::vector<Node> seekers(suspects.size());
    std::ranges::transform(suspects, seekers.begin(), &Suspect::node);
    auto pairs = pair_with(seekers, partners, nodes_);
    const auto count = pairs.size();
    std::ranges::move(take_controls(partners, kControls, nodes_), std::back_inserter(pairs));
    const auto round = rounds_.measure("suspects with proven partners", groups_of(pairs));
    if (!round) return tl::unexpected(round.error());
    keep(*round, search_);
    const auto scale = scale_from(*round, count, suspicion_.scale, rounds_.rule());
    for (std::size_t i = 0; i < count; ++i) {
      auto suspect = suspects[i];
      suspect.meetings.push_back({pairs[i].second, round->gbps[i], scale});
      if (is_low(round->gbps[i], scale)) {
        suspicion_.slow.push_back(std::move(suspect));
      } else if (is_fine(round->gbps[i], scale)) {
        suspicion_.proven.push_back(suspect.node);
      } else {
        unclear_.push_back(std::move(suspect));
      }
    }
    return {};
  }

  const Nodes& nodes_;
  Rounds& rounds_;
  Search& search_;
  Suspicion& suspicion_;
  std::vector<Suspect> unclear_;
};

}  // namespace

Result<Suspicion> screen(const Nodes& nodes, Rounds& rounds, Search& search) {
  const auto pairs = pairs_across(nodes);
  const auto round = rounds.measure("disjoint pairs, all at once", groups_of(pairs));
  if (!round) return tl::unexpected(round.error());
  keep(*round, search);
  search.scale = first_scale(finished(*round), round->noise, rounds.rule());
  if (!search.scale) return Suspicion{};
  Suspicion suspicion{.slow = {}, .pairs = {}, .proven = {}, .scale = *search.scale};
  std::vector<Suspect> suspects;
  std::vector<SlowPair> slow;
  std::vector<bool> met(nodes.count());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto [a, b] = pairs[i];
    met[a] = met[b] = true;
    const auto& gbps = round->gbps[i];
    if (is_fine(gbps, suspicion.scale)) {
      suspicion.proven.insert(suspicion.proven.end(), {a, b});
      continue;
    }
    suspects.push_back({.node = a, .meetings = {{b, gbps, suspicion.scale}}});
    suspects.push_back({.node = b, .meetings = {{a, gbps, suspicion.scale}}});
    if (!is_low(gbps, suspicion.scale)) continue;
    slow.push_back({.pair = {a, b}, .gbps = gbps, .scale = suspicion.scale});
  }
  // Of an odd number one rested; it is measured now, and once more if it is slow.
  for (Node node = 0; node < nodes.count(); ++node) {
    if (!met[node]) suspects.push_back({.node = node});
  }
  Retry retry(nodes, rounds, search, suspicion);
  if (auto done = retry.run(std::move(suspects)); !done) return tl::unexpected(done.error());
  // Once more: who was neither low nor fine, and who is slow by one measurement only.
  auto once = retry.take_unclear();
  std::erase_if(suspicion.slow, [&](const Suspect& suspect) {
    if (suspect.meetings.size() > 1) return false;
    once.push_back(suspect);
    return true;
  });
  if (auto done = retry.run(std::move(once)); !done) return tl::unexpected(done.error());
  for (const auto& suspect : retry.take_unclear()) {
    search.culprits.push_back(
        {.kind = Culprit::Kind::not_enough_data,
         .nodes = {suspect.node},
         .evidence = {fmt::format("{} is neither slow nor fine with {} partners",
                                  nodes.names[suspect.node],
                                  suspect.meetings.size())}});
  }
  for (const auto& pair : slow) {
    const auto fine = [&](Node node) { return std::ranges::count(suspicion.proven, node) > 0; };
    if (fine(pair.pair.first) && fine(pair.pair.second)) suspicion.pairs.push_back(pair);
  }
  return suspicion;
}

}  // namespace muster::bench::locate
