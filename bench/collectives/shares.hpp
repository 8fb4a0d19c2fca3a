// SPDX-License-Identifier: Apache-2.0
// The unequal parts of alltoallv, in units that all ranks share. The part for the rank so many
// places further on, counted around, has 1, 2, 3 or 4 units in turn: what two ranks send each other
// differs, and every rank sends and receives as much as any other.
#pragma once

#include <cstdint>

namespace muster::bench {

// Units of a buffer.
struct Stretch {
  std::uint64_t first = 0;
  std::uint64_t count = 0;

  bool operator==(const Stretch&) const = default;
};

// All that one rank sends, and all that it receives.
[[nodiscard]] std::uint64_t shares_of(int ranks);
// Parts lie in the order of the ranks that they are for, or from.
[[nodiscard]] Stretch sent_to(int peer, int rank, int ranks);
[[nodiscard]] Stretch received_from(int peer, int rank, int ranks);

}  // namespace muster::bench
