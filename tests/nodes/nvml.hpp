// SPDX-License-Identifier: Apache-2.0
// Turns a node's GPUs into a scenario for the fake NVML that agrees with the file tree: `muster
// check --root DIR --nvml DIR/nvml/libnvidia-ml.so.1`.
#pragma once

#include <functional>
#include <string_view>

#include "tests/fakes/nvml/scenario.hpp"
#include "tests/nodes/node.hpp"
#include "tests/nodes/tree.hpp"

namespace muster::nodes {

// A link to the fake of the driver's branch, in the tree of a node with GPUs.
inline constexpr std::string_view kNvmlLibrary = "nvml/libnvidia-ml.so.1";

[[nodiscard]] fakes::Scenario scenario_of(const NodeDescription& node);

// For faults in which NVML disagrees with the files.
void change_scenario(Tree& tree, const std::function<void(fakes::Scenario&)>& change);

}  // namespace muster::nodes
