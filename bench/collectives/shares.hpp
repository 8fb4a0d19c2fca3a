// SPDX-License-Identifier: Apache-2.0
// The unequal parts of alltoallv. The part for the rank at a distance has 1, 2, 3 or 4 units in
// turn: what two ranks send each other differs, but all ranks send and receive equally much.
#pragma once

#include <cstdint>

namespace muster::bench {

// Units of a buffer.
struct Stretch {
  std::uint64_t first = 0;
  std::uint64_t count = 0;

  bool operator==(const Stretch&) const = default;
};

// The units that one rank sends, and that it receives.
[[nodiscard]] std::uint64_t shares_of(int ranks);
// Parts are in the order of the peers.
[[nodiscard]] Stretch sent_to(int peer, int rank, int ranks);
[[nodiscard]] Stretch received_from(int peer, int rank, int ranks);

}  // namespace muster::bench
