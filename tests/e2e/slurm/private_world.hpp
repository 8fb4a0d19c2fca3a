// SPDX-License-Identifier: Apache-2.0
// Private namespaces for the tests, so that nothing they start survives them, and no packet leaves.
#pragma once

#include <string>
#include <vector>

namespace muster::e2e {

// Starts this program again with these arguments in new PID, network, host name, IPC and mount
// namespaces, if that is permitted. It then returns only in the program inside.
void enter_private_world(const std::vector<char*>& arguments);

// A folder in memory that only exists in these namespaces, because a node's tree has thousands of
// files. Unlike /dev/shm, all nodes see the same one.
inline constexpr const char* kScratch = "/tmp/muster-e2e";

// Returns why a cluster cannot be started here; empty if it can.
[[nodiscard]] const std::string& why_no_cluster();

}  // namespace muster::e2e
