// SPDX-License-Identifier: Apache-2.0
// What a snapshot tells about the hardware, as far as it tells the node's kind.
#pragma once

#include <string>
#include <vector>

#include "lib/node/snapshot.hpp"
#include "lib/profile/recognise.hpp"

namespace muster {

[[nodiscard]] Hardware hardware_of(const Snapshot& snapshot);

// `evidence`, and what recognition could not be told because a probe failed.
[[nodiscard]] std::vector<std::string> with_gaps(std::vector<std::string> evidence,
                                                 const Snapshot& snapshot);

}  // namespace muster
