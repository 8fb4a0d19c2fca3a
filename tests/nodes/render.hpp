// SPDX-License-Identifier: Apache-2.0
// A description becomes the files that a kernel and an operating system would show. Pure: the tree
// is made in memory, tree.hpp writes it.
#pragma once

#include "tests/nodes/node.hpp"
#include "tests/nodes/tree.hpp"

namespace muster::nodes {

[[nodiscard]] Tree render(const NodeDescription& node);

// Where the node keeps one PCI function: "sys/devices/pci0001:00/0001:00:00.0".
[[nodiscard]] std::string device_path(const PciDescription& pci);

}  // namespace muster::nodes
