// SPDX-License-Identifier: Apache-2.0
// Open sockets of TCP and UDP, of both versions of IP.
#pragma once

#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/root.hpp"
#include "lib/node/network.hpp"

namespace muster {

// From proc/net/{tcp,tcp6,udp,udp6}; a kernel without IPv6 has two of them.
[[nodiscard]] Fact<std::vector<Socket>> read_sockets(const Root& root);

}  // namespace muster
