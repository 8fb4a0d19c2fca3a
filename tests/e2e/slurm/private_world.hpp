// SPDX-License-Identifier: Apache-2.0
// Namespaces of the tests' own, so that nothing that they start survives them, and no packet
// leaves.
#pragma once

#include <string>
#include <vector>

namespace muster::e2e {

// Starts this program again with these arguments, in process, network, host name, IPC and mount
// namespaces of its own, where that is permitted; does not return then, but for the program inside.
void enter_private_world(const std::vector<char*>& arguments);

// A folder in memory, of these namespaces only: trees of nodes have thousands of files. Each node
// sees it, unlike /dev/shm.
inline constexpr const char* kScratch = "/tmp/muster-e2e";

// Returns why a cluster cannot be started here; empty if it can.
[[nodiscard]] const std::string& why_no_cluster();

}  // namespace muster::e2e
