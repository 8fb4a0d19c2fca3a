// SPDX-License-Identifier: Apache-2.0
#include "bench/collectives/shares.hpp"

#include <array>

namespace muster::bench {
namespace {

constexpr std::uint64_t kTurn = 4;

std::uint64_t share_at(std::uint64_t distance) { return 1 + distance % kTurn; }

// Of all distances below this one.
std::uint64_t shares_below(std::uint64_t distance) {
  constexpr std::array<std::uint64_t, kTurn> kBegun{0, 1, 3, 6};
  constexpr std::uint64_t kOfTurn = 10;
  return distance / kTurn * kOfTurn + kBegun.at(distance % kTurn);
}

}  // namespace

std::uint64_t shares_of(int ranks) { return shares_below(static_cast<std::uint64_t>(ranks)); }

// The ranks from 0 on are n - rank, n - rank + 1 and so on places further on, up to n - 1; rank
// itself is 0 places further on, and then it goes on with 1.
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

// From the ranks from 0 on, this one is rank, rank - 1 and so on places further on, down to 0;
// from the next ones n - 1 and less.
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
