// SPDX-License-Identifier: Apache-2.0
// Whether a process is still there: its kernel accepts connections as long as it keeps a listener
// open.
#pragma once

#include <vector>

#include "bench/group/group.hpp"

namespace muster::bench {

// Whether a connection to one of these addresses can be made in time. Loopback addresses are left
// out: they would lead to this node.
[[nodiscard]] bool answers(const std::vector<Rendezvous>& addresses, Clock::duration patience);

}  // namespace muster::bench
