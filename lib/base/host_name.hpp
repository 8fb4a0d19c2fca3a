// SPDX-License-Identifier: Apache-2.0
// What this node is called.
#pragma once

#include <string>

namespace muster {

// MUSTER_HOSTNAME, for containers that share a node or hide its name; else what the kernel says.
[[nodiscard]] std::string host_name();

}  // namespace muster
