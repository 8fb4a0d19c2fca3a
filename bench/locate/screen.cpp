// SPDX-License-Identifier: Apache-2.0
// The strategy for few faults among many nodes: two rounds name the slow nodes.
#include <algorithm>
#include <utility>

#include "bench/locate/explain.hpp"
#include "bench/locate/locate.hpp"
#include "bench/locate/retry.hpp"

namespace muster::bench::locate {

Result<Suspicion> screen(const Nodes& nodes, Rounds& rounds, Search& search) {
  const auto pairs = pairs_across(nodes);
  const auto round = rounds.measure("disjoint pairs, all at once", groups_of(pairs));
  if (!round) return tl::unexpected(round.error());
  search.keep(*round);
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
  for (const auto& pair : slow) {
    const auto fine = [&](Node node) { return std::ranges::count(suspicion.proven, node) > 0; };
    if (fine(pair.pair.first) && fine(pair.pair.second)) suspicion.pairs.push_back(pair);
  }
  return suspicion;
}

}  // namespace muster::bench::locate
