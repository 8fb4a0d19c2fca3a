// SPDX-License-Identifier: Apache-2.0
// Turns a description into the files that a kernel and an operating system would show. Pure: the
// tree is made in memory, and tree.hpp writes it.
#pragma once

#include "tests/nodes/node.hpp"
#include "tests/nodes/tree.hpp"

namespace muster::nodes {

[[nodiscard]] Tree render(const NodeDescription& node);

// The folder of one PCI function: "sys/devices/pci0001:00/0001:00:00.0".
[[nodiscard]] std::string device_path(const PciDescription& pci);

}  // namespace muster::nodes
