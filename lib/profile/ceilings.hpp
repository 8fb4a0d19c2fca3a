// SPDX-License-Identifier: Apache-2.0
// What the hardware that a profile describes can do at most. A bandwidth limit above that is a slip
// of the pen: it would fail every healthy node.
#pragma once

#include <string>
#include <vector>

#include "lib/profile/profile.hpp"

namespace muster {

struct BoundedLimit {
  std::string path;               // "bench.peer_copy.fail_below"
  std::string limit;              // "335 GB/s"
  std::string ceiling;            // "318.744 GB/s"
  std::string because;            // "12 NVLinks of 26.562 GB/s"
  double of_ceiling = 0;          // the limit divided by the ceiling
  std::vector<std::string> from;  // the paths that the ceiling follows from
};

// The limits below `bench`, and the rate of an HCA, that are set and whose ceiling follows from the
// profile's own facts.
[[nodiscard]] std::vector<BoundedLimit> bounded_limits(const Profile& profile);

}  // namespace muster
