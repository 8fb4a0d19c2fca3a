// SPDX-License-Identifier: Apache-2.0
// Is a process still there? Its kernel answers for it, as long as it keeps a listener open.
#pragma once

#include <vector>

#include "bench/group/group.hpp"

namespace muster::bench {

// Whether a connection to any of these can be made in time. Loopback is left out: that would be
// this node.
[[nodiscard]] bool answers(const std::vector<Rendezvous>& addresses, Clock::duration patience);

}  // namespace muster::bench
