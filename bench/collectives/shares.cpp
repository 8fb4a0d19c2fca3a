// SPDX-License-Identifier: Apache-2.0
#include "bench/collectives/shares.hpp"

#include <array>

namespace muster::bench {
namespace {

constexpr std::uint64_t kTurn = 4;

std::uint64_t share_at(std::uint64_t distance) { return 1 + distance % kTurn; }

// The sum of the shares at all smaller distances.
std::uint64_t shares_below(std::uint64_t distance) {
  constexpr std::array<std::uint64_t, kTurn> kBegun{0, 1, 3, 6};
  constexpr std::uint64_t kOfTurn = 10;
  return distance / kTurn * kOfTurn + kBegun.at(distance % kTurn);
}

}  // namespace

std::uint64_t shares_of(int ranks) { return shares_below(static_cast<std::uint64_t>(ranks)); }

// The ranks below this one are at distances n - rank to n - 1; those from it on at 0, 1 and so on.
Stretch sent_to(int peer, int rank, int ranks) {
  const auto first = static_cast<std::uint64_t>(ranks - rank);
  const auto before = shares_below(static_cast<std::uint64_t>(ranks)) - shares_below(first);
  if (peer < rank) {
    const auto distance = static_cast<std::uint64_t>(ranks - rank + peer);
    return {.first = shares_below(distance) - shares_below(first), .count = share_at(distance)};
  }
  const auto distance = static_cast<std::uint64_t>(peer - rank);
  return {.first = before + shares_below(distance), .count = share_at(distance)};
}

// This rank is at distances rank to 0 from the ranks up to it, and at n - 1 and less from the
// others.
Stretch received_from(int peer, int rank, int ranks) {
  const auto own = shares_below(static_cast<std::uint64_t>(rank) + 1);
  if (peer <= rank) {
    const auto distance = static_cast<std::uint64_t>(rank - peer);
    return {.first = own - shares_below(distance + 1), .count = share_at(distance)};
  }
  const auto distance = static_cast<std::uint64_t>(ranks - peer + rank);
  const auto later = shares_of(ranks) - shares_below(distance + 1);
  return {.first = own + later, .count = share_at(distance)};
}

}  // namespace muster::bench
